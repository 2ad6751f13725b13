"""The adapter in the real framework with a scripted model, on the server that COUNTERSIGN_URL names."""

import asyncio
import json
import logging
import os
import sys
import unittest
import uuid
from datetime import date
from pathlib import Path
from typing import Annotated

import httpx
from agent_framework import (
    Agent,
    AgentSession,
    Content,
    FunctionTool,
    Message,
    MiddlewareFailure,
    ToolApprovalMiddleware,
    create_always_approve_tool_response,
    create_always_approve_tool_with_arguments_response,
    tool,
)
from countersign_agent_framework import GatedRun
from countersign_client import Client, CountersignError, Gate, NotApprovedError
from pydantic import AfterValidator, BaseModel, Field

sys.path.insert(0, str(Path(__file__).parents[1] / "conformance"))
from scripted import ScriptedModel  # noqa: E402

URL, TOKENS = os.environ["COUNTERSIGN_URL"], json.loads(os.environ["COUNTERSIGN_TOKENS"])
REJECTED = "Error: Tool call invocation was rejected by user."
ran: list[tuple[str, object]] = []


@tool(approval_mode="always_require")
def refund(amount: int) -> dict:
    """Refunds an amount."""
    ran.append(("refund", amount))
    if amount == 13:
        raise ValueError("the bank said no")
    return {"refunded": amount}


@tool(approval_mode="never_require")
def transfer(amount: int) -> dict:
    """Transfers an amount."""
    ran.append(("transfer", amount))
    return {"transferred": amount}


@tool(approval_mode="never_require")
def lookup(id: str) -> dict:
    """Looks up an order. It is not behind the gate."""
    ran.append(("lookup", id))
    return {"found": id}


def in_cents(amount: int) -> int:
    return amount * 100


@tool(approval_mode="always_require")
def pay(amount: Annotated[int, AfterValidator(in_cents)]) -> dict:
    """Pays an amount."""
    ran.append(("pay", amount))
    return {"paid": amount}


@tool(approval_mode="always_require")
def ping(times: int = 1) -> dict:
    """Pings."""
    ran.append(("ping", times))
    return {"pinged": times}


def at_most_100(amount: int) -> int:
    if amount > 100:
        raise ValueError("over 100")
    return amount


@tool(approval_mode="always_require")
def tip(amount: Annotated[int, AfterValidator(at_most_100)]) -> dict:
    """Tips an amount."""
    ran.append(("tip", amount))
    return {"tipped": amount}


class Parcel(BaseModel):
    kilograms: int


@tool(approval_mode="always_require")
def send(parcel: Parcel, day: date = date(2026, 1, 2), express: bool = False, note: str = None, **_more) -> dict:
    """Sends a parcel."""
    ran.append(("send", (parcel, day, express, note)))
    return {"sent": True}


def rate(stars=5, **more):
    ran.append(("rate", (stars, more)))


# The schema of its arguments is given, and has another default than the function.
rates = FunctionTool(
    name="rate",
    func=rate,
    input_model={"type": "object", "properties": {"stars": {"type": "integer", "default": 3}}},
    approval_mode="always_require",
)


@tool(approval_mode="never_require")
def ship(pieces: Annotated[int, Field(alias="numberOfPieces")] = 7) -> dict:
    """Ships some pieces. The model writes another name than the parameter has."""
    ran.append(("ship", pieces))
    return {"shipped": pieces}


@tool(approval_mode="never_require")
def book(day: date, people: int = 2) -> dict:
    """Books a day."""
    ran.append(("book", day))
    return {"booked": str(day)}


TOOLS = [refund, transfer, pay, ping, tip, send, rates, ship, book]


def call(call_id="c1", tool_name="refund", **arguments):
    return {"toolCallId": call_id, "toolName": tool_name, "arguments": arguments or {"amount": 50}}


