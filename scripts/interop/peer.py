"""What scripts/interop/interop runs inside the virtual environment that holds graphrag-sdk.

usage: peer.py build  --port P --graph G [--dimension N] [--rule small|bench] [--seed TEXT] [--dump FILE] DIR
       peer.py ask    --port P --graph G [--dimension N] [--model NAME] FILE

build ingests DIR and finalizes, by the package's own code: its loaders, chunker, two-step extraction, resolver, storage,
deduplication and indexing. Only the two models are ours, so that nothing is downloaded and every run gives the same graph:
the hash embedder (class HashEmbedder says exactly what it does) and a rule in the place of a language model (class Rule).
--dump writes the graph and its ontology as JSON lines. ask reads a JSON list of questions and prints what the package's
retrieve finds, with its time. embed reads a JSON list of texts and prints their vectors, to compare embedders.
"""

import argparse
import asyncio
import json
import math
import os
import random
import re
import sys
import time
import unicodedata
import uuid

# The package's chunker counts tokens with tiktoken, which would download its table; litellm ships the same one.
import importlib.util

_litellm = importlib.util.find_spec("litellm")
os.environ.setdefault("TIKTOKEN_CACHE_DIR", os.path.join(os.path.dirname(_litellm.origin), "litellm_core_utils", "tokenizers"))
os.environ.setdefault("HF_HUB_OFFLINE", "1")

from redis.asyncio import BlockingConnectionPool

import graphrag_sdk.core.models as sdk_models
from graphrag_sdk import ConnectionConfig, GraphRAG
from graphrag_sdk.core.connection import FalkorDBConnection
from graphrag_sdk.core.models import Attribute, Entity, ExtractedEntity, LLMResponse, Ontology, Relation
from graphrag_sdk.core.providers import Embedder, LLMInterface
from graphrag_sdk.ingestion.chunking_strategies.sentence_token_cap import SentenceTokenCapChunking
from graphrag_sdk.ingestion.extraction_strategies.entity_extractors import EntityExtractor
from graphrag_sdk.ingestion.extraction_strategies.graph_extraction import GraphExtraction


class HashEmbedder(Embedder):
    """graphmill's embedder "hash", value for value (pipeline/models/hash.go).

    The text is lower-cased rune by rune and split at everything that is neither letter (L*) nor number (N*). Each word, as
    UTF-8, is hashed by FNV-1a with 64 bits; the hash h is mixed: h ^= h >> 33, h *= 0xff51afd7ed558ccd, h ^= h >> 33. A
    word adds 1 to component h mod dimension when h's highest bit is 0, else it takes 1 away. The vector is brought to
    Euclidean length 1. When nothing is left (no words, or words that cancel out), the whole text is the one word.
    """

    def __init__(self, dimension, name=None):
        self.dimension = dimension
        self._name = name or f"hash-{dimension}@1"

    @property
    def model_name(self):
        return self._name

    def embed_query(self, text, **kwargs):
        vector = [0.0] * self.dimension
        for word in self._words(text):
            self._add(vector, word)
        if not any(vector):
            self._add(vector, text)
        length = math.sqrt(sum(x * x for x in vector))
        return [x / length for x in vector]

    @staticmethod
    def _words(text):
        word = []
        for rune in text:
            lower = rune.lower()
            rune = lower if len(lower) == 1 else "i"  # only İ becomes two
            if unicodedata.category(rune)[0] in "LN":
                word.append(rune)
            elif word:
                yield "".join(word)
                word = []
        if word:
            yield "".join(word)

    def _add(self, vector, feature):
        h = 0xCBF29CE484222325
        for byte in feature.encode("utf-8"):
            h = (h ^ byte) * 0x100000001B3 % 2**64
        h ^= h >> 33
        h = h * 0xFF51AFD7ED558CCD % 2**64
        h ^= h >> 33
        vector[h % self.dimension] += 1 if h >> 63 == 0 else -1


