"""The official clients of MCP in Python: reads one request a line, and writes one reply a line."""

import asyncio
import json
import sys
from contextlib import AsyncExitStack

import fastmcp
import mcp
from fastmcp.client.transports import StdioTransport


def client_of(place):
    """Returns the client with its defaults."""
    client = mcp.Client if place["library"] == "mcp" else fastmcp.Client
    if "url" in place:
        return client(place["url"])
    launch = {name: place[name] for name in ("command", "args", "env")}
    if client is mcp.Client:
        return client(mcp.StdioServerParameters(**launch))
    return client(StdioTransport(**launch, keep_alive=False))


def text_of(result):
    return "\n".join(part.text for part in result.content if part.type == "text")


async def call(client, request):
    # FastMCP raises the texts of an error result by default.
    options = {} if isinstance(client, mcp.Client) else {"raise_on_error": False}
    return text_of(await client.call_tool(request["name"], request["arguments"], **options))


async def names(client):
    listed = await client.list_tools()
    return [tool.name for tool in getattr(listed, "tools", listed)]


async def serve_client(read, first):
    """Connects a client, and serves requests until one closes it."""
    async with AsyncExitStack() as stack:
        client = await stack.enter_async_context(client_of(first))
        reply(None)
        while (request := await read()) is not None and request["do"] != "close":
            try:
                reply(await (names(client) if request["do"] == "list" else call(client, request)))
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
