"""One run of an agent: its pauses, and the middleware that runs its gated tools inside claims."""

import asyncio
import json
import re
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any

from agent_framework import (
    AgentResponse,
    AgentSession,
    Content,
    FunctionInvocationContext,
    FunctionMiddleware,
    FunctionTool,
    Message,
    MiddlewareFailure,
)
from countersign_client import CountersignError, Gate, NotApprovedError, Result, json_digest
from pydantic import BaseModel
from pydantic_core import to_jsonable_python

# The framework's own text for a rejected call.
REJECTED = "Error: Tool call invocation was rejected by user."
SPOILT = "It did not run, because the arguments of another call of the same step do not fit their tool."
# The framework's own text for arguments that do not fit the tool.
UNFIT = "Error: Argument parsing failed."


@dataclass(frozen=True)
class Resumed:
    """A run that goes on: `agent.run(message, session=session)`. `message` is None while `pending` has approvals."""

    session: AgentSession
    message: Message | None
    pending: tuple[dict[str, Any], ...]
    # Approval requests of tools that are not gated: the caller answers them.
    others: tuple[Content, ...]


class GatedRun(FunctionMiddleware):
    """The middleware of one run, and its pauses.

    A gated tool with `approval_mode="always_require"` always needs approval, and the run pauses for it. With
    `never_require` the policy of the ledger decides, and the tool waits up to `wait_s` seconds for people. With
    `all_or_nothing` the gated calls of one step run together or not at all. The ids of calls must be unique in a run.
    """

    def __init__(
        self, gate: Gate, run_id: str, tools: Iterable[FunctionTool], wait_s: float = 0, all_or_nothing: bool = False
    ):
        self._gate = gate
        self._run_id = run_id
        self._tools = {tool.name: tool for tool in tools}
        self._wait_s = wait_s
        self._all_or_nothing = all_or_nothing
        # Why calls of a resumed state were never requested, by their ids.
        self._unfit: dict[str, str] = {}

    async def pause(self, response: AgentResponse, session: AgentSession) -> str | None:
        """Asks the ledger about the approval requests of a response. Returns the state to store, or None at the end.

        People are not asked about a call whose arguments do not fit the tool: after the pause the model is told the error.
        """
        requests = [item for item in response.user_input_requests if item.type == "function_approval_request"]
        if not requests:
            return None
        calls = [self._call(_name(item), _call_id(item), _arguments(item)) for item in requests if self._is_gated(item)]
        unfit = await self._ask(calls)
        requested = [item.to_dict() for item in requests]
        return json.dumps({"session": session.to_dict(), "requests": requested, "unfit": unfit})

    async def _ask(self, calls: list[dict[str, Any]]) -> dict[str, str]:
        """Requests the calls of a step. Returns what to tell the model about those that the ledger cannot record."""
        unfit: dict[str, str] = {}
        while calls:
            step = {"batchId": f"step-{calls[0]['toolCallId']}", "batchMode": "all-or-nothing"}
            try:
                await self._gate.ask(self._run_id, calls, **(step if self._all_or_nothing else {}))
                break
            except CountersignError as error:
                if (index := _index_of_unfit(error)) is None:
                    raise
                unfit[calls.pop(index)["toolCallId"]] = _unfit(error, index)
                if self._all_or_nothing:
                    return unfit | {call["toolCallId"]: SPOILT for call in calls}
        return unfit

    async def resume(self, state: str, wait_s: float = 0) -> Resumed:
        """Reads a stored state, and waits up to `wait_s` seconds for people to decide about all of its calls.

        Raises NotApprovedError for a call that was never requested, and CountersignError with `tool-call-mismatch` when
        tool or arguments are not those that were requested: the state may come from a client.
        """
        stored = json.loads(state)
        requests = [Content.from_dict(item) for item in stored["requests"]]
        gated = [item for item in requests if self._is_gated(item)]
        self._unfit = stored.get("unfit", {})
        calls = [self._call(_name(item), _call_id(item), _arguments(item)) for item in gated]
        views = await asyncio.gather(*(self._recorded(call) for call in calls))
        decided = await asyncio.gather(
            *(self._gate.client.tool_call(view["callId"], "decided", wait_s) for view in views if view is not None)
        )
        pending = tuple(view["approval"] for view in decided if view["state"] == "awaiting_approval")
        # For the framework "approved" means that the call goes on: its result, or why there is none, is in the ledger.
        responses = [item.to_function_approval_response(approved=True) for item in gated]
        return Resumed(
            session=AgentSession.from_dict(stored["session"]),
            message=None if pending else Message("user", responses),
            pending=pending,
            others=tuple(item for item in requests if not self._is_gated(item)),
        )

    async def process(self, context: FunctionInvocationContext, call_next: Callable[[], Awaitable[None]]) -> None:
        """Runs a gated tool inside a claim, and sets its one result. Aborts the run when the ledger has not agreed."""
        if context.function.name not in self._tools:
            await call_next()
            return
        try:
            context.result = await self._result(context)
        except (CountersignError, NotApprovedError, ValueError, TypeError) as error:
            # Any other exception would become a tool error, and the model would try again.
            raise MiddlewareFailure(str(error)) from error

    async def _result(self, context: FunctionInvocationContext) -> str:
        tool, call_id = context.function, context.metadata["call_id"]
        response = context.metadata.get("approval_response")
        if response is None:
            # The framework has validated them already: for example, a date is no text any more.
            validated = to_jsonable_python(FunctionTool._arguments_as_mapping(context.arguments) or {})
            call = self._call(tool.name, call_id, validated)
            try:
                [recorded] = await self._gate.ask(self._run_id, [call])
            except CountersignError as error:
                if error.code == "invalid-arguments":
                    return _unfit(error, 0)
                raise
        else:
            call = self._call(tool.name, call_id, _arguments(response))
            recorded = await self._recorded(call)
            if recorded is None:
                return self._unfit[call_id]

        async def execute(arguments: dict[str, Any]) -> Any:
            if _transforms(tool, arguments):
                raise ValueError(f"The tool {tool.name} would get other arguments than those that were approved")
            # With a context of its own: the framework would ask once more about arguments that an approver changed.
            own = FunctionInvocationContext(
                function=tool, arguments=arguments, session=context.session, kwargs=dict(context.kwargs)
            )
            own.metadata["call_id"] = call_id
            output = await tool.invoke(arguments=arguments, context=own, tool_call_id=call_id, skip_parsing=True)
            return output.model_dump(mode="json") if isinstance(output, BaseModel) else output

        return _text(await self._gate.finish(call, recorded, execute, self._wait_s if response is None else 0))

    async def _recorded(self, asked: dict[str, Any]) -> dict[str, Any] | None:
        """Returns the recorded call, or None for one that could not be requested because of its arguments."""
        call_id = asked["toolCallId"]
        calls = await self._gate.client.calls_of_run(self._run_id)
        recorded = next((call for call in calls if call["toolCallId"] == call_id), None)
        if recorded is None:
            if call_id in self._unfit:
                return None
            raise NotApprovedError(call_id, "it was never requested")
        if recorded["toolName"] != asked["toolName"]:
            raise CountersignError("tool-call-mismatch", f"The tool of {call_id} is not the one that was requested")
        edited_from = recorded.get("originalArguments")
        arguments = recorded["arguments"] if edited_from is None else edited_from
        if json_digest(arguments) != json_digest(asked["arguments"]):
            raise CountersignError("tool-call-mismatch", f"The arguments of {call_id} are not those that were requested")
        return recorded

    def _call(self, tool_name: str, call_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        tool = self._tools[tool_name]
        return {
            "toolCallId": call_id,
            "toolName": tool_name,
            "arguments": arguments,
            "needsApproval": tool.approval_mode == "always_require",
            "toolSchema": tool.parameters(),
        }

    def _is_gated(self, item: Content) -> bool:
        return _name(item) in self._tools


def _name(item: Content) -> str:
    return item.function_call.name


def _call_id(item: Content) -> str:
    return item.function_call.call_id


def _arguments(item: Content) -> dict[str, Any]:
    return dict(item.function_call.parse_arguments() or {})


def _transforms(tool: FunctionTool, arguments: dict[str, Any]) -> bool:
    """Whether validation changes values, not only their types: people would see another value than the tool gets."""
    model = tool.input_model
    if model is None or tool._schema_supplied:
        return False
    once = model.model_validate(arguments)
    return model.model_validate(once.model_dump(by_alias=True, exclude_unset=True)) != once


def _index_of_unfit(error: CountersignError) -> int | None:
    paths = [place["path"] for place in error.errors] if error.code == "invalid-arguments" else []
    found = re.match(r"calls\.(\d+)\.arguments", paths[0]) if paths else None
    return None if found is None else int(found[1])


def _unfit(error: CountersignError, index: int) -> str:
    start = f"calls.{index}.arguments"
    wrong = [place for place in error.errors if place["path"].startswith(start)]
    words = [f"{place['path'].removeprefix(start).removeprefix('.')} {place['message']}".strip() for place in wrong]
    return f"{UNFIT}\n{'; '.join(words)}"


def _text(result: Result) -> str:
    return f"{REJECTED}\n{result.text}" if result.status == "denied" else result.text