STOP_WORDS = set(
    """a about above after again against all am an and any are as at be because been before being below between both but by can could did do does
doing down during each few for from further had has have having he her here hers herself him himself his how i if in into is it its itself just
me more most my myself no nor not now of off on once only or other our ours ourselves out over own same she should so some such than that the
their theirs them themselves then there these they this those through to too under until up very was we were what when where which while who
whom why will with would you your yours yourself yourselves""".split()
)
ORGANIZATIONS = set(
    "Inc Corp Corporation Foundation University Institute Ltd LLC GmbH Project Team Consortium Company Association Society Committee Group".split()
)


class Rule:
    """Stands in for a language model: which names a text holds, and what joins two of them.

    A name is a run of up to four capitalised words. The types follow from its words alone. Two names that follow each other
    in a sentence are related: by the verb between them where it is one of VERBS, else as CO_OCCURS.
    """

    NAME = re.compile(r"[A-Z][A-Za-z0-9]*(?:[ -][A-Z][A-Za-z0-9]*){0,3}")
    # Names that the pattern above would tear apart.
    SIGNS = re.compile(r"C\+\+|Node\.js|AT&T|Unix|New  York")
    VERBS = (
        ("drew the plans of", "DESIGNED"), ("wrote the first program for", "WROTE_FOR"), ("worked with", "WORKED_WITH"),
        ("described", "DESCRIBED"), ("began", "CREATED"), ("is the capital of", "CAPITAL_OF"), ("runs past", "FLOWS_PAST"),
    )

    def __init__(self, kind):
        self.kind = kind

    def hits(self, text):
        """(name, type, start, end) of every name, in the order of the text."""
        spans = [m.span() for m in self.NAME.finditer(text)]
        if self.kind == "small":
            signs = [m.span() for m in self.SIGNS.finditer(text)]
            spans = sorted(signs + [h for h in spans if not any(h[0] < s[1] and s[0] < h[1] for s in signs)])
        for start, end in spans:
            name = text[start:end]
            if self.SIGNS.fullmatch(name) or 3 <= len(name) <= 80 and name.lower() not in STOP_WORDS:
                yield name, self.type_of(name), start, end

    def names(self, text):
        """Each name once, where it stands first, 30 at most."""
        found = {}
        for hit in self.hits(text):
            found.setdefault(hit[0].lower(), hit)
        return list(found.values())[:30]

    PLACES = ("Berlin", "France", "Hudson River", "London", "New York", "New  York", "Paris", "Seine", "Turin")

    def type_of(self, name):
        words = re.split("[ -]", name)
        if self.kind == "small" and name in self.PLACES:
            return "Place"
        if self.kind == "small" and words[-1] == "Engine":
            return "Technology"
        if words[-1] in ORGANIZATIONS or name == "AT&T":
            return "Organization"
        if any(c.isdigit() for c in name) or name == name.upper() or name == "Node.js":
            return "Technology"
        if len(words) == 2 and all(re.fullmatch("[A-Z][a-z]+", w) for w in words):
            return "Person"
        return "Concept"

    def sentence(self, text, at):
        begin = max(text.rfind(s, 0, at) + len(s) if text.rfind(s, 0, at) >= 0 else 0 for s in (". ", ".\n", "\n\n"))
        ends = [e + 1 for e in (text.find(". ", at), text.find(".\n", at)) if e >= 0] + [e for e in (text.find("\n\n", at),) if e >= 0]
        return begin, min(ends, default=len(text))

    def relations(self, text):
        """In the bench rule, the names that follow each other; else those that do so in one sentence."""
        out, seen = [], set()
        hits = self.names(text) if self.kind == "bench" else list(self.hits(text))
        for (a, _, a_start, a_end), (b, _, b_start, _) in zip(hits, hits[1:]):
            begin, end = self.sentence(text, b_start)
            kind, description = "CO_OCCURS", ""
            if self.kind == "small":
                kind = next((t for verb, t in self.VERBS if verb in text[a_end:b_start]), kind)
                description = " ".join(text[begin:end].split())
                if a_start < begin or a == b or (a, kind, b) in seen:
                    continue
                seen.add((a, kind, b))
            out.append({"source": a, "target": b, "type": kind, "description": description, "span_start": begin, "span_end": end})
        return out


