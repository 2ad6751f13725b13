"""Asks Countersign for approval, and runs each tool call at most once."""

from .client import Client, CountersignError
from .decide import Decide, Decision, judged
from .digest import action_digest, json_digest
from .front_end import FrontEnd, Person
from .gate import Gate, NotApprovedError
from .results import Result, result_of

__all__ = [
    *("Client", "CountersignError", "Decide", "Decision", "FrontEnd", "Gate", "NotApprovedError", "Person", "Result"),
    *("action_digest", "json_digest", "judged", "result_of"),
]
