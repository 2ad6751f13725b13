"""The people of your own application decide, in their own names."""

from collections.abc import AsyncIterator, Mapping, Sequence
from typing import Any
from urllib.parse import quote, urlencode

from .client import Client


class FrontEnd:
    """An application that speaks for its own people, with a token of role front-end (docs/front-ends.md).

    Keep the token on your server, and take the person from your own session, never from the request of a browser. Raises like
    `Client`.
    """

    def __init__(self, url: str, token: str, attempts: int = 9):
        self._client = Client(url, token, attempts=attempts)

    async def __aenter__(self) -> "FrontEnd":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self._client.__aexit__()

    def as_(
        self, id: str, groups: Sequence[str] = (), name: str | None = None, assurance: str | None = None
    ) -> "Person":
        """Returns one of its people.

        `id`: 1 to 256 characters. It never changes, and never becomes the id of another person. `groups`: of those that the token
        lists. `assurance`: how sure you are of the person, `"low"` or `"medium"`. `name` is never compared.
        """
        if isinstance(groups, str):
            raise TypeError(f"groups: a list of names is needed, and {groups!r} is one name")
        if id == "":
            # Without a person, the request would be that of the front end itself.
            raise ValueError("id: it is empty")
        headers = {
            "countersign-person": _quoted(id),
            "countersign-person-groups": ", ".join(_quoted(group) for group in groups),
            "countersign-person-name": _quoted(name or ""),
            "countersign-person-assurance": assurance or "",
        }
        return Person(self._client, {key: value for key, value in headers.items() if value})

    async def end(self, id: str) -> list[str]:
        """Ends a person who has left: their votes on pending approvals no longer count. Returns the ids of these approvals."""
        me = await self._client._send("GET", "/v1/me")
        person = _quoted(f"{me['principal']}#{id}")
        return (await self._client._send("DELETE", f"/v1/people/{person}"))["approvalIds"]


class Person:
    """A person of a front end. The answers are in the words of the API."""

    def __init__(self, client: Client, headers: Mapping[str, str]):
        self._client = client
        self._headers = headers

    async def approvals(self, **query: str) -> AsyncIterator[dict[str, Any]]:
        """Yields the questions, oldest first: `mine="true"` for those that the person may decide now."""
        while True:
            page = await self._send("GET", f"/v1/approvals?{urlencode(query)}")
            for approval in page["approvals"]:
                yield approval
            if page.get("nextCursor") is None:
                return
            query["cursor"] = page["nextCursor"]

    async def approval(self, approval_id: str) -> dict[str, Any]:
        """Returns a question with all that the API says of it."""
        return await self._send("GET", f"/v1/approvals/{_quoted(approval_id)}")

    async def respond(
        self, approval_id: str, decision: dict[str, Any], key: str | None = None, **more: Any
    ) -> dict[str, Any]:
        """Responds in the name of the person.

        `more`: `proposalDigest`, `shownDigest`, `shownRevision`, `shownOthersDigest` (what they saw), `reason`, `instruction`.
        `key`: an `Idempotency-Key` of yours, such as that of the update in which a bot got the press.
        """
        body = {"decision": decision, **more}
        return await self._send("POST", f"/v1/approvals/{_quoted(approval_id)}/responses", body, key)

    async def withdraw(self, approval_id: str, key: str | None = None) -> dict[str, Any]:
        """Takes the vote back while the approval is pending. `key`: an `Idempotency-Key`, so that a repeat takes back no later vote."""
        return await self._send("DELETE", f"/v1/approvals/{_quoted(approval_id)}/responses/mine", key=key)

    async def reveal(self, approval_id: str) -> dict[str, Any]:
        """Returns the arguments with the hidden values. It is recorded."""
        return (await self.reveal_all(approval_id))["arguments"]

    async def reveal_all(self, approval_id: str) -> dict[str, Any]:
        """Returns what is hidden: `arguments`, and `output` where an answer is proposed in place of the run. It is recorded."""
        return await self._send("POST", f"/v1/approvals/{_quoted(approval_id)}/reveal", {})

    async def card(self, approval_id: str, format: str = "text") -> dict[str, Any]:
        """Returns a question as a message of a bot of your own: `format` is `"telegram"`, `"slack"`, `"teams"` or `"text"`."""
        return await self._send("GET", f"/v1/approvals/{_quoted(approval_id)}/card?{urlencode({'format': format})}")

    async def me(self) -> dict[str, Any]:
        """Returns who the person is: `principal`, `groups`."""
        return await self._send("GET", "/v1/me")

    async def _send(self, method: str, path: str, body: Any = None, key: str | None = None) -> Any:
        headers = self._headers if key is None else {**self._headers, "idempotency-key": key}
        return await self._client._send(method, path, body, person=headers)


def _quoted(text: str) -> str:
    return quote(text, safe="")
