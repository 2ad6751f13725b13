// One approval with the client that openapi-generator makes for Go: request, list, approve, a 409 problem, list, a grant.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"

	client "countersign.example/client"
)

func open(token string) (*client.APIClient, context.Context) {
	configuration := client.NewConfiguration()
	configuration.Servers = client.ServerConfigurations{{URL: os.Getenv("COUNTERSIGN_URL")}}
	return client.NewAPIClient(configuration), context.WithValue(context.Background(), client.ContextAccessToken, token)
}

func must[T any](value T, _ any, err error) T {
	if err != nil {
		panic(err)
	}
	return value
}

func check(isTrue bool, what string) {
	if !isTrue {
		panic(what)
	}
}

func main() {
	agent, asAgent := open(os.Getenv("AGENT_TOKEN"))
	person, asPerson := open(os.Getenv("PERSON_TOKEN"))
	run := os.Getenv("RUN_ID")
	call := client.NewRequestedCall("c1", "delete_file", map[string]any{"path": "/x"})
	call.SetNeedsApproval(true)
	request := client.NewRequestToolCalls(run, []client.RequestedCall{*call})
	requested := must(agent.ToolCallsAPI.RequestToolCalls(asAgent).RequestToolCalls(*request).Execute())
	check(requested.Calls[0].State == "awaiting_approval", "the call waits")

	list := func(state client.ApprovalState) client.Approval {
		page := must(person.ApprovalsAPI.ListApprovals(asPerson).RunId(run).State(state).Execute())
		check(len(page.Approvals) == 1, "one approval")
		return page.Approvals[0]
	}
	pending := list("pending")
	check(pending.MayDecide.Now && pending.Requirement.Stages[0].Approve == 1, "the person may decide")
	_, err := json.Marshal(pending)
	check(err == nil, "an approval can be written again")

	answer := client.NewRespond(client.DecisionApproveAsDecision(client.NewDecisionApprove("approve")))
	answer.SetProposalDigest(pending.Proposal.Digest)
	answered := must(person.ApprovalsAPI.Respond(asPerson, pending.ApprovalId).Respond(*answer).Execute())
	check(answered.State == "approved" && answered.Responses[0].Decision.DecisionApprove != nil, "approved")

	denial := client.NewRespond(client.DecisionDenyAsDecision(client.NewDecisionDeny("deny")))
	_, response, err := person.ApprovalsAPI.Respond(asPerson, pending.ApprovalId).Respond(*denial).Execute()
	check(response.StatusCode == 409, "the second answer is refused")
	var refused *client.GenericOpenAPIError
	check(errors.As(err, &refused), "a problem")
	problem := refused.Model().(client.RespondProblem409)

	terms := client.NewCreateGrant("delete_file", client.CreateGrantMatch{AnyArguments: client.NewAnyArguments(true)}, 60000, "a test")
	terms.SetRunId(run)
	preview := must(person.GrantsAPI.PreviewGrant(asPerson).CreateGrant(*terms).Execute())
	grant := must(person.GrantsAPI.CreateGrant(asPerson).CreateGrant(*terms).Execute())
	check(grant.Match.AnyArguments != nil && grant.GetRunId() == run, "the grant is for the run")
	fmt.Printf("{\"state\":%q,\"problem\":%q,\"covered\":%d,\"grant\":%q}\n",
		list("approved").State, problem.Code, preview.Covered, grant.State)
}
