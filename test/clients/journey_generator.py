"""One approval with the client that openapi-generator makes for Python: request, list, approve, a 409 problem, list, a grant."""
import json
import os

from openapi_client import (
    AnyArguments, ApiClient, ApprovalsApi, ApprovalState, Configuration, CreateGrant, CreateGrantMatch, Decision,
    DecisionApprove, DecisionDeny, GrantsApi, RequestedCall, RequestToolCalls, Respond, ToolCallsApi,
)
from openapi_client.exceptions import ApiException


def client(token: str) -> ApiClient:
    return ApiClient(Configuration(host=os.environ["COUNTERSIGN_URL"], access_token=token))


calls = ToolCallsApi(client(os.environ["AGENT_TOKEN"]))
approvals = ApprovalsApi(client(os.environ["PERSON_TOKEN"]))
run = os.environ["RUN_ID"]
call = RequestedCall(toolCallId="c1", toolName="delete_file", arguments={"path": "/x"}, needsApproval=True)
requested = calls.request_tool_calls(RequestToolCalls(runId=run, calls=[call])).calls[0]
assert requested.state == "awaiting_approval", requested.state

[pending] = approvals.list_approvals(run_id=run, state=ApprovalState.APPROVAL_STATE_PENDING).approvals
assert pending.may_decide.now is True and pending.requirement.stages[0].approve == 1
answer = Respond(decision=Decision(DecisionApprove(type="approve")), proposalDigest=pending.proposal.digest)
answered = approvals.respond(pending.approval_id, answer)
assert answered.state == ApprovalState.APPROVAL_STATE_APPROVED
assert answered.responses[0].decision.actual_instance.type == "approve"

try:
    approvals.respond(pending.approval_id, Respond(decision=Decision(DecisionDeny(type="deny"))))
    raise AssertionError("a second answer was taken")
except ApiException as error:
    problem = error.data
    assert error.status == 409 and problem.code == "already-resolved", problem
    code = problem.code

[approved] = approvals.list_approvals(run_id=run, state=ApprovalState.APPROVAL_STATE_APPROVED).approvals

grants = GrantsApi(client(os.environ["PERSON_TOKEN"]))
terms = CreateGrant(
    toolName="delete_file", match=CreateGrantMatch(AnyArguments(any=True)), runId=run, expiresInMs=60_000, reason="a test"
)
covered = grants.preview_grant(terms).covered
grant = grants.create_grant(terms)
assert grant.match.actual_instance.any is True and grant.run_id == run
print(json.dumps({
    "state": approved.state.value, "problem": str(getattr(code, "value", code)), "covered": covered, "grant": grant.state.value,
}))
