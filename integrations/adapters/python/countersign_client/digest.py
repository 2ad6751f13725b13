"""The action digest: what was approved is what runs."""

import hashlib
from typing import Any

import rfc8785

_MEMBERS = ("tenant", "agentId", "runId", "toolCallId", "toolName", "toolSchemaHash", "salt")


def json_digest(value: Any) -> str:
    """Returns `sha256:` and the hex SHA-256 over the RFC 8785 form of a JSON value. Raises ValueError for other values."""
    return f"sha256:{hashlib.sha256(rfc8785.dumps(value)).hexdigest()}"


def action_digest(digest_input: dict[str, Any], arguments: dict[str, Any]) -> str:
    """Returns the digest over the identity of a call and its arguments, as the ledger computes it."""
    return json_digest({**{name: digest_input[name] for name in _MEMBERS}, "arguments": arguments})
