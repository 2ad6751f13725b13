"""The HTTP API of Countersign, as an agent and its worker need it."""

import asyncio
import json
import random
import re
import uuid
from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import quote

import httpx

_WAIT_MS_MAX = 50_000
_DELAY_S_MAX = 10.0
# For one attempt, to the end of its response. A read waits for people for 50 seconds of it.
_ATTEMPT_S_MAX = 60.0
# The largest response that is read.
_ANSWER_BYTES_MAX = 64 * 2**20
# A read that waits takes at least this long. The ledger waits by itself; a proxy in front of it may answer at once.
_LOOK_S_MIN = 0.2
# How long to wait before a report is sent again after a response that is not Countersign's.
_REPORT_PAUSE_S = 1.0
# A read is sent this often with the position of our own writes. Later ones are sent without it: a log that was restored
# from a backup never reaches it.
_POSITION_ATTEMPTS = 3


class CountersignError(Exception):
    """A refusal of the server, with its stable code such as `tool-call-mismatch`, or `unreachable`.

    `errors`: the offending places of an `invalid-arguments` or `invalid-request`, each with `path` and `message`.
    """

    def __init__(self, code: str, detail: str, status: int | None = None, errors: Sequence[dict[str, str]] = ()):
        super().__init__(f"{code}: {detail}")
        self.code = code
        self.detail = detail
        self.status = status
        self.errors = tuple(errors)


class _NotOursError(CountersignError):
    """The response is not Countersign's, such as the page of a proxy."""

    def __init__(self, status: int):
        super().__init__("unreadable", f"a response with status {status} that is not Countersign's: is the url right?", status)


