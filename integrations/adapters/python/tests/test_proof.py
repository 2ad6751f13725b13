"""A gate proves that the resolver's token may claim before it asks a person."""

import asyncio
import unittest

import httpx
from countersign_client import Client, CountersignError, Gate

CALL = {"toolCallId": "c1", "toolName": "refund", "arguments": {"amount": 50}, "needsApproval": True}


def refusal(status, code):
    return httpx.Response(status, json={"code": code, "detail": code})


class Proof(unittest.IsolatedAsyncioTestCase):
    def gate(self, renewals, read=httpx.Response(200, json={"callId": "tc_1"})):
        """A gate on a server that responds to the renewals, and to a read of the agent's oldest call."""
        self.sent = []

        async def respond(request):
            token = request.headers["authorization"].removeprefix("Bearer ")
            self.sent.append((token, request.method, request.url.path))
            await asyncio.sleep(0)
            match request.method, request.url.path:
                case "POST", "/v1/tool-calls/tc_none/claim/renew":
                    return renewals.pop(0)
                case "GET", "/v1/tool-calls":
                    return httpx.Response(200, json={"calls": [{"callId": "tc_1"}]})
                case "GET", "/v1/tool-calls/tc_1":
                    return read
                case "POST", "/v1/tool-calls":
                    return httpx.Response(201, json={"calls": [{"callId": "tc_2", "state": "awaiting_approval"}]})

        client = Client("http://127.0.0.1:7400", "asks", "works")
        client._http = httpx.AsyncClient(base_url="http://127.0.0.1:7400", transport=httpx.MockTransport(respond))
        self.addAsyncCleanup(client.__aexit__)
        return Gate(client, "agent")

    def sent_by(self, token, method):
        return [path for by, how, path in self.sent if (by, how) == (token, method)]

    async def is_refused(self, gate, words):
        with self.assertRaisesRegex(CountersignError, words):
            await gate.ask("run", [CALL])
        self.assertEqual(self.sent_by("asks", "POST"), [])

    async def test_a_token_that_may_not_claim_asks_no_person(self):
        for status, code in (403, "forbidden"), (401, "unauthenticated"):
            with self.subTest(code):
                await self.is_refused(self.gate([refusal(status, code)]), code)

    async def test_a_token_of_another_tenant_asks_no_person(self):
        gate = self.gate([refusal(404, "not-found")], read=refusal(404, "not-found"))
        await self.is_refused(gate, "not-found: .*another tenant")

    async def test_many_calls_share_one_proof(self):
        gate = self.gate([refusal(404, "not-found")])
        await asyncio.gather(*(gate.ask("run", [CALL]) for _ in range(5)))
        await gate.ask("run", [CALL])
        self.assertEqual(len(self.sent_by("works", "POST")), 1)
        self.assertEqual(len(self.sent_by("asks", "POST")), 6)

    async def test_a_failed_proof_is_tried_again_at_the_next_call(self):
        gate = self.gate([refusal(403, "forbidden"), refusal(404, "not-found")])
        failed = await asyncio.gather(*(gate.ask("run", [CALL]) for _ in range(3)), return_exceptions=True)
        self.assertEqual([error.code for error in failed], ["forbidden"] * 3)
        await gate.ask("run", [CALL])
        self.assertEqual(len(self.sent_by("works", "POST")), 2)

    async def test_a_caller_that_gives_up_does_not_end_the_proof_of_the_others(self):
        gate = self.gate([refusal(404, "not-found")])
        impatient, patient = (asyncio.create_task(gate.ask("run", [CALL])) for _ in range(2))
        await asyncio.sleep(0)
        impatient.cancel()
        await patient
        self.assertEqual(len(self.sent_by("works", "POST")), 1)


if __name__ == "__main__":
    unittest.main()