class RuleExtractor(EntityExtractor):
    def __init__(self, rule):
        self.rule = rule

    async def extract_entities(self, text, entity_types, source_chunk_id):
        return [
            ExtractedEntity(name=name, type=kind, description="", source_chunk_ids=[source_chunk_id], spans={source_chunk_id: [{"start": start, "end": end}]})
            for name, kind, start, end in self.rule.names(text)
        ]


class RuleLLM(LLMInterface):
    """Answers the package's two kinds of question: verify entities and find relations; name the names in a question."""

    def __init__(self, rule):
        super().__init__("rule")
        self.rule = rule

    def invoke(self, prompt, **kwargs):
        head, mark, rest = prompt.partition("\n## Text\n")
        if not mark:
            question = prompt.partition("Question: ")[2].rpartition("\n\nNames:")[0]
            return LLMResponse(content=", ".join(name for name, *_ in self.rule.names(question)))
        text = rest.rpartition("\n\n## Instructions\n\n### Entities\n")[0]
        names = self.rule.names(text)
        entities = []
        for name, kind, start, _ in names:
            begin, end = self.rule.sentence(text, start)
            entities.append({"name": name, "type": kind, "description": " ".join(text[begin:end].split())[:300] if self.rule.kind == "small" else ""})
        return LLMResponse(content=json.dumps({"entities": entities, "relationships": self.rule.relations(text)}))


def ontology(kind):
    entities = [
        Entity(label="Person", description="A human being", properties=[Attribute(name="born", type="DATE", description="Day of birth")]),
        Entity(label="Organization"), Entity(label="Technology"), Entity(label="Concept"), Entity(label="Place", description="Where something is"),
    ]
    if kind == "bench":
        return Ontology(entities=entities)
    works = [("Person", "Technology"), ("Person", "Concept")]
    return Ontology(entities=entities, relations=[
        Relation(label="CO_OCCURS", description="Both are named in one sentence"),
        Relation(label="DESIGNED", patterns=works), Relation(label="WROTE_FOR", patterns=works), Relation(label="WORKED_WITH", patterns=[("Person", "Person")]),
        Relation(label="DESCRIBED", patterns=works), Relation(label="CREATED", patterns=works), Relation(label="CAPITAL_OF", patterns=[("Place", "Place")]),
        Relation(label="FLOWS_PAST"),
    ])


class Counting(FalkorDBConnection):
    """Counts the commands and keeps those that make indexes."""

    def __init__(self, config):
        super().__init__(config)
        self.commands, self.indexes = 0, []
        # The Redis client gives up after five seconds of its own, which a busy machine needs now and then.
        self._pool = BlockingConnectionPool(host=config.host, port=config.port, max_connections=config.max_connections, timeout=config.pool_timeout,
                                            socket_timeout=config.query_timeout_ms / 1000, decode_responses=True)

    async def query(self, cypher, params=None, **kwargs):
        self.commands += 1
        result = await super().query(cypher, params, **kwargs)
        if ("INDEX" in cypher or "createNodeIndex" in cypher) and cypher not in self.indexes:
            self.indexes.append(cypher)
        return result


def connect(o):
    return Counting(ConnectionConfig(host="127.0.0.1", port=o.port, graph_name=o.graph, query_timeout_ms=o.timeout))


