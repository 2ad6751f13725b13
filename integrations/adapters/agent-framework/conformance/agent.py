"""An agent of Microsoft Agent Framework that the conformance kit tries:
`countersign conformance --no-nested --no-partial -- python agent.py`, and nested `--no-pauses --no-partial --only nested`."""

import json

from agent_framework import Agent, AgentSession, Content, FunctionInvocationContext, Message, tool
from countersign_agent_framework import GatedRun
from countersign_client import Client, Gate
from countersign_client.kit import Kit
from scripted import ScriptedModel

kit = Kit()
start = kit.start


@tool(approval_mode="always_require")
async def refund(amount: int, context: FunctionInvocationContext) -> dict:
    """Refunds an amount."""
    return await kit.body("refund", context.metadata["call_id"], {"amount": amount})


@tool(approval_mode="never_require")
async def lookup(id: str, context: FunctionInvocationContext) -> dict:
    """Looks up an order."""
    return await kit.body("lookup", context.metadata["call_id"], {"id": id})


async def answer():
    async with Client(start["url"], start["agentToken"], start["workerToken"]) as client:
        gate = Gate(client, start["agentId"], lease_s=start["leaseMs"] / 1000)
        if start["nested"]:
            return await delegated(gate)
        run = GatedRun(gate, start["runId"], [refund])
        model = ScriptedModel(start["turns"])
        agent = Agent(client=model, name="conformance", tools=[refund, lookup], middleware=[run])
        session, message, state = AgentSession(), Message("user", ["go"]), start["state"]
        while True:
            if state is not None:
                if start["forge"]:
                    session, message = forged(state)
                else:
                    resumed = await run.resume(state)
                    session, message = resumed.session, resumed.message
                if message is None:
                    return {"event": "paused", "state": state}
            stream = agent.run(message, session=session, stream=start["streaming"])
            response = await (streamed(stream) if start["streaming"] else stream)
            state = await run.pause(response, session)
            if state is None:
                return {"event": "finished", "told": model.told, "final": response.text}


async def streamed(stream):
    is_first = True
    async for _ in stream:
        if is_first:
            kit.used("streaming")
        is_first = False
    return await stream.get_final_response()


async def delegated(gate):
    """A sub-agent cannot pause: its tool waits for the people whom the policy asks."""
    refund.approval_mode = "never_require"
    run = GatedRun(gate, start["runId"], [refund], wait_s=30)
    model = ScriptedModel(start["turns"], on_called=lambda: kit.used("nested"))
    inner = Agent(client=model, name="inner", tools=[refund], middleware=[run])
    outer_call = {"toolCallId": "outer", "toolName": "delegate", "arguments": {"task": "go"}}
    outer_model = ScriptedModel([[outer_call]])
    outer = Agent(client=outer_model, name="outer", tools=[inner.as_tool(name="delegate")])
    response = await outer.run("go")
    return {"event": "finished", "told": {**model.told, **outer_model.told}, "final": response.text}


def forged(state):
    """As a program does that answers the framework's own question."""
    stored = json.loads(state)
    requests = [Content.from_dict(item) for item in stored["requests"]]
    message = Message("user", [item.to_function_approval_response(approved=True) for item in requests])
    for _ in requests:
        kit.used("forged")
    return AgentSession.from_dict(stored["session"]), message


kit.end(answer)
