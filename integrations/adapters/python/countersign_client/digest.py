"""The action digest: what was approved is what runs."""

import hashlib
from typing import Any

import rfc8785

# Doubles tell all integers up to it apart.
_INTEGER_MAX = 2**53 - 1
_MEMBERS = ("tenant", "agentId", "runId", "toolCallId", "toolName", "toolSchemaHash", "salt")


def json_digest(value: Any) -> str:
    """Returns `sha256:` and the hex SHA-256 over the RFC 8785 form of a JSON value. Raises ValueError for other values."""
    return f"sha256:{hashlib.sha256(rfc8785.dumps(value)).hexdigest()}"


def schema_digest(schema: Any) -> str:
    """Returns the digest of a tool's schema. A number in it, such as a bound, counts as the nearest double, as in the ledger."""
    return json_digest(_rounded(schema))


def _rounded(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _rounded(one) for name, one in value.items()}
    if isinstance(value, (list, tuple)):
        return [_rounded(one) for one in value]
    is_beyond = isinstance(value, int) and abs(value) > _INTEGER_MAX
    return float(value) if is_beyond else value


def action_digest(digest_input: dict[str, Any], arguments: dict[str, Any]) -> str:
    """Returns the digest over the identity of a call and its arguments, as the ledger computes it."""
    return json_digest({**{name: digest_input[name] for name in _MEMBERS}, "arguments": arguments})
