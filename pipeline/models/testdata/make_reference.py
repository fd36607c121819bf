#!/usr/bin/env python3
"""Writes tokens.json and vectors.json: what the Python libraries make of some texts with the models in the tree.

    pip install --target DIR numpy==2.3.5 onnxruntime==1.26.0 tokenizers==0.23.3
    PYTHONPATH=DIR python3 make_reference.py
"""
import json
import os
import random

import numpy
import onnxruntime
from tokenizers import Tokenizer

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.join(HERE, "..", "..", "..")
FOLDERS = ["models/minilm", "models/gliner-minilm-en", "testdata/models/gliner-tiny"]

PLAIN = [
    "Marie Curie won the Nobel Prize in Physics in 1903 and in Chemistry in 1911.",
    "The committee, chaired by Dr. J. O'Neill-Smith, didn't approve the £3.5m budget (again).",
    "Kubernetes 1.29 deprecates the flowcontrol.apiserver.k8s.io/v1beta2 API; see CVE-2023-44487.",
    "def main():\n\treturn os.path.join('a', 'b')  # comment",
    "| name | age |\n|------|-----|\n| Ann  | 31  |",
    "IT WAS THE BEST OF TIMES, it was the worst of times…",
]
HOSTILE = [
    "", "   ", "\n\t\r", "a", "?", "naïve café résumé", "Ångström ÅÄÖ åäö ß ẞ", "ﬁ ﬂ ﬀ ligatures ﷺ ㎏ ① ½", "东京 is 東京都 in 日本。",
    "ภาษาไทยง่ายนิดเดียว", "مرحبا بالعالم", "e\u0301cole cafe\u0301", "👩‍👩‍👧‍👦 family 🇩🇪 flags ❤️", "zero\u200bwidth\u200djoin\u00adsoft",
    "a\u00a0b\u2003c\u3000d\u2028e\u2029f", "x" * 300, "supercalifragilisticexpialidocious" * 5, "don't can't won't it's O'Brien's",
    "foo_bar-baz_qux", "3.14 1,000,000.50 $5.00 50% #hash @user", "http://example.com/a?b=c&d=e#f", "\u0000nul\u0001ctl\ufffdrep",
    "\ue000private\U000F0000", "İstanbul ıI Σίσυφος ΣΑΣ", "ǅ ǆ Ǆ", "½¼¾ ²³ Ⅷ ⅷ", "ＦＵＬＬ　ｗｉｄｔｈ", "한국어 텍스트 가", "हिन्दी देवनागरी", "Привет, мир!",
    "—–-‐‑‒ “quotes” ‘single’ «guillemets» …", "C++ C# F# .NET node.js", "▁already▁meta ▁ space", "\u0300\u0301combining first",
    "A\u0300\u0301\u0302\u0303", "𝔘𝔫𝔦𝔠𝔬𝔡𝔢 𝒎𝒂𝒕𝒉", "tab\tsep\nnewline", "  lead and trail  ", "a  b   c    d", "~`!@#$%^&*()_+-={}[]|\\:;\"'<>,.?/",
    "ﾊﾝｶｸ ｶﾞ", "Å (angstrom sign) Ω (ohm) K (kelvin)", "㍿ ㌔", "x\u0378y unassigned", "ŉ ſ ẛ", "\u1e9b\u0323", "ᾳ ᾼ", "\ud7b0", "a\u0315\u0300\u05ae\u0062",
]


def random_texts():
    rnd = random.Random(5)
    blocks = [(0x20, 0x7F), (0xA0, 0x24F), (0x300, 0x36F), (0x370, 0x5FF), (0x600, 0x1FFF), (0x2000, 0x2E3F), (0x3000, 0x9FFF), (0xAC00, 0xD7A3), (0xF900, 0xFFFF), (0x10000, 0x1FFFF)]
    for _ in range(100):
        yield "".join(chr(rnd.randint(*rnd.choice(blocks))) for _ in range(rnd.randint(1, 10)))


def tokens():
    texts = PLAIN + HOSTILE + list(random_texts())
    ids = {}
    for folder in FOLDERS:
        tokenizer = Tokenizer.from_file(os.path.join(ROOT, folder, "tokenizer.json"))
        tokenizer.no_truncation()
        tokenizer.no_padding()
        ids[folder] = [tokenizer.encode(text, add_special_tokens=False).ids for text in texts]
    return {"texts": texts, "ids": ids}


def vectors():
    texts = PLAIN[:3] + ["Ein Hund läuft über die Straße.", "a", " ".join(PLAIN[:3] * 2)]
    tokenizer = Tokenizer.from_file(os.path.join(ROOT, FOLDERS[0], "tokenizer.json"))
    tokenizer.no_truncation()
    tokenizer.no_padding()
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = 1
    session = onnxruntime.InferenceSession(os.path.join(ROOT, FOLDERS[0], "model.onnx"), options, providers=["CPUExecutionProvider"])
    out = []
    for text in texts:
        ids = numpy.array([tokenizer.encode(text).ids], dtype=numpy.int64)
        assert ids.shape[1] <= 256
        states = session.run(None, {"input_ids": ids, "attention_mask": numpy.ones_like(ids), "token_type_ids": numpy.zeros_like(ids)})[0][0]
        mean = states.mean(axis=0)
        out.append([round(float(x), 6) for x in mean / numpy.linalg.norm(mean)])
    return {"model": FOLDERS[0], "texts": texts, "vectors": out}


for name, made in (("tokens.json", tokens()), ("vectors.json", vectors())):
    with open(os.path.join(HERE, name), "w", encoding="utf-8") as file:
        json.dump(made, file, ensure_ascii=True, separators=(",", ":"))
        file.write("\n")
