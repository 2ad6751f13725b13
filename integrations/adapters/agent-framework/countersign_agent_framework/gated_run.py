"""One run of an agent: its pauses, and the middleware that runs its gated tools inside claims."""

import asyncio
import json
from collections.abc import Awaitable, Callable, Iterable, Mapping
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
from countersign_client import CountersignError, Decide, Gate, NotApprovedError, Result, json_digest, judged
from pydantic import BaseModel

from .arguments import completed, transforms, written

# The framework's own text for a rejected call.
REJECTED = "Error: Tool call invocation was rejected by user."
SPOILT = "It did not run, because the arguments of another call of the same step do not fit their tool."
DENIED_TOGETHER = "Another call of the same all-or-nothing step was denied in code"
# The framework's own text for arguments that do not fit the tool.
UNFIT = "Error: Argument parsing failed."
# No arguments fit this call. The ledger refuses it, and with it the whole request: nothing of that is recorded.
_NEVER = {"type": "object", "required": ["never"]}
_UNFITTABLE = {"toolCallId": "unfittable", "toolName": "unfittable", "arguments": {}, "toolSchema": _NEVER}


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
    `decide` by the name of a tool gets its arguments and returns `"allow"`, `"ask"` or `{"deny": reason}`.
    """

    def __init__(
        self,
        gate: Gate,
        run_id: str,
        tools: Iterable[FunctionTool],
        wait_s: float = 0,
        all_or_nothing: bool = False,
        decide: Mapping[str, Decide] | None = None,
    ):
        self._gate = gate
        self._run_id = run_id
        self._tools = {tool.name: tool for tool in tools}
        self._wait_s = wait_s
        self._all_or_nothing = all_or_nothing
        self._decide = decide or {}
        if unknown := self._decide.keys() - self._tools.keys():
            raise ValueError(f"decide for {', '.join(sorted(unknown))}, but there is no gated tool of this name")
        # What to tell the model about calls of a resumed state that the ledger cannot record, by their ids.
        self._unfit: dict[str, str] = {}

    async def pause(self, response: AgentResponse, session: AgentSession | None) -> str | None:
        """Asks the ledger about all gated calls of a step that pauses. Returns the state to store, or None at the end.

        People are not asked about a call whose arguments do not fit the tool: after the pause the model is told the error.
        Raises ValueError without a session: nothing else could go on with the run.
        """
        requests = [item for item in response.user_input_requests if item.type == "function_approval_request"]
        if not requests:
            return None
        if session is None:
            remedy = "make one with `AgentSession()`, and pass it to `agent.run(…, session=session)` and to `pause`"
            raise ValueError(f"The run waits for approvals, and it has no session that could be resumed: {remedy}")
        siblings = [item for item in _held_back(response, requests) if self._is_gated(item)]
        gated = [*(item for item in requests if self._is_gated(item)), *siblings]
        await self._ask([await self._judged(self._call(*_made(item))) for item in gated])
        stored = {"requests": [item.to_dict() for item in requests], "siblings": [item.to_dict() for item in siblings]}
        return json.dumps({"session": session.to_dict(), **stored})

    async def _ask(self, calls: list[dict[str, Any]]) -> None:
        """Requests the calls of a step, without those whose arguments do not fit."""
        if not calls:
            return
        step = {"batchId": f"step-{calls[0]['toolCallId']}", "batchMode": "all-or-nothing"}
        if self._all_or_nothing and any("deny" in call for call in calls):
            calls = [{"deny": DENIED_TOGETHER, **call} for call in calls]
        try:
            await self._gate.ask(self._run_id, calls, **(step if self._all_or_nothing else {}))
        except CountersignError as error:
            if not (unfit := _unfit(error, calls)):
                raise
            if not self._all_or_nothing:
                await self._ask([call for call in calls if call["toolCallId"] not in unfit])

    async def _why_unfit(self, calls: list[dict[str, Any]]) -> dict[str, str]:
        """Returns what to tell the model about those of the calls that the ledger cannot record. Records nothing."""
        unfit: dict[str, str] = {}
        try:
            if calls:
                await self._gate.ask(self._run_id, [*calls, _UNFITTABLE])
        except CountersignError as error:
            unfit = _unfit(error, calls)
            if error.code == "invalid-request" and unfit:
                # The ledger names one kind of errors at a time.
                unfit |= await self._why_unfit([call for call in calls if call["toolCallId"] not in unfit])
            elif error.code != "invalid-arguments":
                raise
        spoilt = {call["toolCallId"]: SPOILT for call in calls} if unfit and self._all_or_nothing else {}
        return spoilt | unfit

    async def resume(self, state: str, wait_s: float = 0) -> Resumed:
        """Reads a stored state, and waits up to `wait_s` seconds for people to decide about all of its calls.

        Raises NotApprovedError for a call that was never requested, and CountersignError with `tool-call-mismatch` when
        tool or arguments are not those that were requested: the state may come from a client.
        """
        stored = json.loads(state)
        requests = [Content.from_dict(item) for item in stored["requests"]]
        siblings = [Content.from_dict(item) for item in stored.get("siblings", [])]
        gated = [item for item in requests if self._is_gated(item)]
        recorded = await self._recorded()
        made = [_made(item) for item in [*gated, *siblings] if self._is_gated(item)]
        # Only the ledger says why: the writer of the state could tell the model anything.
        self._unfit = await self._why_unfit([self._call(*call) for call in made if call[1] not in recorded])
        views = [self._checked(recorded, *call)[1] for call in made if call[1] not in self._unfit]
        decided = await asyncio.gather(*(self._gate.client.tool_call(view["callId"], "decided", wait_s) for view in views))
        waiting = [view for view in decided if view["state"] == "awaiting_approval"]
        pending = tuple(view["approval"] for view in waiting if not view.get("waitsForTurn"))
        # For the framework "approved" means that the call goes on: its result, or why there is none, is in the ledger.
        responses = [item.to_function_approval_response(approved=True) for item in gated]
        return Resumed(
            session=AgentSession.from_dict(stored["session"]),
            message=None if waiting else Message("user", responses),
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
            made = written(tool, FunctionTool._arguments_as_mapping(context.arguments) or {})
            call = await self._judged(self._call(tool.name, call_id, made))
            try:
                [recorded] = await self._gate.ask(self._run_id, [call])
            except CountersignError as error:
                if call_id in (unfit := _unfit(error, [call])):
                    return unfit[call_id]
                raise
        else:
            all_recorded = await self._recorded()
            if call_id in self._unfit and call_id not in all_recorded:
                return self._unfit[call_id]
            call, recorded = self._checked(all_recorded, tool.name, call_id, _made(response)[2])

        async def execute(arguments: dict[str, Any]) -> Any:
            if transforms(tool, arguments):
                raise ValueError(f"The tool {tool.name} would get other arguments than those that were approved")
            # With a context of its own: the framework would ask once more about arguments that an approver changed.
            own = FunctionInvocationContext(
                function=tool, arguments=arguments, session=context.session, kwargs=dict(context.kwargs)
            )
            own.metadata["call_id"] = call_id
            output = await tool.invoke(arguments=arguments, context=own, tool_call_id=call_id, skip_parsing=True)
            return output.model_dump(mode="json") if isinstance(output, BaseModel) else output

        wait_s, decide = self._wait_s if response is None else 0, self._decide.get(tool.name)
        return _text(await self._gate.finish(call, recorded, execute, wait_s, decide))

    async def _recorded(self) -> dict[str, dict[str, Any]]:
        """Returns the recorded calls of the run by their ids."""
        return {call["toolCallId"]: call for call in await self._gate.client.calls_of_run(self._run_id)}

    def _checked(
        self, all_recorded: dict[str, dict[str, Any]], tool_name: str, call_id: str, given: dict[str, Any]
    ) -> tuple[dict[str, Any], dict[str, Any]]:
        """Returns a call as it was requested, and as it is recorded. `given` are the arguments that the model made."""
        recorded = all_recorded.get(call_id)
        if recorded is None:
            raise NotApprovedError(call_id, "it was never requested")
        if recorded["toolName"] != tool_name:
            raise CountersignError("tool-call-mismatch", f"The tool of {call_id} is not the one that was requested")
        arguments = recorded.get("originalArguments", recorded["arguments"])
        call = self._call(tool_name, call_id, given)
        # When a default changed since, the call is still the one that was requested. Its claim says that the tool changed.
        own = {
            name: value if name in given else arguments[name]
            for name, value in call["arguments"].items()
            if name in given or name in arguments
        }
        if json_digest(arguments) not in (json_digest(own), json_digest(given)):
            raise CountersignError("tool-call-mismatch", f"The arguments of {call_id} are not those that were requested")
        return {**call, "arguments": arguments}, recorded

    def _call(self, tool_name: str, call_id: str, arguments: dict[str, Any]) -> dict[str, Any]:
        tool = self._tools[tool_name]
        return {
            "toolCallId": call_id,
            "toolName": tool_name,
            "arguments": completed(tool, arguments),
            "needsApproval": tool.approval_mode == "always_require",
            "toolSchema": tool.parameters(),
        }

    async def _judged(self, call: dict[str, Any]) -> dict[str, Any]:
        return await judged(call, self._decide.get(call["toolName"]))

    def _is_gated(self, item: Content) -> bool:
        return item.function_call.name in self._tools


def _held_back(response: AgentResponse, requests: list[Content]) -> list[Content]:
    """The calls of the step that the framework runs after the pause without a question of its own, as requests."""
    contents = [content for message in response.messages for content in message.contents]
    asked = {item.function_call.call_id for item in requests}
    ended = {content.call_id for content in contents if content.type == "function_result"}
    calls = {content.call_id: content for content in contents if content.type == "function_call"}
    return [
        Content.from_function_approval_request(id=made.id or call_id, function_call=made)
        for call_id, made in calls.items()
        if call_id not in asked | ended and not made.user_input_request
    ]


def _made(item: Content) -> tuple[str, str, dict[str, Any]]:
    """The call of an approval request or response: its tool, id and arguments."""
    made = item.function_call
    return made.name, made.call_id, dict(made.parse_arguments() or {})


def _unfit(error: CountersignError, calls: list[dict[str, Any]]) -> dict[str, str]:
    """Returns what to tell the model about the calls that the ledger refuses, by their ids."""
    unfit = {}
    for index, call in enumerate(calls):
        start = f"calls.{index}."
        wrong = [place for place in error.errors if f"{place['path']}.".startswith(start)]
        said = (f"{place['path'].removeprefix(start)} {place['message']}" for place in wrong)
        words = [text.removeprefix("arguments").lstrip(". ") for text in said]
        if error.code in ("invalid-arguments", "invalid-request") and wrong:
            unfit[call["toolCallId"]] = f"{UNFIT}\n{'; '.join(words)}"
    return unfit


def _text(result: Result) -> str:
    return f"{REJECTED}\n{result.text}" if result.status == "denied" else result.text
