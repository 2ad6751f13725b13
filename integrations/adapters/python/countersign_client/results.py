"""How a call ended, in words for the model."""

import json
from dataclasses import dataclass
from typing import Any

_ENDS = ("succeeded", "failed", "denied", "blocked", "expired", "cancelled", "unknown")


@dataclass(frozen=True)
class Result:
    """The one result that every call gets. Only `succeeded` is a success."""

    call_id: str
    tool_call_id: str
    tool_name: str
    status: str
    output: Any
    error: Any
    # Why there is no output; None after a success.
    reason: str | None
    # One sentence for the model in addition to the output.
    message: str | None
    # An approver's instruction to the agent for afterwards.
    instruction: str | None
    # An approver replaced the arguments: `arguments` are those that ran.
    edited: bool
    # A person gave the output, and the tool did not run.
    answered: bool
    arguments: dict[str, Any]
    decided_by: tuple[str, ...]

    @property
    def text(self) -> str:
        """The output, or the sentence about why there is none, and the approver's instruction."""
        output = self.output if isinstance(self.output, str) else json.dumps(self.output, ensure_ascii=False)
        parts = [
            output if self.status == "succeeded" else None,
            self.message,
            # The message of a success says it.
            "An approver changed the arguments." if self.edited and self.status != "succeeded" else None,
            # The model must see which arguments ran: its own history still has the old ones.
            f"Arguments: {json.dumps(self.arguments, ensure_ascii=False)}" if self.edited else None,
            None if self.instruction is None else f"Instruction of the approver: {self.instruction}",
        ]
        return "\n".join(part for part in parts if part is not None)


def result_of(call: dict[str, Any]) -> Result | None:
    """Returns the result of a call of the API; None while it has none."""
    status = call["state"]
    if status not in _ENDS:
        return None
    approval = call.get("approval") or {}
    wanted = ("deny",) if status == "denied" else ("approve", "edit", "answer")
    votes = [vote for vote in approval.get("responses", []) if vote["counted"] and vote["decision"]["type"] in wanted]
    edited = call.get("originalArguments") is not None
    answered = status == "succeeded" and approval.get("proposal", {}).get("kind") == "answer"
    reason = None if status == "succeeded" else _reason(call, votes)
    told = "denied" if status == "blocked" and _in_code(call) else status
    return Result(
        call_id=call["callId"],
        tool_call_id=call["toolCallId"],
        tool_name=call["toolName"],
        status=status,
        output=call["output"] if status == "succeeded" else None,
        error=call["error"] if status == "failed" else None,
        reason=reason,
        message=_success(edited, answered) if reason is None else _failure(told, reason, votes),
        instruction=call.get("instruction"),
        edited=edited,
        answered=answered,
        arguments=call["arguments"],
        decided_by=tuple(vote["respondedBy"] for vote in votes),
    )


def _reason(call: dict[str, Any], votes: list[dict[str, Any]]) -> str:
    match call["state"]:
        case "failed":
            return _words(call["error"]) or "the tool failed"
        case "denied":
            reasons = [vote["reason"] for vote in votes if (vote.get("reason") or "").strip()]
            return reasons[-1] if reasons else "User denied"
        case "blocked":
            verdict = call["verdict"]
            return "; ".join(verdict["why"][-1:] if _in_code(call) else verdict["why"]) or f"rule {verdict['ruleId']}"
        case "expired":
            approved = (call.get("approval") or {}).get("state") == "approved"
            return "it was approved but not run in time" if approved else "no person answered in time"
        case "cancelled":
            return _words(call["error"]) or "it was cancelled"
        case _:
            return "it was started and never reported back"


def _in_code(call: dict[str, Any]) -> bool:
    """Whether the agent's own code denied the call, and not the policy."""
    return (call.get("verdict") or {}).get("ruleId") == "deniedInCode"


def _words(error: Any) -> str | None:
    words = error.get("message") if isinstance(error, dict) else "" if error is None else error
    # An empty text would be read as the output of a tool that worked.
    return (words if words.strip() else None) if isinstance(words, str) else json.dumps(error, ensure_ascii=False)


def _success(edited: bool, answered: bool) -> str | None:
    if answered:
        return "A person gave this output; the tool did not run."
    return "An approver changed the arguments before it ran; these are the ones it ran with." if edited else None


def _failure(status: str, reason: str, votes: list[dict[str, Any]]) -> str:
    match status:
        case "denied":
            by = f" by {', '.join(vote['respondedBy'] for vote in votes)}" if votes else ""
            return f"The call was denied{by} and did not run: {reason}"
        case "blocked":
            return f"The policy does not allow this call, it did not run: {reason}"
        case "expired":
            return f"The call did not run: {reason}. It may be asked for again."
        case "cancelled":
            return f"The call was cancelled before it ran: {reason}"
        case "unknown":
            return "The tool was started and its outcome is not known. It may or may not have taken effect; it is not run again."
        case _:
            return reason
