"""A client that no request can leave with is refused when it is made."""

import gzip
import threading
import unittest
from http.server import BaseHTTPRequestHandler, HTTPServer

from countersign_client import Client, CountersignError

URL = "http://127.0.0.1:7400"
UNUSABLE = ["", "secret\n", "sec ret", "sécret", "secret\x00", None]


class Settings(unittest.TestCase):
    def refusal(self, *settings):
        with self.assertRaises(ValueError) as refused:
            Client(*settings)
        return str(refused.exception)

    def test_an_unusable_token_is_refused_by_its_name_and_without_its_value(self):
        for token in UNUSABLE:
            with self.subTest(token=token):
                refusal = self.refusal(URL, token)
                self.assertRegex(refusal, r"^token: .*Copy it again")
                self.assertNotRegex(refusal, "cret")

    def test_an_unusable_resolver_token_is_refused_by_its_name_and_without_its_value(self):
        for token in UNUSABLE[:-1]:
            with self.subTest(token=token):
                refusal = self.refusal(URL, "secret", token)
                self.assertRegex(refusal, r"^resolver_token: .*Copy it again")
                self.assertNotRegex(refusal, "cret")

    def test_an_address_without_its_scheme_is_refused(self):
        for url in ["127.0.0.1:7400", "localhost:7400", "ftp://localhost", ""]:
            with self.subTest(url=url):
                self.assertIn("must begin with http:// or https://", self.refusal(url, "secret"))

    def test_usable_settings_are_accepted(self):
        Client(URL, "secret")
        Client("HTTPS://countersign.example.com/", "secret", "other")

class Encodings(unittest.IsolatedAsyncioTestCase):
    """A server that compresses although it was asked not to."""

    async def answer_with(self, encodings):
        seen = []

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self):
                seen.append(self.headers.get_all("accept-encoding"))
                body = gzip.compress(b"{}") if encodings and encodings != ["identity"] else b"{}"
                self.send_response(200)
                for encoding in encodings:
                    self.send_header("content-encoding", encoding)
                self.send_header("content-length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_):
                pass

        server = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        try:
            async with Client(f"http://127.0.0.1:{server.server_port}", "secret") as client:
                return await client._send("GET", "/v1/me")
        finally:
            server.shutdown()
            server.server_close()
            self.assertEqual(seen, [["identity"]])

    async def test_a_compressed_answer_is_refused_once_and_not_read(self):
        for encodings in [["br"], ["gzip"], ["deflate"], ["zstd"], ["x-unknown"], ["BR"], ["br, identity"], ["identity", "gzip"]]:
            with self.subTest(encodings=encodings), self.assertRaises(CountersignError) as refused:
                await self.answer_with(encodings)
            self.assertIn("Turn compression off", str(refused.exception))

    async def test_a_plain_answer_is_read(self):
        for encodings in [[], ["identity"]]:
            with self.subTest(encodings=encodings):
                self.assertEqual(await self.answer_with(encodings), {})


if __name__ == "__main__":
    unittest.main()
