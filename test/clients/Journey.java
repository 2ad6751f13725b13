import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ApprovalsApi;
import org.openapitools.client.api.GrantsApi;
import org.openapitools.client.api.ToolCallsApi;
import org.openapitools.client.model.AnyArguments;
import org.openapitools.client.model.Approval;
import org.openapitools.client.model.ApprovalState;
import org.openapitools.client.model.CreateGrant;
import org.openapitools.client.model.CreateGrantMatch;
import org.openapitools.client.model.Decision;
import org.openapitools.client.model.DecisionApprove;
import org.openapitools.client.model.DecisionApproveType;
import org.openapitools.client.model.DecisionDeny;
import org.openapitools.client.model.DecisionDenyType;
import org.openapitools.client.model.Grant;
import org.openapitools.client.model.RequestedCall;
import org.openapitools.client.model.RequestToolCalls;
import org.openapitools.client.model.Respond;
import org.openapitools.client.model.RespondProblem409;
import org.openapitools.client.model.ToolCallState;

/** One approval with the client that openapi-generator makes for Java: request, list, approve, a 409 problem, list, a grant. */
public class Journey {
  private static ApiClient client(String token) {
    ApiClient client = new ApiClient();
    client.updateBaseUri(System.getenv("COUNTERSIGN_URL"));
    client.setRequestInterceptor(request -> request.header("Authorization", "Bearer " + token));
    return client;
  }

  private static void check(boolean isTrue, String what) {
    if (!isTrue) throw new IllegalStateException(what);
  }

  private static Decision decision(String type) {
    Decision decision = new Decision();
    if (type.equals("deny")) decision.setActualInstance(new DecisionDeny().type(DecisionDenyType.DECISION_DENY_TYPE_DENY));
    else decision.setActualInstance(new DecisionApprove().type(DecisionApproveType.DECISION_APPROVE_TYPE_APPROVE));
    return decision;
  }

  public static void main(String[] arguments) throws Exception {
    ToolCallsApi calls = new ToolCallsApi(client(System.getenv("AGENT_TOKEN")));
    ApprovalsApi approvals = new ApprovalsApi(client(System.getenv("PERSON_TOKEN")));
    String run = System.getenv("RUN_ID");
    RequestedCall call = new RequestedCall().toolCallId("c1").toolName("delete_file")
        .arguments(Map.of("path", "/x")).needsApproval(true);
    RequestToolCalls request = new RequestToolCalls().runId(run).calls(List.of(call));
    check(calls.requestToolCalls(request, null).getCalls().get(0).getState() == ToolCallState.TOOL_CALL_STATE_AWAITING_APPROVAL, "waits");

    Approval pending = only(approvals, run, ApprovalState.APPROVAL_STATE_PENDING);
    check(pending.getMayDecide().getNow(), "the person may decide");
    check(pending.getRequirement().getStages().get(0).getApprove() == 1, "one person is enough");
    Respond answer = new Respond().decision(decision("approve")).proposalDigest(pending.getProposal().getDigest());
    check(approvals.respond(pending.getApprovalId(), answer, null).getState() == ApprovalState.APPROVAL_STATE_APPROVED, "approved");

    String code = "";
    try {
      approvals.respond(pending.getApprovalId(), new Respond().decision(decision("deny")), null);
    } catch (ApiException error) {
      check(error.getCode() == 409, "the second answer is refused");
      code = ApiClient.createDefaultObjectMapper().readValue(error.getResponseBody(), RespondProblem409.class)
          .getCode().getValue();
    }
    String state = only(approvals, run, ApprovalState.APPROVAL_STATE_APPROVED).getState().getValue();

    GrantsApi grants = new GrantsApi(client(System.getenv("PERSON_TOKEN")));
    CreateGrantMatch match = new CreateGrantMatch();
    match.setActualInstance(new AnyArguments().any(true));
    CreateGrant terms = new CreateGrant().toolName("delete_file").match(match).runId(run).expiresInMs(60_000L).reason("a test");
    long covered = grants.previewGrant(terms, null, null).getCovered();
    Grant grant = grants.createGrant(terms, null);
    check(grant.getMatch().getActualInstance() instanceof AnyArguments && run.equals(grant.getRunId()), "the grant is for the run");
    System.out.println("{\"state\":\"" + state + "\",\"problem\":\"" + code
        + "\",\"covered\":" + covered + ",\"grant\":\"" + grant.getState().getValue() + "\"}");
  }

  private static Approval only(ApprovalsApi approvals, String run, ApprovalState state) throws ApiException {
    ApprovalsApi.APIListApprovalsRequest request =
        ApprovalsApi.APIListApprovalsRequest.newBuilder().runId(run).state(state).build();
    List<Approval> found = approvals.listApprovals(request).getApprovals();
    check(found.size() == 1, "one approval");
    return found.get(0);
  }
}
