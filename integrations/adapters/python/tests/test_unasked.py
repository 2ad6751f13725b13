"""A call that was allowed without the approval that its worker needs."""

import unittest

import httpx
from countersign_client import Client, Gate, NotApprovedError

ASKED = {"toolCallId": "c1", "toolName": "refund", "arguments": {}, "needsApproval": True, "description": "Pay back"}
ALLOWED = {"callId": "tc_1", "toolCallId": "c1", "toolName": "refund", "arguments": {}, "state": "allowed", "verdict": {}}
DENIED = {**ALLOWED, "state": "denied", "approval": {"responses": []}}


class Unasked(unittest.IsolatedAsyncioTestCase):
    def gate(self, now):
        """A gate on a server where the call is `now`, once people were asked."""
        self.sent = []

        async def respond(request):
            self.sent.append((request.method, request.url.path.removeprefix("/v1/tool-calls/tc_1"), request.content))
            if request.url.path.endswith("/claim"):
                return httpx.Response(409, json={"code": "already-claimed", "detail": "claimed"})
            return httpx.Response(200, json=now)

        client = Client("http://127.0.0.1:7400", "asks", "works")
        client._http = httpx.AsyncClient(base_url="http://127.0.0.1:7400", transport=httpx.MockTransport(respond))
        self.addAsyncCleanup(client.__aexit__)
        return Gate(client, "agent")

    def ran(self, _):
        self.fail("the tool ran")

    async def test_people_are_asked_before_it_is_claimed(self):
        result = await self.gate(DENIED).finish(ASKED, ALLOWED, self.ran)
        self.assertEqual(result.status, "denied")
        self.assertEqual(self.sent, [("POST", "/approvals", b'{"description":"Pay back"}'), ("GET", "", b"")])

    async def test_it_does_not_run_when_people_cannot_be_asked(self):
        with self.assertRaisesRegex(NotApprovedError, "people cannot be asked"):
            await self.gate(ALLOWED).finish(ASKED, ALLOWED, self.ran)

    async def test_a_standing_grant_is_an_approval(self):
        await self.gate(DENIED).finish(ASKED, {**ALLOWED, "verdict": {"grantId": "gr_1"}}, self.ran)
        self.assertEqual([path for _, path, _ in self.sent], ["/claim", ""])


if __name__ == "__main__":
    unittest.main()
