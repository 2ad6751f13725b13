package countersign

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
)

// Decision is what the code of an agent says about a call. The zero value is none of the three, and asks.
type Decision struct {
	Allow, Ask bool
	// Deny is the reason of a denial. The tool does not run, no person is asked, and the model gets the reason.
	Deny string
}

// Decide allows a call, asks people, or denies it. Its result must depend on the arguments alone. An error or a panic asks.
type Decide func(ctx context.Context, arguments json.RawMessage) (Decision, error)

// The rule id of a call that the code of the agent denied.
const deniedInCode = "deniedInCode"

// Judged returns the call with what its Decide says: request this one. With NeedsApproval the stricter counts.
func (c Call) Judged(ctx context.Context) Call {
	if c.Decide == nil {
		return c
	}
	decision, err := c.decided(ctx)
	switch {
	case err != nil:
		c.NeedsApproval, c.Reason = true, "The check of "+c.ToolName+" failed ("+err.Error()+"), so a person must agree."
	case decision.Deny != "":
		c.Deny = decision.Deny
	case decision.Ask || !decision.Allow:
		c.NeedsApproval = true
	}
	return c
}

// decided returns what the code says. One odd call of a model must not end the process, so a panic is an error.
func (c Call) decided(ctx context.Context) (decision Decision, err error) {
	defer func() {
		if cause := recover(); cause != nil {
			err = fmt.Errorf("panic: %v", cause)
		}
	}()
	return c.Decide(ctx, c.Arguments)
}

// denial returns the reason for which the code denies other arguments of the call; empty: it does not.
func (c Call) denial(ctx context.Context, arguments json.RawMessage) string {
	c.Arguments, c.Deny = arguments, ""
	return c.Judged(ctx).Deny
}

// cancelDenied cancels a call that the code denies: it was requested without it, or an approver edited it. One that cannot be
// cancelled fails after its claim.
func (c *Client) cancelDenied(ctx context.Context, asked Call, call ToolCall) (bool, error) {
	reason := asked.denial(ctx, call.Arguments)
	if reason == "" || !call.MayRun() {
		return false, nil
	}
	body := map[string]string{"reason": reason}
	err := c.send(ctx, "POST", "/v1/tool-calls/"+call.CallID+"/cancel", c.AgentToken, nil, body, &struct{}{})
	var refusal *Refusal
	if errors.As(err, &refusal) && (refusal.Code == "batch-begun" || refusal.Code == "already-claimed" || refusal.Code == "already-settled") {
		return refusal.Code == "already-settled", nil
	}
	return err == nil, err
}

// blocked returns why a call was blocked: by the agent's own code, or by the policy.
func (c ToolCall) blocked() string {
	if why := c.Verdict.Why; c.Verdict.RuleID == deniedInCode && len(why) > 0 {
		return "The call was denied and did not run: " + why[len(why)-1]
	}
	return "The policy does not allow this call, it did not run: " + strings.Join(c.Verdict.Why, "; ")
}
