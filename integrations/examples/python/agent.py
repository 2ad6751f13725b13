"""An agent whose commands need approval.

    python3 -m venv .venv && .venv/bin/pip install -r integrations/examples/python/requirements.txt
    .venv/bin/python integrations/examples/python/agent.py --command "rm -rf build"

It asks, waits until a person decides in the inbox, and runs the command at most once, also when it is started again.
Without COUNTERSIGN_TOKEN and COUNTERSIGN_RESOLVER_TOKEN it reads the tokens of `npm start` in this folder;
COUNTERSIGN_DATA names another data folder.
"""

import argparse
import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from countersign_client import Client, CountersignError, Gate, NotApprovedError, judged

SCHEMA = {
    "type": "object",
    "properties": {"command": {"type": "string"}},
    "required": ["command"],
    "additionalProperties": False,
}


def list_folder(_arguments):
    return sorted(os.listdir("."))


def run_command(arguments):
    done = subprocess.run(arguments["command"], shell=True, capture_output=True, text=True, check=True)
    return done.stdout


def decide(arguments):
    # Denied in code: no person is asked about it, and the model gets the reason. All other commands need approval.
    return {"deny": "this agent never shuts the machine down"} if "shutdown" in arguments["command"] else "ask"


async def main(options):
    # A model would propose these calls. The ids must stay the same when the run starts again.
    step = [
        {"toolCallId": "call_1", "toolName": "list_folder", "arguments": {}},
        {
            "toolCallId": "call_2",
            "toolName": "run_command",
            "arguments": {"command": options.command},
            "needsApproval": True,
            "description": f"Run {options.command}",
            "toolSchema": SCHEMA,
        },
    ]
    tools = {"list_folder": list_folder, "run_command": run_command}
    decisions = {"run_command": decide}
    asking, working = token("COUNTERSIGN_TOKEN", "agent"), token("COUNTERSIGN_RESOLVER_TOKEN", "worker")
    try:
        first, patient = Client(options.url, asking, attempts=1), Client(options.url, asking, working)
    except ValueError as unusable:
        sys.exit(f"{unusable}\n{SETTINGS}")
    # The first look does not wait for a server that is not there.
    async with first:
        await first.calls_of_run(options.run)
    async with patient as client:
        gate = Gate(client, "python-agent", lease_s=options.lease)
        step = [await judged(call, decisions.get(call["toolName"])) for call in step]
        recorded = await gate.ask(options.run, step)
        for view in recorded:
            if view["state"] == "awaiting_approval":
                address = f"{options.url}/approvals/{view['approval']['approvalId']}"
                print(f"{view['toolName']} waits for a person: {address}", file=sys.stderr)
        finishing = [
            gate.finish(call, view, tools[call["toolName"]], options.wait, decisions.get(call["toolName"]))
            for call, view in zip(step, recorded)
        ]
        for next_result in asyncio.as_completed(finishing):
            result = await next_result
            # `text` is what the model is told.
            print(json.dumps({"tool": result.tool_name, "status": result.status, "text": result.text}), flush=True)


def token(variable, principal):
    if given := os.environ.get(variable):
        return given
    file = Path(os.environ.get("COUNTERSIGN_DATA") or "data", "tokens.json")
    try:
        entries = json.loads(file.read_text())
        return next(entry["token"] for entry in entries if entry["principal"] == principal)
    except (OSError, ValueError, KeyError, TypeError, StopIteration):
        sys.exit(
            f"{variable} is not set, and {file.absolute()} has no token of {principal}. Set it, run this in the folder of "
            "`npm start`, or set COUNTERSIGN_DATA to the data folder of the server."
        )


def parse_options():
    parser = argparse.ArgumentParser(description="An agent whose commands need approval.")
    parser.add_argument("--url", default=os.environ.get("COUNTERSIGN_URL", "http://127.0.0.1:7400"))
    parser.add_argument("--run", default="run-of-python", help="the run of the agent; the same one again goes on with it")
    parser.add_argument("--command", default="date")
    parser.add_argument("--wait", type=float, help="seconds to wait for a person; default: no limit")
    parser.add_argument("--lease", type=float, default=60, help="seconds until a crash inside the tool is noticed")
    return parser.parse_args()


SETTINGS = "The url is COUNTERSIGN_URL or --url, the token COUNTERSIGN_TOKEN, the resolver_token COUNTERSIGN_RESOLVER_TOKEN."

REMEDIES = {
    "forbidden": "Set COUNTERSIGN_TOKEN to a token of role agent, and COUNTERSIGN_RESOLVER_TOKEN to one of role resolver.",
    "tool-call-mismatch": "This run has another command. Start a new one with --run.",
    "unauthenticated": "Set COUNTERSIGN_TOKEN and COUNTERSIGN_RESOLVER_TOKEN to tokens of this server, or unset both "
    "and set COUNTERSIGN_DATA to its data folder.",
    "unreachable": "Start it with `npm start`, or name its address with --url.",
}

if __name__ == "__main__":
    try:
        asyncio.run(main(parse_options()))
    except CountersignError as refusal:
        sys.exit(f"{refusal.detail}\n{REMEDIES.get(refusal.code, f'({refusal.code})')}")
    except KeyboardInterrupt:
        sys.exit(130)
    except NotApprovedError as pending:
        sys.exit(f"{pending} Decide, then start the same command again.")
