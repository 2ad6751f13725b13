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
from schemathesis.openapi.checks import RejectedPositiveData
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
    # Without a registration, and with `dryRun`, it is the operation beside it. The document says so in words.
    if case.operation.label == "POST /v1/me/passkeys" and response.status_code == 200:
        return False
    if isinstance(failure, AcceptedNegativeData):
        # HTTP has no rule against a header that nobody knows, and clients send many.
        return "in header - object with unexpected properties" not in failure.message
    if isinstance(failure, RejectedPositiveData) and response.status_code == 400:
        errors = response.json().get("errors") or [{"message": ""}]
        return not all(known.search(error["message"]) for error in errors)
    return True


# Recorded calls, approvals, runs and grants by the name of the parameter. Without them most operations would only be asked about
# what is not there.
recorded = json.loads(os.environ.get("COUNTERSIGN_RECORDED", "{}"))
turn = itertools.count()


@schemathesis.hook
def map_path_parameters(context, path_parameters):
    """Every second question is about something that is recorded. The last one of each kind is there to be cancelled."""
    if not path_parameters or next(turn) % 2 == 0:
        return path_parameters
    is_end = context.operation.path.endswith("/cancel")
    chosen = next(turn) // 2
    known = {
        name: ids[-1 if is_end else chosen % (len(ids) - 1)] for name, ids in recorded.items() if name in path_parameters
    }
    return {**path_parameters, **known}


class BoundedStreams(HTTPAdapter):
    """A stream of events has no end: it is read until it is quiet for a second, or for three seconds."""

    def send(self, request, stream=False, timeout=None, **others):
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


requests.adapters.HTTPAdapter = requests.sessions.HTTPAdapter = BoundedStreams