class GatedRunTest(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        ran.clear()
        self.run_id = f"run-{uuid.uuid4()}"
        self.client = Client(URL, TOKENS["agentToken"], TOKENS["workerToken"])
        self.people = httpx.AsyncClient(base_url=URL, headers={"authorization": f"Bearer {TOKENS['approverToken']}"})
        self.addAsyncCleanup(self.client.__aexit__)
        self.addAsyncCleanup(self.people.aclose)

    def process(self, *calls, client=None, tools=TOOLS, **options):
        """One process: the run, an agent on it, and what its model is told."""
        run = GatedRun(Gate(client or self.client, "agent"), self.run_id, tools, **options)
        model = ScriptedModel([list(calls)])
        agent = Agent(client=model, name="agent", tools=[*tools, lookup], middleware=[run])
        return run, agent, model

    async def paused(self, *calls, **options):
        """Runs to the pause, and returns its state."""
        run, agent, _ = self.process(*calls, **options)
        session = AgentSession()
        state = await run.pause(await agent.run("go", session=session), session)
        self.assertIsNotNone(state)
        self.assertEqual(ran, [])
        return state

    async def goes_on(self, state, *calls, **options):
        """Goes on in another process. Returns what the model was told."""
        run, agent, model = self.process(*calls, **options)
        resumed = await run.resume(state, wait_s=10)
        await agent.run(resumed.message, session=resumed.session)
        return model.told

    async def decide(self, call_id, decision, reason=None, remember=None):
        async with asyncio.timeout(15):
            while (approval := await self.pending(call_id)) is None:
                await asyncio.sleep(0.02)
        more = {name: value for name, value in {"reason": reason, "remember": remember}.items() if value is not None}
        body = {"decision": decision, "proposalDigest": approval["proposal"]["digest"], **more}
        answer = await self.people.post(f"/v1/approvals/{approval['approvalId']}/responses", json=body)
        self.assertEqual(answer.status_code, 200, answer.text)

    async def pending(self, call_id):
        found = (await self.people.get(f"/v1/approvals?state=pending&runId={self.run_id}")).json()["approvals"]
        return next((one for one in found if one["toolCallId"] == call_id), None)

    async def test_a_gated_tool_runs_once_after_the_approval_and_a_free_one_after_the_pause(self):
        calls = call(), call("c2", "lookup", id="x")
        state = await self.paused(*calls)
        await self.decide("c1", {"type": "approve"})
        told = await self.goes_on(state, *calls)
        self.assertEqual(sorted(ran), [("lookup", "x"), ("refund", 50)])
        self.assertEqual(json.loads(told["c1"]), {"refunded": 50})

    async def test_a_replayed_state_or_response_runs_nothing_twice(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "approve"})
        first = await self.goes_on(state, call())
        self.assertEqual(await self.goes_on(state, call()), first)
        run, agent, _ = self.process(call())
        resumed = await run.resume(state)
        await agent.run(resumed.message, session=resumed.session)
        await agent.run(resumed.message, session=resumed.session)
        self.assertEqual(ran, [("refund", 50)])

    async def test_a_response_without_its_session_runs_nothing(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "approve"})
        run, agent, _ = self.process(call())
        resumed = await run.resume(state)
        await agent.run(resumed.message, session=AgentSession())
        self.assertEqual(ran, [])

    async def test_an_approval_that_the_ledger_did_not_give_aborts_the_run(self):
        state = await self.paused(call())
        run, agent, model = self.process(call())
        resumed = await run.resume(state)
        self.assertIsNone(resumed.message)
        self.assertEqual([one["toolCallId"] for one in resumed.pending], ["c1"])
        with self.assertRaisesRegex(MiddlewareFailure, "c1 did not run: approval apr_.* is pending"):
            await agent.run(answered(state), session=resumed.session)
        self.assertEqual((ran, model.told), ([], {}))

    async def test_arguments_that_a_client_sends_back_are_never_believed(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "approve"})
        run, agent, _ = self.process(call())
        message = answered(state)
        message.contents[0].function_call.arguments = '{"amount": 5000}'
        await agent.run(message, session=(await run.resume(state)).session)
        self.assertEqual(ran, [("refund", 50)])

    async def is_refused_with(self, changed):
        run, agent, _ = self.process(call())
        with self.assertRaisesRegex(CountersignError, "tool-call-mismatch"):
            await run.resume(changed)
        with self.assertRaisesRegex(MiddlewareFailure, "tool-call-mismatch"):
            await agent.run(answered(changed), session=AgentSession.from_dict(json.loads(changed)["session"]))
        self.assertEqual(ran, [])

    async def test_a_state_with_other_arguments_is_refused(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "approve"})
        changed = state.replace('\\\\\\"amount\\\\\\": 50', '\\\\\\"amount\\\\\\": 5000').replace(
            '{\\"amount\\": 50}', '{\\"amount\\": 5000}'
        )
        self.assertNotEqual(changed, state)
        await self.is_refused_with(changed)

    async def test_a_state_with_another_tool_is_refused_and_the_approved_call_can_still_run(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "approve"})
        changed = state.replace('"refund"', '"pay"')
        self.assertNotEqual(changed, state)
        await self.is_refused_with(changed)
        await self.goes_on(state, call())
        self.assertEqual(ran, [("refund", 50)])

    async def test_a_call_that_the_model_never_made_is_refused(self):
        state = (await self.paused(call())).replace('"c1"', '"c9"')
        run, agent, _ = self.process(call())
        with self.assertRaisesRegex(NotApprovedError, "c9 did not run: it was never requested"):
            await run.resume(state)
        with self.assertRaisesRegex(MiddlewareFailure, "never requested"):
            await agent.run(answered(state), session=AgentSession.from_dict(json.loads(state)["session"]))
        self.assertEqual(ran, [])

    async def test_edited_arguments_run_without_a_second_approval(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "edit", "arguments": {"amount": 7}})
        told = await self.goes_on(state, call())
        self.assertEqual(ran, [("refund", 7)])
        self.assertRegex(told["c1"], r'(?s)"refunded": 7.*changed the arguments.*"amount": 7')

    async def test_the_model_is_told_of_an_edit_whose_tool_failed(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "edit", "arguments": {"amount": 13}})
        told = await self.goes_on(state, call())
        self.assertEqual(told["c1"], 'the bank said no\nAn approver changed the arguments.\nArguments: {"amount": 13}')

    async def test_the_model_is_told_of_an_edit_that_the_tool_refuses(self):
        state = await self.paused(call(tool_name="tip"))
        await self.decide("c1", {"type": "edit", "arguments": {"amount": 900}})
        told = await self.goes_on(state)
        self.assertRegex(told["c1"], r'(?s)over 100.*\nAn approver changed the arguments.\nArguments: {"amount": 900}')
        self.assertEqual(ran, [])

    async def test_an_answer_takes_the_place_of_the_tool(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "answer", "output": "by hand"})
        self.assertTrue((await self.goes_on(state, call()))["c1"].startswith("by hand\n"))
        self.assertEqual(ran, [])

    async def test_a_denial_begins_with_the_text_of_the_framework_and_has_the_reason(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "deny"}, "not ours")
        self.assertRegex((await self.goes_on(state, call()))["c1"], f"^{REJECTED}\n.*denied by me.*: not ours$")
        self.assertEqual(ran, [])

    async def test_a_rejection_in_the_framework_alone_gives_its_exact_text_and_runs_nothing(self):
        state = await self.paused(call())
        await self.decide("c1", {"type": "approve"})
        run, agent, model = self.process(call())
        await agent.run(answered(state, approved=False), session=(await run.resume(state)).session)
        self.assertEqual((ran, model.told["c1"]), ([], REJECTED))

    async def test_a_tool_that_raises_has_failed_and_the_model_is_told_why(self):
        state = await self.paused(call(amount=13))
        await self.decide("c1", {"type": "approve"})
        self.assertIn("the bank said no", (await self.goes_on(state, call(amount=13)))["c1"])
        [recorded] = await self.client.calls_of_run(self.run_id)
        self.assertEqual((recorded["state"], len(ran)), ("failed", 1))

    async def test_the_run_waits_until_all_calls_of_the_step_are_decided(self):
        calls = call(), call("c3", amount=70)
        state = await self.paused(*calls)
        await self.decide("c1", {"type": "approve"})
        run, _, _ = self.process(*calls)
        self.assertIsNone((await run.resume(state)).message)
        await self.decide("c3", {"type": "deny"}, "too much")
        told = await self.goes_on(state, *calls)
        self.assertEqual(ran, [("refund", 50)])
        self.assertIn("too much", told["c3"])

    async def test_a_gated_tool_without_a_pause_of_its_own_goes_on_with_the_step_that_pauses(self):
        calls = call(), call("c2", "transfer", amount=70)
        state = await self.paused(*calls)
        await self.decide("c1", {"type": "approve"})
        told = await self.goes_on(state, *calls)
        self.assertEqual((sorted(ran), json.loads(told["c2"])), ([("refund", 50), ("transfer", 70)], {"transferred": 70}))
        self.assertEqual(await self.goes_on(state, *calls), told)
        self.assertEqual(len(ran), 2)

    async def test_a_step_that_pauses_waits_for_people_about_all_of_its_gated_tools(self):
        held = call("c2", "transfer", amount=70)
        state = await self.paused(call(), held)
        await self.hold_back(held)
        await self.decide("c1", {"type": "approve"})
        run, _, _ = self.process(call(), held)
        resumed = await run.resume(state)
        self.assertEqual((resumed.message, [one["toolCallId"] for one in resumed.pending]), (None, ["c2"]))
        await self.decide("c2", {"type": "deny"}, "too much")
        told = await self.goes_on(state, call(), held)
        self.assertEqual(ran, [("refund", 50)])
        self.assertIn("too much", told["c2"])

    async def test_a_step_that_pauses_tells_of_a_denial_in_code_of_another_gated_tool(self):
        calls = call(), call("c2", "transfer", amount=70)
        decide = {"transfer": lambda _: {"deny": "no transfers today"}}
        state = await self.paused(*calls, decide=decide)
        await self.decide("c1", {"type": "approve"})
        self.assertIn("no transfers today", (await self.goes_on(state, *calls, decide=decide))["c2"])
        self.assertEqual(ran, [("refund", 50)])

    async def test_the_gated_tools_of_a_step_are_one_batch_also_those_without_a_pause_of_their_own(self):
        calls = call(), call("c2", "transfer", amount=70)
        state = await self.paused(*calls, all_or_nothing=True)
        await self.decide("c1", {"type": "deny"}, "no")
        told = await self.goes_on(state, *calls, all_or_nothing=True)
        self.assertEqual((ran, set(told)), ([], {"c1", "c2"}))

    async def test_a_call_that_the_model_never_made_is_refused_also_of_a_tool_without_a_pause(self):
        calls = call(), call("c2", "transfer", amount=70)
        state = (await self.paused(*calls)).replace('"c2"', '"c9"').replace('\\"c2\\"', '\\"c9\\"')
        await self.decide("c1", {"type": "approve"})
        run, _, _ = self.process(*calls)
        with self.assertRaisesRegex(NotApprovedError, "c9 did not run: it was never requested"):
            await run.resume(state)
        self.assertEqual(ran, [])

    async def test_arguments_that_do_not_fit_are_told_to_the_model_and_no_person_is_asked(self):
        calls = call("c1", amount="much"), call("c2", amount="more"), call("c3", amount=70)
        state = await self.paused(*calls)
        self.assertIsNone(await self.pending("c1"))
        await self.decide("c3", {"type": "approve"})
        told = await self.goes_on(state, *calls)
        self.assertRegex(told["c1"], "^Error: Argument parsing failed.\n.*amount")
        self.assertEqual(ran, [("refund", 70)])

    async def test_a_step_of_nothing_but_unfit_arguments_goes_on_without_people(self):
        state = await self.paused(call(amount="much"))
        told = await self.goes_on(state, call(amount="much"))
        self.assertRegex(told["c1"], "^Error: Argument parsing failed.\n.*amount")
        self.assertEqual((ran, await self.client.calls_of_run(self.run_id)), ([], []))

    async def test_unfit_arguments_of_a_tool_that_never_requires_approval_are_told_to_the_model(self):
        unfit = call("c1", "transfer", amount="much")
        _, agent, model = self.process(unfit)
        await agent.run("go", session=AgentSession())
        self.assertRegex(model.told["c1"], "^Error: Argument parsing failed.\n.*amount")
        self.assertEqual(ran, [])

    async def test_an_all_or_nothing_step_with_unfit_arguments_runs_nothing_and_asks_no_person(self):
        calls = call("c1", amount=70), call("c3", amount="much")
        state = await self.paused(*calls, all_or_nothing=True)
        told = await self.goes_on(state, *calls, all_or_nothing=True)
        self.assertIn("another call of the same step", told["c1"])
        self.assertRegex(told["c3"], "^Error: Argument parsing failed.\n.*amount")
        self.assertEqual((ran, await self.client.calls_of_run(self.run_id)), ([], []))

    async def test_a_state_cannot_tell_the_model_a_result_of_a_call_that_was_never_requested(self):
        stored = json.loads((await self.paused(call())).replace("c1", "c9"))
        run, agent, model = self.process(call("c9"))
        with self.assertRaisesRegex(NotApprovedError, "c9 did not run: it was never requested"):
            await run.resume(json.dumps({**stored, "unfit": {"c9": '{"refunded": 5000}'}}))
        with self.assertRaisesRegex(MiddlewareFailure, "never requested"):
            await agent.run(answered(json.dumps(stored)), session=AgentSession.from_dict(stored["session"]))
        self.assertEqual((ran, model.told), ([], {}))
        # Also the look at its arguments recorded nothing.
        recorded = await self.client.calls_of_run(self.run_id)
        self.assertEqual([one["toolCallId"] for one in recorded], ["c1"])

    async def test_a_state_that_calls_an_approved_call_unfit_does_not_change_its_result(self):
        state = json.loads(await self.paused(call()))
        await self.decide("c1", {"type": "approve"})
        told = await self.goes_on(json.dumps({**state, "unfit": {"c1": "nothing ran"}}), call())
        self.assertEqual((ran, json.loads(told["c1"])), ([("refund", 50)], {"refunded": 50}))

    async def test_an_all_or_nothing_step_runs_nothing_after_one_denial(self):
        calls = call(), call("c3", amount=70)
        state = await self.paused(*calls, all_or_nothing=True)
        await self.decide("c1", {"type": "approve"})
        await self.decide("c3", {"type": "deny"}, "too much")
        await self.goes_on(state, *calls, all_or_nothing=True)
        self.assertEqual(ran, [])

    async def test_an_all_or_nothing_step_runs_whole_after_all_approvals(self):
        calls = call(), call("c3", amount=70)
        state = await self.paused(*calls, all_or_nothing=True)
        for one in calls:
            await self.decide(one["toolCallId"], {"type": "approve"})
        await self.goes_on(state, *calls, all_or_nothing=True)
        self.assertEqual(sorted(ran), [("refund", 50), ("refund", 70)])

    async def test_without_a_session_free_tools_ask_too_and_are_left_to_the_caller(self):
        run, agent, _ = self.process(call(), call("c2", "lookup", id="x"))
        state = await run.pause(await agent.run("go"), AgentSession())
        resumed = await run.resume(state)
        self.assertEqual([item.function_call.name for item in resumed.others], ["lookup"])
        self.assertEqual(ran, [])

    async def test_without_a_session_a_pause_says_so_and_asks_no_person(self):
        run, agent, _ = self.process(call())
        with self.assertRaisesRegex(ValueError, "no session that could be resumed: make one with `AgentSession\\(\\)`"):
            await run.pause(await agent.run("go"), None)
        self.assertIsNone(await self.pending("c1"))
        run, agent, _ = self.process()
        self.assertIsNone(await run.pause(await agent.run("go"), None))

    async def test_code_denies_a_call_and_the_model_gets_the_reason(self):
        def decide(arguments):
            return {"deny": "by hand"} if arguments["amount"] > 40 else "allow"

        options = {"decide": {"refund": decide, "transfer": decide}}
        state = await self.paused(call(), **options)
        self.assertIsNone(await self.pending("c1"))
        told = await self.goes_on(state, call(), **options)
        self.assertEqual(told["c1"], "The call was denied and did not run: by hand")
        _, agent, model = self.process(call("c2", "transfer", amount=50), call("c3", "transfer", amount=5), **options)
        await agent.run("go", session=AgentSession())
        self.assertEqual(model.told["c2"], "The call was denied and did not run: by hand")
        self.assertEqual(ran, [("transfer", 5)])
        recorded = {one["toolCallId"]: one["state"] for one in await self.client.calls_of_run(self.run_id)}
        self.assertEqual(recorded, {"c1": "blocked", "c2": "blocked", "c3": "succeeded"})

    async def test_code_denies_an_edit_and_an_all_or_nothing_step(self):
        options = {"decide": {"refund": lambda arguments: {"deny": "by hand"} if arguments["amount"] > 60 else "ask"}}
        state = await self.paused(call(), **options)
        await self.decide("c1", {"type": "edit", "arguments": {"amount": 70}})
        told = await self.goes_on(state, call(), **options)
        self.assertIn("cancelled before it ran: by hand", told["c1"])
        self.run_id = f"run-{uuid.uuid4()}"
        calls = call(), call("c3", amount=70)
        state = await self.paused(*calls, all_or_nothing=True, **options)
        self.assertIsNone(await self.pending("c1"))
        told = await self.goes_on(state, *calls, all_or_nothing=True, **options)
        self.assertIn("Another call of the same all-or-nothing step was denied in code", told["c1"])
        self.assertEqual(ran, [])

    async def test_code_for_a_tool_that_is_not_gated_is_an_error(self):
        with self.assertRaisesRegex(ValueError, "decide for lookup, but there is no gated tool"):
            self.process(call(), decide={"lookup": lambda _: "ask"})

    async def test_a_gated_tool_that_never_requires_approval_follows_the_policy_of_the_ledger(self):
        _, agent, model = self.process(call("c1", "transfer", amount=5))
        await agent.run("go", session=AgentSession())
        self.assertEqual(json.loads(model.told["c1"]), {"transferred": 5})
        recorded = await self.client.calls_of_run(self.run_id)
        self.assertEqual([one["state"] for one in recorded], ["succeeded"])

    async def test_a_gated_tool_that_the_policy_holds_back_waits_for_people(self):
        _, agent, _ = self.process(call("c1", "transfer", amount=5000), wait_s=20)
        await self.hold_back(call("c1", "transfer", amount=5000))
        running = asyncio.create_task(agent.run("go", session=AgentSession()))
        await self.decide("c1", {"type": "approve"})
        await running
        self.assertEqual(ran, [("transfer", 5000)])

    async def test_a_gated_tool_that_is_still_pending_after_the_wait_aborts_the_run(self):
        _, agent, _ = self.process(call("c1", "transfer", amount=5000))
        await self.hold_back(call("c1", "transfer", amount=5000))
        with self.assertRaisesRegex(MiddlewareFailure, "is pending"):
            await agent.run("go", session=AgentSession())
        self.assertEqual(ran, [])

    async def test_without_countersign_nothing_runs_and_the_error_says_why(self):
        away = Client("http://127.0.0.1:1", "t", attempts=1)
        self.addAsyncCleanup(away.__aexit__)
        _, agent, _ = self.process(call("c1", "transfer", amount=5), client=away)
        with self.assertRaisesRegex(MiddlewareFailure, "unreachable.*Is Countersign running there"):
            await agent.run("go", session=AgentSession())
        self.assertEqual(ran, [])

    async def test_a_resolver_token_that_may_not_claim_asks_no_person(self):
        wrong = Client(URL, TOKENS["agentToken"], TOKENS["agentToken"])
        self.addAsyncCleanup(wrong.__aexit__)
        run, agent, _ = self.process(call(), client=wrong)
        response = await agent.run("go", session=AgentSession())
        with self.assertRaisesRegex(CountersignError, "forbidden: .*role resolver"):
            await run.pause(response, AgentSession())
        self.assertIsNone(await self.pending("c1"))

    def pinging(self, default):
        @tool(approval_mode="always_require")
        def ping(times: int = default) -> dict:
            """Pings."""
            ran.append(("ping", times))
            return {"pinged": times}

        return [ping]

    async def test_an_approved_call_of_a_tool_that_changed_since_does_not_run(self):
        made = {"toolCallId": "c1", "toolName": "ping", "arguments": {}}
        state = await self.paused(made, tools=self.pinging(5))
        await self.decide("c1", {"type": "approve"})
        told = await self.goes_on(state, made, tools=self.pinging(5000))
        self.assertIn("The tool ping changed since it was approved", told["c1"])
        [recorded] = await self.client.calls_of_run(self.run_id)
        self.assertEqual((ran, recorded["error"]["code"]), ([], "tool-schema-changed"))

    async def allow_later_calls(self, match):
        remember = {"match": match, "scope": "run", "expiresInMs": 60_000}
        state = await self.paused(call())
        await self.decide("c1", {"type": "approve"}, remember=remember)
        await self.goes_on(state, call())
        ran.clear()

    async def test_a_grant_of_the_exact_arguments_lets_an_equal_call_run_and_asks_about_another(self):
        await self.allow_later_calls("exact")
        equal, other = call("c2"), call("c3", amount=60)
        run, agent, _ = self.process(equal, other)
        session = AgentSession()
        state = await run.pause(await agent.run("go", session=session), session)
        resumed = await run.resume(state)
        self.assertEqual([one["toolCallId"] for one in resumed.pending], ["c3"])
        await self.decide("c3", {"type": "deny"})
        await self.goes_on(state, equal, other)
        self.assertEqual(ran, [("refund", 50)])

    async def test_a_grant_of_the_tool_lets_each_later_call_of_the_run_go_on_at_once(self):
        await self.allow_later_calls("tool")
        run, agent, _ = self.process(call("c2", amount=60))
        session = AgentSession()
        state = await run.pause(await agent.run("go", session=session), session)
        resumed = await run.resume(state)
        self.assertEqual(resumed.pending, ())
        await agent.run(resumed.message, session=resumed.session)
        self.assertEqual(ran, [("refund", 60)])

    async def test_a_standing_rule_of_the_framework_runs_no_later_call(self):
        for rule in (create_always_approve_tool_response, create_always_approve_tool_with_arguments_response):
            with self.subTest(rule.__name__):
                ran.clear()
                self.run_id = f"run-{uuid.uuid4()}"
                run = GatedRun(Gate(self.client, "agent"), self.run_id, [refund])
                model = ScriptedModel([[call()], [call("c2")]])
                agent = Agent(client=model, name="agent", tools=[refund], middleware=[ToolApprovalMiddleware(), run])
                session = AgentSession()
                response = await agent.run("go", session=session)
                await run.pause(response, session)
                await self.decide("c1", {"type": "approve"})
                [request] = response.user_input_requests
                with self.assertRaisesRegex(MiddlewareFailure, "c2 did not run: it was never requested"):
                    await agent.run(Message("user", [rule(request)]), session=session)
                self.assertEqual(ran, [("refund", 50)])

    async def test_a_schema_that_transforms_its_value_runs_nothing(self):
        # People see 50; the tool would get 5000.
        state = await self.paused(call(tool_name="pay"))
        await self.decide("c1", {"type": "approve"})
        told = await self.goes_on(state)
        self.assertIn("other arguments than those that were approved", told["c1"])
        self.assertEqual(ran, [])

    async def shown(self, tool_name, call_id="c1", **arguments):
        """Returns the arguments that people see, and what the tool got after their approval."""
        made = {"toolCallId": call_id, "toolName": tool_name, "arguments": arguments}
        state = await self.paused(made)
        await self.decide(call_id, {"type": "approve"})
        await self.goes_on(state, made)
        [recorded] = await self.client.calls_of_run(self.run_id)
        self.assertEqual(recorded["state"], "succeeded", recorded["error"])
        return recorded["arguments"], ran

    async def test_people_see_the_defaults_that_the_tool_gets(self):
        self.assertEqual(await self.shown("ping"), ({"times": 1}, [("ping", 1)]))

    async def test_people_see_defaults_as_json_and_no_arguments_that_the_tool_does_not_get(self):
        shown, _ = await self.shown("send", parcel={"kilograms": 2, "evil": 1}, express=True, evil=1)
        self.assertEqual(shown, {"parcel": {"kilograms": 2}, "day": "2026-01-02", "express": True})
        # JSON has no form of the last default that fits its type.
        self.assertEqual(ran, [("send", ({"kilograms": 2}, date(2026, 1, 2), True, None))])

    async def test_people_see_the_defaults_of_a_function_whose_schema_was_given(self):
        self.assertEqual(await self.shown("rate", more=1), ({"stars": 5, "more": 1}, [("rate", (5, {"more": 1}))]))

    async def test_a_tool_that_never_requires_approval_is_recorded_with_its_defaults(self):
        _, agent, _ = self.process(call(tool_name="book", day="2026-01-02"))
        await agent.run("go", session=AgentSession())
        [recorded] = await self.client.calls_of_run(self.run_id)
        self.assertEqual(recorded["arguments"], {"day": "2026-01-02", "people": 2})

    async def test_arguments_have_the_names_that_the_tool_reads(self):
        _, agent, _ = self.process(call(tool_name="ship", numberOfPieces=1), call("c2", "ship", other=1))
        await agent.run("go", session=AgentSession())
        recorded = await self.client.calls_of_run(self.run_id)
        shown = {one["toolCallId"]: one["arguments"] for one in recorded}
        self.assertEqual(shown, {"c1": {"numberOfPieces": 1}, "c2": {"numberOfPieces": 7}})
        self.assertEqual(sorted(ran), [("ship", 1), ("ship", 7)])

    async def test_an_edit_that_leaves_a_default_to_the_tool_does_not_run(self):
        state = await self.paused(call(tool_name="ping", times=3))
        await self.decide("c1", {"type": "edit", "arguments": {}})
        self.assertIn("other arguments than those that were approved", (await self.goes_on(state))["c1"])
        self.assertEqual(ran, [])

    async def test_a_call_without_arguments_can_be_edited(self):
        state = await self.paused({"toolCallId": "c1", "toolName": "ping", "arguments": {}})
        await self.decide("c1", {"type": "edit", "arguments": {"times": 2}})
        told = await self.goes_on(state)
        self.assertIn('{"pinged": 2}', told["c1"])
        self.assertEqual(ran, [("ping", 2)])

    async def test_a_call_with_a_date_runs_without_a_pause(self):
        booking = call(tool_name="book", day="2026-01-02")
        _, agent, model = self.process(booking)
        await agent.run("go", session=AgentSession())
        self.assertEqual(model.told["c1"], '{"booked": "2026-01-02"}')
        self.assertEqual(ran, [("book", date(2026, 1, 2))])

    async def test_an_error_that_quotes_a_name_without_utf_8_is_reported(self):
        async def opens(_arguments):
            raise ValueError("no file b\udcff")

        gate = Gate(self.client, "agent")
        result = await gate.call(self.run_id, call(tool_name="lookup", id="7"), opens)
        self.assertEqual((result.status, result.text), ("failed", "no file b\\udcff"))

    async def test_a_plain_function_that_raises_stop_iteration_fails(self):
        gate = Gate(self.client, "agent")
        async with asyncio.timeout(10):
            result = await gate.call(self.run_id, call(tool_name="lookup", id="7"), lambda _arguments: next(iter([])))
        self.assertEqual((result.status, result.text), ("failed", "the tool raised StopIteration"))

    async def test_an_error_that_is_too_long_is_reported_as_a_failure(self):
        async def fails(_arguments):
            raise ValueError("x" * 20_000_000)

        gate = Gate(self.client, "agent")
        result = await gate.call(self.run_id, call(tool_name="lookup", id="7"), fails)
        self.assertEqual(result.status, "failed")
        self.assertIn("its error was refused", result.text)

    async def hold_back(self, held):
        """An approval of the call, as a rule of the policy asks for it."""
        schema = transfer.parameters()
        await self.client.request(self.run_id, [{**held, "needsApproval": True, "toolSchema": schema}], agentId="agent")


def answered(state, approved=True):
    """As a client answers the framework's own question."""
    requests = [Content.from_dict(item) for item in json.loads(state)["requests"]]
    return Message("user", [item.to_function_approval_response(approved=approved) for item in requests])


if __name__ == "__main__":
    logging.disable()
    unittest.main()
