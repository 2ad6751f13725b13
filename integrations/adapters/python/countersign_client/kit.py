"""The conformance kit, as an agent under test in Python sees it (docs/conformance.md)."""

import asyncio
import json
import sys
from collections.abc import Awaitable, Callable
from typing import Any


class Kit:
    """Reads the first line of the kit on stdin. Nothing else may be printed on stdout."""

    def __init__(self) -> None:
        self.start: dict[str, Any] = json.loads(sys.stdin.readline())
        self._lock = asyncio.Lock()

    async def body(self, tool_name: str, tool_call_id: str | None, arguments: dict[str, Any]) -> Any:
        """The body of a tool: the kit says what it returns."""
        async with self._lock:
            _print({"event": "tool", "toolName": tool_name, "toolCallId": tool_call_id, "arguments": arguments})
            return json.loads(await asyncio.to_thread(sys.stdin.readline))["output"]

    def used(self, what: str) -> None:
        """Tells the kit "streaming", "nested" or "forged". Call it inside the code that does it."""
        _print({"event": "used", "what": what})

    def end(self, work: Callable[[], Awaitable[dict[str, Any]]]) -> None:
        """Prints the one event in which the run comes to rest, `failed` if `work` raises. Ends the process, unless it stays."""
        try:
            _print(asyncio.run(work()))
        except Exception as error:
            _print({"event": "failed", "message": f"{type(error).__name__}: {error}"})
            if not self.start.get("stays"):
                sys.exit(1)


def _print(event: dict[str, Any]) -> None:
    print(json.dumps(event), flush=True)
