"""Code that allows a call, asks people, or denies it."""

import asyncio
import json
import unittest
from unittest import mock

import httpx
from countersign_client import Client, Gate, json_digest, judged, result_of
from countersign_client.decide import words_of
from countersign_client.digest import action_digest

CALL = {"toolCallId": "c1", "toolName": "travel", "arguments": {"city": "Boston"}}
WHERE = {"tenant": "default", "agentId": "agent", "runId": "r", "toolCallId": "c1", "toolName": "travel"}
VERDICT = {"ruleId": "default", "why": []}


def decide(arguments):
    city = arguments["city"]
    return {"deny": "no travel to New York"} if city == "New York" else "ask" if city == "Boston" else "allow"


def call_to(city, state, **more):
    digest = action_digest({**WHERE, "toolSchemaHash": None, "salt": "00"}, {"city": city})
    recorded = {"callId": "tc_1", "runId": "r", "state": state, "arguments": {"city": city}, "actionDigest": digest}
    return {**CALL, "verdict": VERDICT, "output": None, "error": None, **recorded, **more}


class Wordless(Exception):
    def __str__(self):
        raise RuntimeError("no words")


class Words(unittest.TestCase):
    def test_a_result_without_a_success_is_never_told_in_an_empty_text(self):
        for error in (None, "", " ", {"message": ""}):
            self.assertEqual(result_of(call_to("Boston", "failed", error=error)).message, "the tool failed")
            self.assertEqual(result_of(call_to("Boston", "cancelled", error=error)).reason, "it was cancelled")
        self.assertEqual(result_of(call_to("Boston", "failed", error={"status": 500})).reason, '{"status": 500}')
        self.assertEqual(words_of(ValueError()), "ValueError")


