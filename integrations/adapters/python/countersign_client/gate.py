"""Runs approved calls: claim, check, run, report."""

import asyncio
import contextlib
import inspect
import time
import uuid
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

from .client import Client, CountersignError
from .decide import Decide, denial_of, is_given_up, judged, words_of
from .digest import action_digest, json_digest, schema_digest
from .results import Result, result_of

Execute = Callable[[dict[str, Any]], Awaitable[Any] | Any]
Call = dict[str, Any]

# Another worker has the call, or it ended: its result is read, and nothing runs here.
_NOT_OURS = ("already-claimed", "already-settled", "not-approved", "approval-lapsed", "batch-incomplete", "stale-claim")
# How long one look at the ledger waits for news.
_LOOK_S = 5.0


class NotApprovedError(Exception):
    """Raised in place of running a call that the ledger has not approved."""

    def __init__(self, tool_call_id: str, why: str):
        super().__init__(f"The call {tool_call_id} did not run: {why} in Countersign.")
        self.tool_call_id = tool_call_id


class Gate:
    """Requests the calls of one agent, and runs each at most once.

    `lease_s`: how long a claim lasts without a renewal; it is renewed after a third of it. `tool_timeout_s`: after that
    the lease is not renewed, so that the ledger records `unknown`; a later report is still accepted.
    """

    def __init__(self, client: Client, agent_id: str, lease_s: float = 60, tool_timeout_s: float = 600):
        self.client = client
        self.agent_id = agent_id
        self._lease_ms = int(lease_s * 1000)
        self._tool_timeout_s = tool_timeout_s
        self._resolver_id = f"{agent_id[:200]}/{uuid.uuid4()}"
        self._proof: asyncio.Task[None] | None = None

    async def ask(self, run_id: str, calls: Sequence[Call], **step: Any) -> list[Call]:
        """Requests the calls of one model step, in the words of `POST /v1/tool-calls`, and runs nothing.

        Proves first, once, that the resolver's token may claim: raises like `Client.prove_may_claim`.
        """
        proof = self._proof
        if proof is None or proof.done() and (proof.cancelled() or proof.exception() is not None):
            proof = self._proof = asyncio.create_task(self.client.prove_may_claim())
        # Shielded: a caller that gives up does not end the proof of the others.
        await asyncio.shield(proof)
        return await self.client.request(run_id, calls, agentId=self.agent_id, **step)

    async def call(
        self, run_id: str, call: Call, execute: Execute, wait_s: float | None = None, decide: Decide | None = None
    ) -> Result:
        """Requests one call, waits for people, runs it if it may run, and returns its one result.

        `decide` gets the arguments and returns `"allow"`, `"ask"` or `{"deny": reason}`. With `needsApproval` the stricter counts.
        A call that has run before, here or elsewhere, returns the recorded result. Raises NotApprovedError when it is
        still pending after `wait_s` seconds (default: no limit).
        """
        asked = await judged(call, decide)
        [recorded] = await self.ask(run_id, [asked])
        return await self.finish(asked, recorded, execute, wait_s, decide)

    async def finish(
        self, asked: Call, recorded: Call, execute: Execute, wait_s: float | None = None, decide: Decide | None = None
    ) -> Result:
        """Like `call`, for a call that was requested before. `asked` is the worker's own view of it."""
        call_id = recorded["callId"]
        now = asyncio.get_running_loop().time
        ends_at = None if wait_s is None else now() + wait_s
        while (result := result_of(recorded)) is None:
            left_s = _LOOK_S if ends_at is None else max(0.0, ends_at - now())
            if _is_unasked(asked, recorded):
                recorded = await self._ask_people(asked, recorded)
            elif recorded["state"] == "awaiting_approval":
                recorded = await self.client.tool_call(call_id, "decided", left_s)
                if recorded["state"] == "awaiting_approval" and ends_at is not None and now() >= ends_at:
                    if recorded.get("waitsForTurn"):
                        raise NotApprovedError(asked["toolCallId"], "it waits for its turn in its run")
                    approval_id = recorded["approval"]["approvalId"]
                    raise NotApprovedError(asked["toolCallId"], f"approval {approval_id} is pending")
            elif recorded["state"] != "executing" and await self._is_cancelled(asked, recorded, decide):
                recorded = await self.client.tool_call(call_id)
            elif recorded["state"] == "executing" or not await self._run(asked, recorded, execute, left_s, decide):
                # Looked at again now and then: an idempotent call whose worker is gone can be claimed once more.
                recorded = await self.client.tool_call(call_id, "settled", _LOOK_S)
            else:
                recorded = await self.client.tool_call(call_id, "settled")
        return result

    async def _ask_people(self, asked: Call, recorded: Call) -> Call:
        """Opens the approval of a call that is allowed. Returns the call, which is not allowed any more."""
        call_id = recorded["callId"]
        question = {name: asked[name] for name in ("reason", "description", "expiresInMs", "allowedDecisions") if name in asked}
        try:
            await self.client.ask_again(call_id, **question)
        except CountersignError as error:
            if error.code not in ("already-pending", "already-resolved", *_NOT_OURS):
                raise
        recorded = await self.client.tool_call(call_id)
        if _is_unasked(asked, recorded):
            raise NotApprovedError(asked["toolCallId"], "it needs an approval, and people cannot be asked")
        return recorded

    async def _is_cancelled(self, asked: Call, recorded: Call, decide: Decide | None) -> bool:
        """Cancels a call that the code denies: it was requested without it, or an approver edited it. One that cannot be cancelled
        fails after its claim."""
        if (reason := await denial_of(asked, recorded["arguments"], decide)) is None:
            return False
        try:
            await self.client.cancel(recorded["callId"], reason)
        except CountersignError as error:
            if error.code not in ("batch-begun", "already-claimed", "already-settled"):
                raise
            return error.code == "already-settled"
        return True

    async def _run(self, asked: Call, recorded: Call, execute: Execute, left_s: float, decide: Decide | None) -> bool:
        """Returns whether this process ran it and reported."""
        call_id = recorded["callId"]
        claimed_at = time.monotonic()
        try:
            claim = await self.client.claim(call_id, self._resolver_id, self._lease_ms)
            attempt = claim["attempt"]
            if time.monotonic() - claimed_at >= self._lease_ms / 1000:
                # The response took longer than the lease, so the tool starts only if the claim can still be renewed.
                await self.client.renew(call_id, attempt, self._lease_ms)
        except CountersignError as error:
            if error.code == "batch-incomplete" and left_s <= 0:
                raise NotApprovedError(asked["toolCallId"], "another call of its batch is pending") from error
            if error.code in _NOT_OURS:
                return False
            raise
        problem = problem_of_claim(claim, recorded, asked, self.agent_id)
        if problem is not None:
            outcome = {"status": "failed", "error": problem}
        else:
            outcome = await self._outcome({**asked, **claim, "callId": call_id}, execute, decide)
        await self._report(call_id, {"attempt": attempt, **outcome})
        return True

    async def _outcome(self, claimed: Call, execute: Execute, decide: Decide | None) -> Call:
        arguments = claimed["arguments"]
        # Also while the code decides: a tool that starts after its lease runs although the ledger says `unknown`.
        renewing = asyncio.create_task(self._renew(claimed["callId"], claimed["attempt"]))
        try:
            if (reason := await denial_of(claimed, arguments, decide)) is not None:
                return {"status": "failed", "error": {"code": "denied-in-code", "message": f"It did not run: {reason}"}}
            if inspect.iscoroutinefunction(execute):
                output = await execute(arguments)
            else:
                # In a thread, so that a tool that blocks does not stop the renewals.
                output = await asyncio.to_thread(_run_in_thread, execute, arguments)
                output = await output if inspect.isawaitable(output) else output
            return {"status": "succeeded", "output": _recordable(output)}
        except (Exception, SystemExit, asyncio.CancelledError) as error:
            if is_given_up(error):
                raise
            return {"status": "failed", "error": {"code": "tool-error", "name": type(error).__name__, "message": words_of(error)}}
        finally:
            renewing.cancel()
            await asyncio.gather(renewing, return_exceptions=True)

    async def _renew(self, call_id: str, attempt: int) -> None:
        ends_at = time.monotonic() + self._tool_timeout_s
        while time.monotonic() < ends_at:
            await asyncio.sleep(self._lease_ms / 3000)
            # A lost lease ends nothing: the tool is under way, and its report is accepted late.
            with contextlib.suppress(CountersignError):
                await self.client.renew(call_id, attempt, self._lease_ms)

    async def _report(self, call_id: str, outcome: Call) -> None:
        try:
            await self.client.report(call_id, outcome)
        except CountersignError as error:
            if error.code == "stale-claim":
                return
            if error.code not in ("payload-too-large", "invalid-request"):
                raise
            if outcome["status"] == "failed":
                message = f"The tool failed; its error was refused: {error}"
                await self.client.report(call_id, {**outcome, "error": {"code": "tool-error", "message": message}})
                return
            # The tool did run: the refusal of its output must not turn the success into a failure.
            output = {"unrecorded": f"The tool succeeded; its output was refused: {error}"}
            await self.client.report(call_id, {**outcome, "output": output})


