"""Embed texts with Python's onnxruntime, one a call, as the pipeline's embedder does, and print the seconds it took."""

import json
import sys
import time

import numpy
import onnxruntime
import tokenizers

folder, texts, threads = sys.argv[1], json.load(open(sys.argv[2], encoding="utf-8")), int(sys.argv[3])
tokenizer = tokenizers.Tokenizer.from_file(folder + "/tokenizer.json")
tokenizer.no_padding()
tokenizer.enable_truncation(256)
options = onnxruntime.SessionOptions()
options.intra_op_num_threads = threads
options.inter_op_num_threads = 1
options.add_session_config_entry("session.x64quantprecision", "1")  # as the pipeline asks for: exact products without VNNI
session = onnxruntime.InferenceSession(folder + "/model.onnx", options, providers=["CPUExecutionProvider"])
names = {i.name for i in session.get_inputs()}


def embed(text):
    ids = numpy.array([tokenizer.encode(text).ids], dtype=numpy.int64)
    inputs = {"input_ids": ids, "attention_mask": numpy.ones_like(ids)}
    if "token_type_ids" in names:
        inputs["token_type_ids"] = numpy.zeros_like(ids)
    states = session.run(None, inputs)[0][0]
    vector = states.mean(axis=0) if states.ndim == 2 else states
    return vector / numpy.linalg.norm(vector)


embed("warm up")
began, used = time.perf_counter(), time.process_time()
for text in texts:
    embed(text)
print(time.perf_counter() - began, time.process_time() - used)
