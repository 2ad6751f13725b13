"""A client that no request can leave with is refused when it is made."""

import unittest

from countersign_client import Client

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


if __name__ == "__main__":
    unittest.main()