def _is_unasked(asked: Call, recorded: Call) -> bool:
    """Whether a call needs an approval here, and has none.

    Attack: a process with the agent's token alone requests the call without `needsApproval`, the policy allows it, and the
    worker that finds it would run it. A standing grant is an approval by a person.
    """
    has_grant = (recorded.get("verdict") or {}).get("grantId") is not None
    return bool(asked.get("needsApproval")) and recorded["state"] == "allowed" and not has_grant


def problem_of_claim(claim: Call, recorded: Call, asked: Call, agent_id: str) -> dict[str, str] | None:
    """Returns why a claim must not run, as `code` and `message`, or None.

    The digest is computed over the arguments that are about to run and the worker's own view of the call, so that a
    claim of anything else is refused.
    """
    schema = asked.get("toolSchema")
    try:
        schema_hash = None if schema is None else schema_digest(schema)
    except (ValueError, OverflowError, RecursionError) as error:
        return _mismatch(f"The schema of the tool has no RFC 8785 form: {error}")
    own = {
        **claim["digestInput"],
        "agentId": agent_id,
        "runId": recorded["runId"],
        "toolCallId": asked["toolCallId"],
        "toolName": asked["toolName"],
        "toolSchemaHash": schema_hash,
    }
    if schema_hash != claim["digestInput"].get("toolSchemaHash"):
        message = f"The tool {asked['toolName']} changed since it was approved: its input schema is another one"
        return {"code": "tool-schema-changed", "message": message}
    try:
        digest = action_digest(own, claim["arguments"])
        asked_digest = json_digest(asked["arguments"])
    except (ValueError, KeyError) as error:
        return _mismatch(f"The arguments to run have no RFC 8785 form: {error}")
    if digest != claim["actionDigest"] or digest != recorded["actionDigest"]:
        return _mismatch("The arguments to run are not those of the approved digest")
    if recorded.get("originalArguments") is None and json_digest(claim["arguments"]) != asked_digest:
        return _mismatch("The arguments to run are not those that were asked for")
    return None


def _mismatch(message: str) -> dict[str, str]:
    return {"code": "digest-mismatch", "message": message}


def _run_in_thread(execute: Execute, arguments: dict[str, Any]) -> Any:
    try:
        return execute(arguments)
    except StopIteration as error:
        # A bare `next` raises this. asyncio cannot pass it on, and the call would never end.
        raise RuntimeError("the tool raised StopIteration") from error


def _recordable(output: Any) -> Any:
    try:
        json_digest(output)
        return output
    except (ValueError, TypeError, RecursionError):
        return {"unrecorded": "The tool succeeded; its output cannot be written as JSON."}
