"""A claim of anything but what was asked and approved does not run."""

import unittest

from countersign_client import action_digest
from countersign_client.gate import problem_of_claim

ASKED = {"toolCallId": "c1", "toolName": "refund", "arguments": {"amount": 50}}
INPUT = {
    "tenant": "default",
    "agentId": "agent",
    "runId": "run",
    "toolCallId": "c1",
    "toolName": "refund",
    "toolSchemaHash": None,
    "salt": "00",
}


def problem(arguments, digest_of=None, asked=ASKED, agent_id="agent", **recorded):
    digest = action_digest(INPUT, arguments if digest_of is None else digest_of)
    claim = {"digestInput": INPUT, "arguments": arguments, "actionDigest": digest}
    found = problem_of_claim(claim, {"runId": "run", "actionDigest": digest, **recorded}, asked, agent_id)
    return None if found is None else f"{found['code']}: {found['message']}"


class Claim(unittest.TestCase):
    def test_the_call_that_was_asked_for_may_run(self):
        self.assertIsNone(problem({"amount": 50}))

    def test_edited_arguments_may_run_under_their_own_digest(self):
        self.assertIsNone(problem({"amount": 7}, originalArguments={"amount": 50}))

    def test_arguments_of_another_digest_do_not_run(self):
        self.assertIn("approved digest", problem({"amount": 5000}, digest_of={"amount": 50}))

    def test_other_arguments_without_an_edit_do_not_run(self):
        self.assertIn("asked for", problem({"amount": 5000}))

    def test_a_claim_that_is_not_what_people_saw_does_not_run(self):
        self.assertIn("approved digest", problem({"amount": 50}, actionDigest="sha256:other"))

    def test_a_claim_for_another_agent_or_tool_does_not_run(self):
        self.assertIn("approved digest", problem({"amount": 50}, agent_id="other"))
        self.assertIn("approved digest", problem({"amount": 50}, asked={**ASKED, "toolName": "lookup"}))

    def test_a_tool_that_changed_since_it_was_approved_does_not_run(self):
        changed = problem({"amount": 50}, asked={**ASKED, "toolSchema": {"type": "object"}})
        self.assertRegex(changed, "^tool-schema-changed: The tool refund changed since it was approved")

    def test_a_bound_in_a_schema_counts_as_the_nearest_double(self):
        schema = {"properties": {"amount": {"type": "integer", "maximum": 2**63 - 1, "minimum": -(2**63)}}}
        # Recorded by a server, for this schema.
        recorded = "sha256:864d8cfbab1835024b454ec32ab1b95aefb6b78cc2b9a78ec08cb1d3258a8d32"
        digest = action_digest({**INPUT, "toolSchemaHash": recorded}, {"amount": 50})
        claim = {"digestInput": {**INPUT, "toolSchemaHash": recorded}, "arguments": {"amount": 50}, "actionDigest": digest}
        asked = {**ASKED, "toolSchema": schema}
        self.assertIsNone(problem_of_claim(claim, {"runId": "run", "actionDigest": digest}, asked, "agent"))

    def test_a_schema_without_a_digest_is_a_problem_of_the_claim(self):
        for bound in 10**400, float("nan"), "\ud800":
            self.assertIn("no RFC 8785 form", problem({"amount": 50}, asked={**ASKED, "toolSchema": {"maximum": bound}}))

    def test_numbers_without_an_exact_form_do_not_run(self):
        self.assertIn("RFC 8785", problem({"amount": 2**60}, digest_of={"amount": 50}))


if __name__ == "__main__":
    unittest.main()
