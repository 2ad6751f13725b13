"""The official clients of MCP in Python: reads one request a line, and writes one reply a line."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport


def client_of(library, command, args, env):
    """Returns the client with its defaults."""
    if library == "mcp":
        return mcp.Client(mcp.StdioServerParameters(command=command, args=args, env=env))
    return fastmcp.Client(StdioTransport(command=command, args=args, env=env, keep_alive=False))


def text_of(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


async def call(client, library, request):
    if library == "mcp":
        return text_of(await client.call_tool(request["name"], request["arguments"]))
    return text_of(await client.call_tool(request["name"], request["arguments"], raise_on_error=False))


async def names(client):
    listed = await client.list_tools()
    return [tool.name for tool in getattr(listed, "tools", listed)]


async def serve_client(read, first):
    """Connects a client, and serves requests until one closes it."""
    async with AsyncExitStack() as stack:
        library = first["library"]
        client = await stack.enter_async_context(client_of(library, first["command"], first["args"], first["env"]))
        reply(None)
        while (request := await read()) is not None and request["do"] != "close":
            try:
                reply(await (names(client) if request["do"] == "list" else call(client, library, request)))
            except Exception as error:
                reply(None, f"{type(error).__name__}: {error}")
    reply(None)


def reply(result, error=None):
    print(json.dumps({"result": result} if error is None else {"error": error}), flush=True)


async def main():
    async def read():
        line = await asyncio.to_thread(sys.stdin.readline)
        return json.loads(line) if line else None

    while (request := await read()) is not None:
        try:
            await serve_client(read, request)
        except Exception as error:
            reply(None, f"{type(error).__name__}: {error}")


asyncio.run(main())
