"""A server or a proxy that lies, sends without end, or answers in place of Countersign."""

import json
import threading
import time
import unittest
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from unittest import mock

from countersign_client import Client, CountersignError, Gate, action_digest, client

PAGE = (200, {}, b"<html>")
PENDING = {"callId": "tc_1", "state": "awaiting_approval"}


class Hostile(unittest.IsolatedAsyncioTestCase):
    def server(self, answer):
        """Starts a server. `answer` gets the request line, the headers and the body, and returns status, headers and body."""
        seen = self.seen = []

        class Handler(BaseHTTPRequestHandler):
            def do(self):
                body = self.rfile.read(int(self.headers.get("content-length", 0)))
                seen.append(f"{self.command} {self.path}")
                status, headers, content = answer(seen[-1], self.headers, body)
                self.send_response(status)
                for name, value in headers.items():
                    self.send_header(name, value)
                self.end_headers()
                try:
                    for part in [content] if isinstance(content, bytes) else content:
                        self.wfile.write(part)
                except OSError:
                    self.close_connection = True

            do_GET = do_POST = do

            def log_message(self, *_):
                pass

        server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
        self.addCleanup(server.server_close)
        self.addCleanup(server.shutdown)
        return f"http://127.0.0.1:{server.server_port}"

    def client(self, answer, **options):
        made = Client(self.server(answer), "asks", "works", **options)
        self.addAsyncCleanup(made.__aexit__)
        return made

    async def refused(self, work, words="unreadable"):
        with self.assertRaisesRegex(CountersignError, words):
            await work

    async def test_a_redirect_is_not_followed(self):
        for status in (301, 302, 303, 307, 308):
            target = {"location": "/elsewhere"}
            with self.subTest(status):
                await self.refused(self.client(lambda *_: (status, target, b"")).claim("tc_1", "worker", 1000))
                self.assertEqual(self.seen, ["POST /v1/tool-calls/tc_1/claim"])

    async def test_an_answer_of_another_form_is_refused_with_a_code(self):
        for content in b"", b"<html>", b"null", b"[]", b"{}", b'{"calls":{}}', b'{"calls":[]}', b'{"calls":[7]}', b"[" * 200_000, b"\xff":
            with self.subTest(content[:20]):
                await self.refused(self.client(lambda *_: (200, {}, content)).request("run", [{"toolCallId": "c1"}]))
        for claim in b"{}", b'{"attempt":"1","arguments":{},"actionDigest":"","digestInput":{}}', b'{"attempt":1,"arguments":[]}':
            with self.subTest(claim):
                await self.refused(self.client(lambda *_: (200, {}, claim)).claim("tc_1", "worker", 1000))

    async def test_an_endless_answer_is_not_read_to_its_end(self):
        parts = (bytes(2**16) for _ in range(200))
        with mock.patch.object(client, "_ANSWER_BYTES_MAX", 2**20):
            await self.refused(self.client(lambda *_: (200, {}, parts)).tool_call("tc_1"), "larger than")

    async def test_an_answer_that_trickles_in_has_a_time_limit(self):
        def trickle():
            for _ in range(30):
                time.sleep(0.1)
                yield b" "

        with mock.patch.object(client, "_ATTEMPT_S_MAX", 0.5):
            await self.refused(self.client(lambda *_: (200, {}, trickle()), attempts=1).tool_call("tc_1"), "unreachable")

    async def test_a_waiting_read_that_is_answered_at_once_is_not_repeated_at_once(self):
        asked = self.client(lambda *_: (200, {}, json.dumps(PENDING).encode()))
        started = time.monotonic()
        for _ in range(3):
            await asked.tool_call("tc_1", wait_s=5)
        self.assertGreaterEqual(time.monotonic() - started, 3 * client._LOOK_S_MIN)

    async def test_a_position_that_the_log_never_reaches_is_forgotten(self):
        def answer(line, headers, _):
            if line.startswith("POST"):
                return 200, {"countersign-position": "999"}, b'{"calls":[]}'
            if headers.get("countersign-position") is not None:
                return 503, {}, b'{"code":"unavailable"}'
            return 200, {}, json.dumps(PENDING).encode()

        asked = self.client(answer)
        await asked.request("run", [])
        for reads in 3, 1:
            self.seen.clear()
            self.assertEqual(await asked.tool_call("tc_1"), PENDING)
            self.assertEqual(len(self.seen), reads)

    async def test_a_user_in_the_address_is_refused_without_its_text(self):
        with self.assertRaises(ValueError) as refused:
            Client("http://ada:hunter2@127.0.0.1:7400", "asks")
        self.assertNotIn("hunter2", str(refused.exception))

    async def outcome(self, proxy, output="done"):
        """Runs a call behind a proxy. Returns the outcome that the ledger got; `proxy` returns a page, or None."""
        identity = {"tenant": "t", "agentId": "agent", "runId": "run", "toolCallId": "c1", "toolName": "tool"}
        digest_input = {**identity, "toolSchemaHash": None, "salt": "00"}
        digest = action_digest(digest_input, {})
        call = {**identity, "callId": "tc_1", "state": "allowed", "actionDigest": digest, "arguments": {}, "error": None}
        claim = {"attempt": 1, "arguments": {}, "actionDigest": digest, "digestInput": digest_input}
        recorded, runs, sent = {}, [], []

        def answer(line, _, body):
            if line.endswith("/claim"):
                return 200, {}, json.dumps(claim).encode()
            if line.endswith("/outcome"):
                sent.append(body)
                if (page := proxy(len(sent), len(body))) is not None:
                    return page
                recorded.update(json.loads(body))
            state = recorded.get("status", "executing")
            return 200, {}, json.dumps({**call, "state": state, "output": recorded.get("output")}).encode()

        gate = Gate(self.client(answer), "agent")
        asked = {"toolCallId": "c1", "toolName": "tool", "arguments": {}}
        with mock.patch.object(client, "_REPORT_PAUSE_S", 0.01):
            result = await gate.finish(asked, call, lambda _: runs.append(1) or output)
        self.assertEqual((result.status, len(runs)), ("succeeded", 1))
        return recorded

    async def test_a_report_reaches_the_ledger_behind_the_answers_of_a_proxy(self):
        for page in PAGE, (404, {}, b"default backend"), (302, {"location": "/login"}, b""), (403, {}, b"denied"):
            with self.subTest(page):
                recorded = await self.outcome(lambda nth, _: page if nth < 3 else None)
                self.assertEqual(recorded["output"], "done")

    async def test_a_success_is_reported_without_an_output_that_a_proxy_refuses(self):
        recorded = await self.outcome(lambda _, size: (413, {}, b"<html>") if size > 10_000 else None, "x" * 10_000)
        self.assertIn("succeeded", recorded["output"]["unrecorded"])


if __name__ == "__main__":
    unittest.main()