class Client:
    """Sends requests under a token of role agent, and claims under one of role resolver.

    It retries a request that got no response, or 429 or 5xx, under the same `Idempotency-Key`, up to `attempts` times
    (9: about half a minute). Raises CountersignError for a refusal and for an unreachable server, and ValueError for an
    address or a token that cannot be sent.
    """

    def __init__(self, url: str, token: str, resolver_token: str | None = None, attempts: int = 9):
        _check_url(url)
        _check_token("token", token)
        if resolver_token is not None:
            _check_token("resolver_token", resolver_token)
        self._http = httpx.AsyncClient(
            base_url=url.rstrip("/"),
            timeout=_ATTEMPT_S_MAX,
            headers={"accept-encoding": "identity"},
            event_hooks={"response": [_refuse_encoding]},
        )
        self._token = token
        self._resolver_token = token if resolver_token is None else resolver_token
        self._attempts = attempts
        self._position: str | None = None

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._http.aclose()

    async def request(self, run_id: str, calls: Sequence[dict[str, Any]], **step: Any) -> list[dict[str, Any]]:
        """Requests the calls of one model step and returns them in order. `step`: `agentId`, `batchId`, `batchMode`."""
        body = {"runId": run_id, "calls": list(calls), **step}
        answer = await self._send("POST", "/v1/tool-calls", body)
        recorded = answer.get("calls")
        if not isinstance(recorded, list) or [_is_call(call) for call in recorded] != [True] * len(calls):
            raise _NotOursError(200)
        return recorded

    async def tool_call(self, call_id: str, until: str = "decided", wait_s: float = 0) -> dict[str, Any]:
        """Returns a call. Waits up to `wait_s` seconds until it is `decided` or `settled`."""
        now = asyncio.get_running_loop().time
        ends_at = now() + wait_s
        while True:
            asked_at = now()
            left_ms = (ends_at - asked_at) * 1000
            query = f"?waitMs={max(0, min(int(left_ms), _WAIT_MS_MAX))}&until={until}"
            call = await self._send("GET", f"/v1/tool-calls/{_path(call_id)}{query}")
            if not _is_call(call):
                raise _NotOursError(200)
            if _has_reached(call["state"], until):
                return call
            if left_ms > 0:
                await asyncio.sleep(asked_at + _LOOK_S_MIN - now())
            if left_ms <= _WAIT_MS_MAX:
                return call

    async def calls_of_run(self, run_id: str) -> list[dict[str, Any]]:
        """Returns all calls of a run; an empty list for a run that the ledger does not know."""
        try:
            return (await self._send("GET", f"/v1/runs/{_path(run_id)}"))["calls"]
        except CountersignError as error:
            if error.code == "not-found":
                return []
            raise

    async def ask_again(self, call_id: str, **question: Any) -> dict[str, Any]:
        """Opens the next approval of an expired call, or one for a call that is allowed and not claimed."""
        return await self._send("POST", f"/v1/tool-calls/{_path(call_id)}/approvals", question)

    async def cancel(self, call_id: str, reason: str) -> dict[str, Any]:
        """Cancels a call that is not claimed."""
        return await self._send("POST", f"/v1/tool-calls/{_path(call_id)}/cancel", {"reason": reason})

    async def claim(self, call_id: str, resolver_id: str, lease_ms: int) -> dict[str, Any]:
        """Claims the right to run a call once. Raises `already-claimed` when another worker has it."""
        body = {"resolverId": resolver_id, "leaseMs": lease_ms}
        claim = await self._send("POST", f"/v1/tool-calls/{_path(call_id)}/claim", body, resolver=True)
        shape = {"attempt": int, "arguments": dict, "actionDigest": str, "digestInput": dict}
        if not all(isinstance(claim.get(name), kind) for name, kind in shape.items()):
            raise _NotOursError(200)
        return claim

    async def prove_may_claim(self) -> None:
        """Raises like `claim` while the resolver's token may not claim. Claims nothing.

        Raises `not-found` for a token of another tenant than the agent's, once the agent has a call.
        """
        try:
            # A renewal needs the same role. No call has this id.
            await self.renew("tc_none", 1, 60_000)
        except CountersignError as error:
            if error.code != "not-found":
                raise
        for call in (await self._send("GET", "/v1/tool-calls?order=oldest&limit=1"))["calls"]:
            try:
                await self._send("GET", f"/v1/tool-calls/{_path(call['callId'])}", resolver=True)
            except CountersignError as error:
                if error.code != "not-found":
                    raise
                why = "the resolver token is of another tenant than the agent's token. Make both tokens for one tenant."
                raise CountersignError(error.code, why, error.status) from error

    async def renew(self, call_id: str, attempt: int, lease_ms: int) -> None:
        """Extends the lease of a claim."""
        body = {"attempt": attempt, "leaseMs": lease_ms}
        await self._send("POST", f"/v1/tool-calls/{_path(call_id)}/claim/renew", body, resolver=True)

    async def report(self, call_id: str, outcome: dict[str, Any]) -> dict[str, Any]:
        """Reports how a tool ended. Retries until Countersign responds: a tool that ran must not stay unreported."""
        path = f"/v1/tool-calls/{_path(call_id)}/outcome"
        while True:
            try:
                return await self._send("POST", path, outcome, resolver=True, attempts=None)
            except _NotOursError:
                await asyncio.sleep(_REPORT_PAUSE_S)

    async def _send(
        self,
        method: str,
        path: str,
        body: Any = None,
        resolver: bool = False,
        attempts: int | None = 0,
        person: Mapping[str, str] | None = None,
    ) -> Any:
        limit = self._attempts if attempts == 0 else attempts
        headers = {**(person or {}), "authorization": f"Bearer {self._resolver_token if resolver else self._token}"}
        if method == "POST":
            headers.setdefault("idempotency-key", str(uuid.uuid4()))
        elif self._position is not None:
            # Behind several gateways, a read is then never older than our own writes.
            headers["countersign-position"] = self._position
        attempt = 1
        while True:
            is_last = limit is not None and attempt >= limit
            try:
                response, content = await self._exchange(method, path, body, headers)
            except (httpx.TransportError, TimeoutError) as error:
                if is_last:
                    detail = f"no response from {self._http.base_url}: {error!r}. Is Countersign running there?"
                    raise CountersignError("unreachable", detail) from error
                await asyncio.sleep(_delay_s(attempt))
            else:
                if response.is_success:
                    self._position = response.headers.get("countersign-position", self._position)
                    return _answer(response, content)
                if is_last or not (response.status_code == 429 or response.status_code >= 500):
                    raise _refusal(response, content)
                if attempt >= _POSITION_ATTEMPTS - 1 and headers.pop("countersign-position", None) == self._position:
                    self._position = None
                await asyncio.sleep(_retry_after_s(response) or _delay_s(attempt))
            attempt += 1

    async def _exchange(self, method: str, path: str, body: Any, headers: dict[str, str]) -> tuple[httpx.Response, bytes]:
        """One attempt. Returns the response and its body, which has a limit: a hostile server sends without end."""
        async with asyncio.timeout(_ATTEMPT_S_MAX):
            async with self._http.stream(method, path, json=body, headers=headers) as response:
                content = bytearray()
                async for part in response.aiter_bytes():
                    content += part
                    if len(content) > _ANSWER_BYTES_MAX:
                        detail = f"the response is larger than {_ANSWER_BYTES_MAX} bytes, and it was not read to its end"
                        raise CountersignError("unreadable", detail, response.status_code)
        return response, bytes(content)


