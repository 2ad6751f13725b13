"""The rules of the API that no schema can say. A refusal by one of them is no finding, and any other refusal of a valid request is."""

import itertools
import json
import os
import re
import time

import requests
import schemathesis
from requests.adapters import HTTPAdapter
from schemathesis.core.failures import AcceptedNegativeData
from schemathesis.openapi.checks import IgnoredAuth, RejectedPositiveData
from urllib3.exceptions import HTTPError

REFUSALS = (
    # A cursor is a text that the list itself has returned.
    r"is not the nextCursor of a page of this list",
    # Any JSON may hold a number, and the bounds of one deep inside cannot be said.
    r"is an integer beyond ±\(2\^53−1\); send it as a string",
    # A member of one item is unique among all items.
    r"is used twice in this request",
    # Two members are compared.
    r"must not be after `to`",
    r"must be later than `since`",
    r"must be larger than `after`",
    r"must be `ndjson` for `values=stored`",
    r"needs `format=ocsf`",
    # A place in the list of time stamps, and a person whom a front end has named.
    r"must be an epoch, a dot and a size",
    r"must be a person of a front end",
    # A comma in a name has a backslash before it, and the names of events grow with the version.
    r"must be 1 to 100 names, separated by commas",
    r"there is no event ",
    # A policy has a schema of its own.
    r"is not a key of this file",
    # An expression is a text with a grammar, and a parent is a call that was recorded before.
    r"the expression cannot be used",
    r"is not a recorded tool call",
    # The pattern says that there is a character; not every one of them can be seen.
    r"must not be blank",
)
known = re.compile("|".join(REFUSALS))


@schemathesis.hook
def filter_failure(context, failure, case, response) -> bool:
    """Returns whether the failure is a finding."""
    # Without a registration it is the operation beside it. The document says so in words.
    if case.operation.label == "POST /v1/me/passkeys" and response.status_code == 200 and not has_registration(case):
        return not is_options(response)
    if isinstance(failure, IgnoredAuth):
        # The session is what authenticates.
        return "cookie" not in case.headers
    if isinstance(failure, AcceptedNegativeData):
        # HTTP has no rule against a header that nobody knows, and clients send many.
        return "in header - object with unexpected properties" not in failure.message
    if isinstance(failure, RejectedPositiveData) and response.status_code == 400:
        errors = response.json().get("errors") or [{"message": ""}]
        return not all(known.search(error["message"]) for error in errors)
    return True


def has_registration(case) -> bool:
    return isinstance(case.body, dict) and case.body.get("registration") is not None


def is_options(response) -> bool:
    return response.json().keys() == {"nonce", "publicKey"}


# What is recorded, and a request that succeeds for each operation that needs more than the example of the document. Without them most
# operations would only be asked about what is not there.
recorded = json.loads(os.environ.get("COUNTERSIGN_RECORDED", "{}"))
ids = recorded.get("ids", {})
turn = itertools.count()


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Every second question is about something that is recorded. The last one of each kind is there to be cancelled."""
    if not path_parameters or next(turn) % 2 == 0:
        return path_parameters
    is_end = context.operation.path.endswith("/cancel")
    chosen = next(turn) // 2
    known = {name: of[-1 if is_end else chosen % (len(of) - 1)] for name, of in ids.items() if name in path_parameters}
    return {**path_parameters, **known}


examples_that_succeed = recorded.get("examples", {})
paths = [example.get("path_parameters", {}) for example in examples_that_succeed.values()]
reserved = {value for path in paths for name, value in path.items() if name.endswith("Id")}


def is_reserved(case) -> bool:
    """Whether another operation needs what the case is about. The examples also have all ids that a list has returned."""
    values = (case.path_parameters or {}).values()
    return any(value in reserved or str(value).startswith("run-of-") for value in values)


@schemathesis.hook
def before_add_examples(context, examples):
    """Each operation has the request that succeeds, and leaves alone what the others need for theirs."""
    example = examples_that_succeed.get(context.operation.definition.raw["operationId"])
    examples[:] = [case for case in examples if not is_reserved(case)]
    if example is not None:
        media_type = {"media_type": "application/json"} if "body" in example else {}
        examples.insert(0, context.operation.Case(**example, **media_type))


succeeded = os.environ.get("COUNTERSIGN_SUCCEEDED", os.devnull)


@schemathesis.hook
def after_call(context, case, response):
    """Writes down each operation that has succeeded."""
    if 200 <= response.status_code < 300:
        with open(succeeded, "a") as file:
            file.write(case.operation.definition.raw["operationId"] + "\n")


class Adapter(HTTPAdapter):
    """A stream of events has no end: it is read until it is quiet for a second, or for three seconds.

    Passkeys need the session of a browser, which is in a cookie and stands in place of the token.
    """

    def send(self, request, stream=False, timeout=None, **others):
        if "cookie" in request.headers:
            request.headers.pop("authorization", None)
        response = super().send(request, stream=True, timeout=timeout, **others)
        if not response.headers.get("content-type", "").startswith("text/event-stream"):
            return response
        connection = response.raw.connection or response.raw._connection
        if connection is not None and connection.sock is not None:
            connection.sock.settimeout(1)
        content, until = b"", time.monotonic() + 3
        try:
            while time.monotonic() < until and (part := response.raw.read1()):
                content += part
        except (HTTPError, OSError):
            pass
        response._content, response._content_consumed = content, True
        response.raw.close()
        return response


requests.adapters.HTTPAdapter = requests.sessions.HTTPAdapter = Adapter
