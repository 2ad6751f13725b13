"""A refund that waits until a person decides in the inbox. README.md, next to this folder, has the commands."""

import asyncio
import json
import os
import sys
from pathlib import Path
from uuid import uuid4

from agent_framework import Agent, AgentSession, MiddlewareFailure, tool
from countersign_agent_framework import GatedRun
from countersign_client import Client, CountersignError, Gate

from model import model


@tool(approval_mode="always_require")
def refund(amount: int) -> dict:
    """Refunds an amount."""
    return {"refunded": amount}


async def converse(run_id, url, agent_token, worker_token):
    async with Client(url, agent_token, worker_token) as client:
        run = GatedRun(Gate(client, "support"), run_id, [refund])
        agent = Agent(client=model, name="support", tools=[refund], middleware=[run])
        session = AgentSession()
        response = await agent.run("Refund 50, please.", session=session)
        while (state := await run.pause(response, session)) is not None:
            # In a server: store the state and end here; resume in any process.
            resumed = await run.resume(state)
            for approval in resumed.pending:
                print(f"refund waits for a person: {url}/approvals/{approval['approvalId']}", file=sys.stderr)
            while resumed.pending:
                resumed = await run.resume(state, wait_s=60)
            session = resumed.session
            response = await agent.run(resumed.message, session=session)
        return response.text


async def main():
    url = os.environ.get("COUNTERSIGN_URL") or "http://127.0.0.1:7400"
    asking, working = token("COUNTERSIGN_TOKEN", "agent"), token("COUNTERSIGN_RESOLVER_TOKEN", "worker")
    # The first look does not wait for a server that is not there.
    async with Client(url, asking, working, attempts=1) as client:
        await client.calls_of_run("first-look")
    print(await converse(f"conversation-{uuid4()}", url, asking, working))


def token(variable, principal):
    if given := os.environ.get(variable):
        return given
    file = Path(os.environ.get("COUNTERSIGN_DATA") or "data", "tokens.json")
    try:
        return next(entry["token"] for entry in json.loads(file.read_text()) if entry["principal"] == principal)
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        sys.exit(f"{variable} is not set, and {file.absolute()} has no token of {principal}.\n{SETTINGS}")


SETTINGS = """Run this in the folder of `npm start`, or set COUNTERSIGN_DATA to the data folder of the server. For a server \
elsewhere, set COUNTERSIGN_URL, COUNTERSIGN_TOKEN (role agent) and COUNTERSIGN_RESOLVER_TOKEN (role resolver)."""

if __name__ == "__main__":
    try:
        asyncio.run(main())
    except (CountersignError, MiddlewareFailure, ValueError) as error:
        sys.exit(f"{error}\n{SETTINGS}")
    except KeyboardInterrupt:
        sys.exit(130)