def _check_url(url: str) -> None:
    if not re.match("https?://", url, re.IGNORECASE):
        raise ValueError(f"url: the address must begin with http:// or https://, such as http://127.0.0.1:7400. It is {url!r}.")
    # httpx would send it in place of the token, and errors would show it.
    if re.match("https?://[^/?#]*@", url, re.IGNORECASE):
        raise ValueError("url: the address has a user name or a password. Remove it: the token is sent in its own header.")


def _check_token(name: str, token: str) -> None:
    # httpx would put the token into its error, and that error looks as if the server were away.
    if not isinstance(token, str) or not re.fullmatch(r"[\x21-\x7e]+", token):
        raise ValueError(
            f"{name}: it is empty, or has a space, a line end or another character that no token has. "
            "Copy it again, without anything around it."
        )


async def _refuse_encoding(response: httpx.Response) -> None:
    """Runs before the body is read: an error of a decoder is no use to a hostile server."""
    encoding = response.headers.get("content-encoding", "")
    if any(each.strip().lower() not in ("", "identity") for each in encoding.split(",")):
        detail = (
            f'the server sent a response with "content-encoding: {encoding[:40]}" to a request with "accept-encoding: '
            'identity", and it was not read. Turn compression off in the server or the proxy in front of it.'
        )
        raise CountersignError("unreadable", detail, response.status_code)


def _path(part: str) -> str:
    return quote(part, safe="")


def _has_reached(state: str, until: str) -> bool:
    open_states = {"awaiting_approval"} if until == "decided" else {"awaiting_approval", "allowed", "approved", "executing"}
    return state not in open_states


def _is_call(value: Any) -> bool:
    return isinstance(value, dict) and all(isinstance(value.get(name), str) for name in ("callId", "state"))


def _answer(response: httpx.Response, content: bytes) -> dict[str, Any]:
    try:
        answer = json.loads(content)
    except (ValueError, RecursionError) as error:
        raise _NotOursError(response.status_code) from error
    if not isinstance(answer, dict):
        raise _NotOursError(response.status_code)
    return answer


def _refusal(response: httpx.Response, content: bytes) -> CountersignError:
    status = response.status_code
    try:
        problem = json.loads(content)
        code, errors = problem["code"], problem.get("errors") or ()
        return CountersignError(code, problem.get("detail") or code, status, errors)
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        # A proxy that takes no body of this size says so without a problem.
        return CountersignError("payload-too-large", "a proxy refused the body", status) if status == 413 else _NotOursError(status)


def _retry_after_s(response: httpx.Response) -> float:
    text = response.headers.get("retry-after", "")
    return min(float(text), 60.0) if text.isdecimal() else 0.0


def _delay_s(attempt: int) -> float:
    return min(_DELAY_S_MAX, 0.2 * 2 ** min(attempt - 1, 10)) * (0.5 + random.random() / 2)
