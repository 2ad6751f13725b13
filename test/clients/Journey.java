import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.api.ApprovalsApi;
import org.openapitools.client.api.ToolCallsApi;
import org.openapitools.client.model.Approval;
import org.openapitools.client.model.ApprovalState;
import org.openapitools.client.model.Decision;
import org.openapitools.client.model.DecisionApprove;
import org.openapitools.client.model.DecisionApproveType;
import org.openapitools.client.model.DecisionDeny;
import org.openapitools.client.model.DecisionDenyType;
import org.openapitools.client.model.RequestedCall;
import org.openapitools.client.model.RequestToolCalls;
import org.openapitools.client.model.Respond;
import org.openapitools.client.model.RespondProblem409;
import org.openapitools.client.model.ToolCallState;

/** One approval with the client that openapi-generator makes for Java: request, list, approve, a 409 problem, list. */
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
    System.out.println("{\"state\":\"" + state + "\",\"problem\":\"" + code + "\"}");
  }

  private static Approval only(ApprovalsApi approvals, String run, ApprovalState state) throws ApiException {
    ApprovalsApi.APIListApprovalsRequest request =
        ApprovalsApi.APIListApprovalsRequest.newBuilder().runId(run).state(state).build();
    List<Approval> found = approvals.listApprovals(request).getApprovals();
    check(found.size() == 1, "one approval");
    return found.get(0);
  }
}