class Decides(unittest.IsolatedAsyncioTestCase):
    def gate(self, recorded, cancel=200, claimed=None):
        """A gate on a server that records the call as `recorded`. `cancel`: the status of its cancellation."""
        self.sent = []
        self.ended = None

        async def respond(request):
            path = request.url.path.removeprefix("/v1/tool-calls").removeprefix("/tc_1")
            body = json.loads(request.content) if request.content else {}
            self.sent.append((path, body))
            if request.method == "POST" and path == "":
                [asked] = body["calls"]
                if "deny" in asked:
                    verdict = {"ruleId": "deniedInCode", "why": ["nothing else matches", asked["deny"]]}
                    return httpx.Response(201, json={"calls": [{**recorded, "state": "blocked", "verdict": verdict}]})
                return httpx.Response(201, json={"calls": [recorded]})
            if path == "/cancel":
                if cancel == 200:
                    self.ended = {**recorded, "state": "cancelled", "error": {"message": body["reason"]}}
                return httpx.Response(cancel, json=self.ended or {"code": "batch-begun", "detail": "begun"})
            if path == "/claim":
                where = {**WHERE, "toolSchemaHash": None, "salt": "00"}
                claim = {"attempt": 1, "arguments": recorded["arguments"], "digestInput": where}
                return httpx.Response(200, json={**claim, "actionDigest": recorded["actionDigest"], "leaseUntil": "later"})
            if path == "/outcome":
                self.ended = {**recorded, "state": body["status"], "error": body.get("error"), "output": body.get("output")}
            return httpx.Response(200, json=self.ended or recorded)

        client = Client("http://127.0.0.1:7400", "asks", "works")
        client._http = httpx.AsyncClient(base_url="http://127.0.0.1:7400", transport=httpx.MockTransport(respond))
        self.addAsyncCleanup(client.__aexit__)
        gate = Gate(client, "agent")
        client.prove_may_claim = self.proved
        return gate

    async def proved(self):
        pass

    def ran(self, _):
        self.fail("the tool ran")

    async def test_it_allows_asks_or_denies(self):
        for city, more in [("Rome", {}), ("Boston", {"needsApproval": True}), ("New York", {"deny": "no travel to New York"})]:
            call = {**CALL, "arguments": {"city": city}}
            self.assertEqual(await judged(call, decide), {**call, **more})
            self.assertEqual(await judged({**call, "needsApproval": True}, decide), {**call, "needsApproval": True, **more})

    async def test_code_that_fails_or_returns_anything_else_asks(self):
        async def fails(_):
            raise ValueError("offline")

        async def cancels(_):
            raise asyncio.CancelledError

        def ends(_):
            raise SystemExit(1)

        rubbish = [lambda _: True, lambda _: {"deny": 5}, lambda _: None, lambda _: mock.ANY, lambda _: ["allow"]]
        for broken in [fails, cancels, ends, *rubbish]:
            self.assertTrue((await judged(CALL, broken))["needsApproval"])
        self.assertIn("failed (offline), so a person must agree", (await judged(CALL, fails))["reason"])
        self.assertEqual((await judged(CALL, lambda _: {"deny": " "}))["deny"], "the code of the agent denies it")

    async def test_a_denied_call_is_recorded_and_does_not_run(self):
        call = {**CALL, "arguments": {"city": "New York"}}
        result = await self.gate(call_to("New York", "allowed")).call("r", call, self.ran, decide=decide)
        self.assertEqual((result.status, result.reason), ("blocked", "no travel to New York"))
        self.assertEqual(result.text, "The call was denied and did not run: no travel to New York")
        self.assertEqual([path for path, _ in self.sent], [""])

    async def test_an_edit_into_a_denied_call_cancels_it(self):
        edited = call_to("New York", "approved", originalArguments=CALL["arguments"])
        result = await self.gate(edited).call("r", CALL, self.ran, decide=decide)
        self.assertEqual((result.status, result.reason), ("cancelled", "no travel to New York"))
        self.assertEqual([path for path, _ in self.sent], ["", "/cancel", ""])

    async def test_where_it_cannot_be_cancelled_it_fails_after_its_claim(self):
        edited = call_to("New York", "approved", originalArguments=CALL["arguments"])
        result = await self.gate(edited, cancel=409).call("r", CALL, self.ran, decide=decide)
        self.assertEqual(result.error, {"code": "denied-in-code", "message": "It did not run: no travel to New York"})

    async def test_the_claim_is_renewed_while_the_code_decides(self):
        gate = self.gate(call_to("Rome", "allowed"))
        gate._lease_ms = 30

        async def slow(_):
            while "/claim" in (paths := [path for path, _ in self.sent]) and "/claim/renew" not in paths:
                await asyncio.sleep(0.001)
            return "allow"

        call = {**CALL, "arguments": {"city": "Rome"}}
        result = await asyncio.wait_for(gate.call("r", call, lambda _: "booked", decide=slow), 60)
        self.assertEqual((result.status, result.output), ("succeeded", "booked"))

    async def test_code_that_never_ends_is_cancelled_with_its_caller(self):
        gate = self.gate(call_to("Rome", "allowed"))

        def never(_):
            return asyncio.get_running_loop().create_future()

        with self.assertRaises(TimeoutError):
            await asyncio.wait_for(gate.call("r", CALL, self.ran, decide=never), 0.01)
        self.assertEqual(self.sent, [])

    async def test_an_allowed_call_runs(self):
        call = {**CALL, "arguments": {"city": "Rome"}}
        result = await self.gate(call_to("Rome", "allowed")).call("r", call, lambda _: "booked", decide=decide)
        self.assertEqual((result.status, result.output), ("succeeded", "booked"))

    async def test_it_gets_a_copy_of_the_arguments(self):
        def changes(arguments):
            arguments["city"] = "Rome"
            return "allow"

        got = []
        result = await self.gate(call_to("Boston", "approved")).call("r", CALL, got.append, decide=changes)
        self.assertEqual((result.status, got), ("succeeded", [{"city": "Boston"}]))
        self.assertEqual(self.sent[0][1]["calls"][0]["arguments"], {"city": "Boston"})
        edited = call_to("Paris", "approved", originalArguments=CALL["arguments"])
        await self.gate(edited).call("r", CALL, got.append, decide=changes)
        self.assertEqual(got[1:], [{"city": "Paris"}])

    async def test_code_whose_error_has_no_words_asks(self):
        def fails(_):
            raise Wordless()

        self.assertIn("failed (Wordless), so a person", (await judged(CALL, fails))["reason"])

    async def test_a_tool_that_raises_has_failed_whatever_it_raises(self):
        errors = [Wordless(), asyncio.CancelledError(), SystemExit(3), StopIteration(), ExceptionGroup("g", [ValueError("v")])]
        for error in errors:
            with self.subTest(type(error).__name__):

                def raises(_, error=error):
                    raise error

                async def raises_later(_, error=error):
                    raise error

                for execute in [raises] if isinstance(error, StopIteration) else [raises, raises_later]:
                    result = await self.gate(call_to("Boston", "approved")).call("r", CALL, execute)
                    self.assertEqual((result.status, result.error["code"]), ("failed", "tool-error"))

    async def test_a_tool_whose_caller_is_cancelled_is_not_said_to_have_failed(self):
        running = asyncio.Event()

        async def waits(_):
            running.set()
            await asyncio.sleep(60)

        task = asyncio.create_task(self.gate(call_to("Boston", "approved")).call("r", CALL, waits))
        await running.wait()
        task.cancel()
        with self.assertRaises(asyncio.CancelledError):
            await task
        self.assertNotIn("/outcome", [path for path, _ in self.sent])

    def test_the_policy_is_told_apart_from_the_code(self):
        blocked = call_to("Rome", "blocked", verdict={"ruleId": "never", "why": ["never"]})
        self.assertIn("The policy does not allow this call", result_of(blocked).text)
        self.assertTrue(json_digest({}).startswith("sha256:"))

    def test_an_answer_of_two_people_is_told_as_one_and_void_votes_are_not_named(self):
        def vote(kind, by, counted=True):
            return {"decision": {"type": kind}, "respondedBy": by, "counted": counted}

        def told(kind, *votes):
            result = result_of(call_to("Rome", "succeeded", approval={"proposal": {"kind": kind}, "responses": votes}))
            return result.answered, result.decided_by

        agreed = vote("approve", "ben")
        self.assertEqual(told("answer", vote("answer", "ada"), agreed), (True, ("ada", "ben")))
        edits = [vote("edit", "ada", counted=False), vote("edit", "ada")]
        self.assertEqual(told("run", *edits, agreed), (False, ("ada", "ben")))


if __name__ == "__main__":
    unittest.main()
