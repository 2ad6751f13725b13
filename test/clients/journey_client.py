"""One approval with the client that openapi-python-client makes: request, list, approve, a 409 problem, list, a grant."""
import json
import os

from countersign_client import AuthenticatedClient
from countersign_client.api.approvals import list_approvals, respond
from countersign_client.api.grants import create_grant, preview_grant
from countersign_client.api.tool_calls import request_tool_calls
from countersign_client.models import (
    AnyArguments, ApprovalState, CreateGrant, DecisionApprove, DecisionApproveType, DecisionDeny, DecisionDenyType, RequestedCall,
    RequestedCallArguments, RequestToolCalls, Respond,
)


def client(token: str) -> AuthenticatedClient:
    return AuthenticatedClient(base_url=os.environ["COUNTERSIGN_URL"], token=token)


agent, person = client(os.environ["AGENT_TOKEN"]), client(os.environ["PERSON_TOKEN"])
run = os.environ["RUN_ID"]
arguments = RequestedCallArguments.from_dict({"path": "/x"})
call = RequestedCall(tool_call_id="c1", tool_name="delete_file", arguments=arguments, needs_approval=True)
requested = request_tool_calls.sync(client=agent, body=RequestToolCalls(run_id=run, calls=[call])).calls[0]
assert requested.state == "awaiting_approval", requested.state

[pending] = list_approvals.sync(client=person, run_id=run, state=ApprovalState.APPROVAL_STATE_PENDING).approvals
assert pending.may_decide.now is True and pending.requirement.stages[0].approve == 1
approve = DecisionApprove(type_=DecisionApproveType.DECISION_APPROVE_TYPE_APPROVE)
answered = respond.sync(
    pending.approval_id, client=person, body=Respond(decision=approve, proposal_digest=pending.proposal.digest)
)
assert answered.state == ApprovalState.APPROVAL_STATE_APPROVED
assert isinstance(answered.responses[0].decision, DecisionApprove)

deny = DecisionDeny(type_=DecisionDenyType.DECISION_DENY_TYPE_DENY)
refused = respond.sync_detailed(pending.approval_id, client=person, body=Respond(decision=deny))
assert refused.status_code == 409 and refused.parsed.code == "already-resolved", refused

[approved] = list_approvals.sync(client=person, run_id=run, state=ApprovalState.APPROVAL_STATE_APPROVED).approvals

terms = CreateGrant(
    tool_name="delete_file", match=AnyArguments(any_=True), run_id=run, expires_in_ms=60_000, reason="a test"
)
covered = preview_grant.sync(client=person, body=terms).covered
grant = create_grant.sync(client=person, body=terms)
assert grant.match.any_ is True and grant.run_id == run
print(json.dumps({
    "state": approved.state.value, "problem": refused.parsed.code.value, "covered": covered, "grant": grant.state.value,
}))
