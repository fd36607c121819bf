package store

import "graphmill/pipeline/falkor/cypher"

// The reads before a commit, each over a page of ids.

func whichDocuments(ids []string) cypher.Statement {
	return cypher.New(`UNWIND $ids AS id MATCH (d:Document {id: id}) RETURN d.id AS id`, over("ids", ids))
}

func chunksOf(documents []string) cypher.Statement {
	return cypher.New(`UNWIND $ids AS id MATCH (d:Document {id: id})-[:PART_OF]->(c:Chunk)
RETURN id AS document, c.id AS id, c.content_key AS key, c.embedding_pending AS pending`, over("ids", documents))
}

func mentionedIn(chunks []string) cypher.Statement {
	return cypher.New(`UNWIND $ids AS id MATCH (c:Chunk {id: id})<-[:MENTIONED_IN]-(e:__Entity__) RETURN DISTINCT e.id AS id`, over("ids", chunks))
}

func relatedIn(label string) func(chunks []string) cypher.Statement {
	return func(chunks []string) cypher.Statement {
		return cypher.New(`UNWIND $ids AS id MATCH (s)-[r:«label»]->(t) WHERE id IN r.source_chunk_ids
RETURN DISTINCT s.id AS source, t.id AS target, r.rel_type AS type`, over("ids", chunks)).WithLabel("label", label)
	}
}

func entitiesOf(ids []string) cypher.Statement {
	return cypher.New(`UNWIND $ids AS id MATCH (e:__Entity__ {id: id})
RETURN e.id AS id, e.type AS type, e.name_key AS key, e.name AS name, e.aliases AS aliases, coalesce(e.sentence, e.description) AS about,
       CASE WHEN e.sentence IS NULL THEN NULL ELSE e.description END AS common,
       e.telling AS telling, e.mention_count AS mentions, e.score AS score, e.source_chunk_ids AS chunks, e.alias_keys AS keys`, cypher.Params{"ids": ids})
}

func mentionsOf(ids []string) cypher.Statement {
	return cypher.New(`UNWIND $ids AS id MATCH (e:__Entity__ {id: id})-[m:MENTIONED_IN]->(c:Chunk)
RETURN id AS entity, c.id AS chunk, m.names AS names, m.description AS about, m.telling AS telling, m.score AS score, m.count AS count,
       m.origin AS origin, m.origin_type AS origin_type`,
		cypher.Params{"ids": ids})
}

// edgeColumns are what decodeEdge reads of an edge r from s to t.
const edgeColumns = `s.id AS source, t.id AS target, r.rel_type AS type, r.source_chunk_ids AS chunks, r.spans AS spans, r.evidence AS quotes,
       r.evidence_scores AS scores, r.evidence_methods AS methods, r.evidence_src_names AS sources, r.evidence_tgt_names AS targets,
       r.evidence_src_ids AS source_ids, r.evidence_tgt_ids AS target_ids, r.src_name AS source_name, r.tgt_name AS target_name`

func edgesOf(label string) func(keys []cypher.Record) cypher.Statement {
	return func(keys []cypher.Record) cypher.Statement {
		// Without the WITH the planner would walk all edges of one end, and hubs have
		// many.
		return cypher.New(`UNWIND $keys AS key MATCH (s:__Entity__ {id: key.s}) MATCH (t:__Entity__ {id: key.t})
WITH key, s, t MATCH (s)-[r:«label» {rel_type: key.r}]->(t)
RETURN `+edgeColumns, cypher.Params{"keys": keys}).WithLabel("label", label)
	}
}
