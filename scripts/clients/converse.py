"""Lists and calls every tool with the Python MCP client, and prints one JSON line for what each step found.

usage: converse.py stdio COMMAND [ARGUMENT]...
       converse.py http|sse URL TOKEN MODE      MODE: auto (the newest protocol that both know), legacy, or a version
"""

import asyncio
import contextlib
import json
import os
import sys

import httpx2
from mcp import Client, StdioServerParameters
from mcp.client.sse import sse_client
from mcp.client.streamable_http import streamable_http_client


@contextlib.asynccontextmanager
async def connected(how, rest):
    if how == "stdio":
        async with Client(StdioServerParameters(command=rest[0], args=rest[1:], env=dict(os.environ))) as client:
            yield client
        return
    url, token, mode = rest
    headers = {"Authorization": "Bearer " + token}
    if how == "sse":
        async with Client(sse_client(url, headers=headers), mode=mode) as client:
            yield client
        return
    async with httpx2.AsyncClient(headers=headers, timeout=30) as web:
        async with Client(streamable_http_client(url, http_client=web), mode=mode) as client:
            yield client


def show(**found):
    print(json.dumps(found), flush=True)


async def converse(client):
    listed = await client.list_tools()
    show(step="tools", version=client.protocol_version, names=[tool.name for tool in listed.tools], guide=bool(client.instructions))
    names = {tool.name: tool.input_schema for tool in listed.tools}
    session = {}

    async def call(name, **arguments):
        told = []

        async def progress(done, total, message):
            told.append(message)

        result = await client.call_tool(name, {**arguments, **session}, progress_callback=progress)
        data = result.structured_content or {}
        if "session" in names[name].get("properties", {}) and "session" in data:
            session["session"] = data["session"]
        show(step=name, error=result.is_error, text=result.content[0].text[:200], n=data.get("n"), keys=sorted(data), told=told)
        return data

    if "ingest" in names:
        await build(call)
        return
    await call("status")
    await call("get_ontology")
    found = await call("retrieve", question="Who worked with Charles Babbage?", top_k=2)
    passage = found["passages"][0]
    show(step="passage", n=passage["n"], document=passage["document"])
    if "check_citations" in names:
        await call("check_citations", draft="Ada Lovelace worked with Charles Babbage [%d]." % passage["n"])
    if "evidence" in names:
        await call("evidence", handle=passage["handle"])
    await call("retrieve", question="")


async def build(call):
    await call("preview_files")
    await call("set_ontology", entities=[{"label": "Person"}])
    await call("ingest", files=["*.md"], reextract=True)
    await call("ingest", text="Grace Hopper knew Howard Aiken.", document_id="memo")
    await call("finalize")
    await call("ingest", files=["missing.md"])


async def main(arguments):
    async with connected(arguments[0], arguments[1:]) as client:
        await converse(client)


asyncio.run(main(sys.argv[1:]))
