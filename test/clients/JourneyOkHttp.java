import java.util.List;
import java.util.Map;
import org.openapitools.client.ApiClient;
import org.openapitools.client.ApiException;
import org.openapitools.client.JSON;
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

/** The same approval as in Journey.java, with the library that openapi-generator uses by default: okhttp-gson. */
public class JourneyOkHttp {
  private static ApiClient client(String token) {
    return new ApiClient()
        .setBasePath(System.getenv("COUNTERSIGN_URL"))
        .addDefaultHeader("Authorization", "Bearer " + token);
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
    ToolCallState state = calls.requestToolCalls(request).execute().getCalls().get(0).getState();
    check(state == ToolCallState.TOOL_CALL_STATE_AWAITING_APPROVAL, "waits");

    Approval pending = only(approvals, run, ApprovalState.APPROVAL_STATE_PENDING);
    check(pending.getMayDecide().getNow(), "the person may decide");
    check(pending.getRequirement().getStages().get(0).getApprove() == 1, "one person is enough");
    Respond answer = new Respond().decision(decision("approve")).proposalDigest(pending.getProposal().getDigest());
    ApprovalState answered = approvals.respond(pending.getApprovalId(), answer).execute().getState();
    check(answered == ApprovalState.APPROVAL_STATE_APPROVED, "approved");

    String code = "";
    try {
      approvals.respond(pending.getApprovalId(), new Respond().decision(decision("deny"))).execute();
    } catch (ApiException error) {
      check(error.getCode() == 409, "the second answer is refused");
      RespondProblem409 problem = JSON.deserialize(error.getResponseBody(), RespondProblem409.class);
      code = problem.getCode().getValue();
    }
    String end = only(approvals, run, ApprovalState.APPROVAL_STATE_APPROVED).getState().getValue();

    GrantsApi grants = new GrantsApi(client(System.getenv("PERSON_TOKEN")));
    CreateGrantMatch match = new CreateGrantMatch();
    match.setActualInstance(new AnyArguments().any(true));
    CreateGrant terms = new CreateGrant().toolName("delete_file").match(match).runId(run).expiresInMs(60_000L).reason("a test");
    long covered = grants.previewGrant(terms).execute().getCovered();
    Grant grant = grants.createGrant(terms).execute();
    check(grant.getMatch().getActualInstance() instanceof AnyArguments && run.equals(grant.getRunId()), "the grant is for the run");
    System.out.println("{\"state\":\"" + end + "\",\"problem\":\"" + code
        + "\",\"covered\":" + covered + ",\"grant\":\"" + grant.getState().getValue() + "\"}");
    // The threads of OkHttp would keep the process for a minute.
    System.exit(0);
  }

  private static Approval only(ApprovalsApi approvals, String run, ApprovalState state) throws ApiException {
    List<Approval> found = approvals.listApprovals().runId(run).state(state).execute().getApprovals();
    check(found.size() == 1, "one approval");
    return found.get(0);
  }
}
