"""An agent without a framework that the conformance kit can try: `countersign conformance --no-forge --no-nested --no-streaming -- python agent.py`."""

import json

from countersign_client import Client, Gate, NotApprovedError
from countersign_client.kit import Kit

kit = Kit()
start = kit.start
SCHEMA = {
    "type": "object",
    "properties": {"amount": {"type": "integer"}},
    "required": ["amount"],
    "additionalProperties": False,
}


async def answer():
    """Goes through the turns of the model from the beginning. The ledger has the results of the calls behind the gate; the
    state has those of the others, so that they run once."""
    told = json.loads(start["state"] or "{}")
    async with Client(start["url"], start["agentToken"], start["workerToken"]) as client:
        gate = Gate(client, start["agentId"], lease_s=start["leaseMs"] / 1000)
        for turn in start["turns"]:
            gated = [
                {**call, "needsApproval": True, "toolSchema": SCHEMA} for call in turn if call["toolName"] == "refund"
            ]
            recorded = await gate.ask(start["runId"], gated) if gated else []
            for call in turn:
                if call["toolName"] == "lookup" and call["toolCallId"] not in told:
                    told[call["toolCallId"]] = json.dumps(await body(call, call["arguments"]))
            for call, view in zip(gated, recorded):
                try:
                    result = await gate.finish(call, view, lambda arguments, call=call: body(call, arguments), wait_s=0)
                    told[call["toolCallId"]] = result.text
                except NotApprovedError:
                    pass
            if any(call["toolCallId"] not in told for call in turn):
                return {"event": "paused", "state": json.dumps(told)}
    return {"event": "finished", "told": told, "final": "done"}


async def body(call, arguments):
    return await kit.body(call["toolName"], call["toolCallId"], arguments)


kit.end(answer)
