"""Code that allows a call, asks people, or denies it."""

import asyncio
import copy
import inspect
from collections.abc import Awaitable, Callable
from typing import Any, Literal

Decision = Literal["allow", "ask"] | dict[Literal["deny"], str]
Decide = Callable[[dict[str, Any]], Decision | Awaitable[Decision]]


async def judged(call: dict[str, Any], decide: Decide | None) -> dict[str, Any]:
    """Returns the call with the decision of the code about its arguments. Code that raises, or returns anything else, asks."""
    if decide is None:
        return call
    try:
        # A copy: code that changes what it gets must not change what people see or what runs.
        decision: Any = decide(copy.deepcopy(call["arguments"]))
        decision = await decision if inspect.isawaitable(decision) else decision
        why = "returned neither allow, nor ask, nor a denial"
    except (Exception, SystemExit, asyncio.CancelledError) as error:
        if is_given_up(error):
            raise
        decision, why = None, f"failed ({words_of(error)})"
    match decision:
        # An object that is equal to everything is no decision.
        case "allow" if isinstance(decision, str):
            return call
        case "ask" if isinstance(decision, str):
            return {**call, "needsApproval": True}
        case {"deny": str(reason)}:
            return {**call, "deny": _text(reason) or "the code of the agent denies it"}
    return {**call, "needsApproval": True, "reason": _text(f"The check of {call['toolName']} {why}, so a person must agree.")}


async def denial_of(call: dict[str, Any], arguments: dict[str, Any], decide: Decide | None) -> str | None:
    """Returns the reason for which the code denies these arguments of a call, or None."""
    return (await judged({**call, "arguments": arguments}, decide)).get("deny")


def is_given_up(error: BaseException) -> bool:
    """Whether the caller gives up. Otherwise the code that was called raised the error itself."""
    return isinstance(error, asyncio.CancelledError) and (task := asyncio.current_task()) is not None and task.cancelling() > 0


def words_of(error: BaseException) -> str:
    """The words of an error, or its name where it has none that can be said."""
    try:
        # An error may quote names that are no UTF-8, and JSON cannot carry them.
        return str(error).encode("utf-8", "backslashreplace").decode() or type(error).__name__
    except Exception:
        return type(error).__name__


def _text(words: str) -> str:
    return words.strip()[:8000].encode("utf-8", "backslashreplace").decode()[:8192]