async def build(o):
    if o.seed:  # chunks have random ids; these are random too, and the same ones every time
        generator = random.Random(o.seed)
        sdk_models.uuid4 = lambda: uuid.UUID(int=generator.getrandbits(128), version=4)
    rule = Rule(o.rule)
    llm = RuleLLM(rule)
    connection = connect(o)
    rag = GraphRAG(connection, llm, HashEmbedder(o.dimension), ontology(o.rule), embedding_dimension=o.dimension)
    o.dump = o.dump and os.path.abspath(o.dump)
    os.chdir(o.path)
    files = sorted(os.path.relpath(os.path.join(folder, name)) for folder, _, names in os.walk(".") for name in names)
    began = time.time()
    chunker = SentenceTokenCapChunking(max_tokens=40, overlap_sentences=1) if o.rule == "small" else None
    for name in files:
        await rag.ingest(name, chunker=chunker, extractor=GraphExtraction(llm, entity_extractor=RuleExtractor(rule)))
    ingested, commands = time.time(), connection.commands
    finalized = await rag.finalize()
    print(json.dumps({
        "files": len(files), "ingest_seconds": round(ingested - began, 1), "ingest_commands": commands,
        "finalize_seconds": round(time.time() - ingested, 1), "finalize_commands": connection.commands - commands,
        "finalized": finalized.model_dump(),
    }))
    if o.dump:
        await dump(connection, o)
    await rag.close()


def floats(vector):
    """The shortest decimals that are the same 32-bit numbers."""
    import numpy

    return [float(str(numpy.float32(x))) for x in vector]


async def dump(connection, o):
    """Nodes in the order of their ids, edges by their place in that order, and the statements that made the indexes."""
    with open(o.dump, "w", encoding="utf-8") as out:
        for part in ("", "__ontology"):

            def write(value, vector=None):
                if vector:
                    value["embedding"] = floats(vector)
                out.write(json.dumps({"graph": part, **value}, ensure_ascii=False) + "\n")

            graph = connection._driver.select_graph(o.graph + part)
            nodes = (await graph.query("MATCH (n) RETURN n ORDER BY id(n)")).result_set
            order = {n.id: i for i, (n,) in enumerate(nodes)}
            for (n,) in nodes:
                if o.seed and "updated_at" in n.properties:
                    n.properties["updated_at"] = "2026-01-01T00:00:00+00:00"
                vector = n.properties.pop("embedding", None)
                write({"labels": sorted(n.labels), "properties": n.properties}, vector)
            for a, r, b in (await graph.query("MATCH (a)-[r]->(b) RETURN id(a), r, id(b) ORDER BY id(r)")).result_set:
                vector = r.properties.pop("embedding", None)
                write({"type": r.relation, "source": order[a], "target": order[b], "properties": r.properties}, vector)
            for statement in connection.indexes if not part else ():
                write({"index": statement})


async def ask(o):
    connection = connect(o)
    rag = GraphRAG(connection, RuleLLM(Rule("bench")), HashEmbedder(o.dimension, o.model), embedding_dimension=o.dimension)
    with open(o.path, encoding="utf-8") as file:
        questions = json.load(file)
    answers = []
    for question in questions:
        before, began = connection.commands, time.time()
        result = await rag.retrieve(question)
        answers.append({
            "question": question, "milliseconds": round(1000 * (time.time() - began), 1), "commands": connection.commands - before,
            "sections": {item.metadata["section"]: item.content for item in result.items},
        })
    print(json.dumps(answers, ensure_ascii=False))
    await rag.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("verb", choices=["build", "ask"])
    parser.add_argument("--port", type=int)
    parser.add_argument("--graph", default="knowledge_graph")
    parser.add_argument("--dimension", type=int, default=64)
    parser.add_argument("--model", help="what the embedder calls itself")
    parser.add_argument("--rule", choices=["small", "bench"], default="small")
    parser.add_argument("--seed", default="", help="make the ids of chunks the same every time")
    parser.add_argument("--dump", default="", help="file to write the graph to")
    parser.add_argument("--timeout", type=int, default=60_000, help="milliseconds a query may take")
    parser.add_argument("path")
    o = parser.parse_args()
    try:
        asyncio.run({"build": build, "ask": ask}[o.verb](o))
    except Exception as e:  # the driver shows it in one line
        print(f"{type(e).__name__}: {e}", file=sys.stderr)
        sys.exit(1)


main()
