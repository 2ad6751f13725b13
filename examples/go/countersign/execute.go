package countersign

import (
	"context"
	"crypto/sha256"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"time"

	"github.com/gowebpki/jcs"
)

// Tool runs a call. The context ends when the claim is lost. IdempotencyKey is the same for every attempt of the call.
type Tool func(ctx context.Context, arguments json.RawMessage, idempotencyKey string) (any, error)

type claim struct {
	Attempt        int                        `json:"attempt"`
	Arguments      json.RawMessage            `json:"arguments"`
	ActionDigest   string                     `json:"actionDigest"`
	DigestInput    map[string]json.RawMessage `json:"digestInput"`
	IdempotencyKey string                     `json:"idempotencyKey"`
}

// outcome is the body of a report: `attempt`, `status`, and `output` (also for nil) or `error`.
type outcome map[string]any

type failure struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Execute claims an approved call, runs the tool if the digest is right, and reports. It returns the settled call. If
// another process has claimed the call, it waits for that one's result; `unknown` means that the process was lost. A call
// that needs an approval, and was allowed without one, waits for people first; one that its Decide denies is cancelled.
func (c *Client) Execute(ctx context.Context, asked Call, call ToolCall, tool Tool) (ToolCall, error) {
	call, err := c.askPeople(ctx, asked, call)
	if err != nil {
		return call, err
	}
	cancelled, err := c.cancelDenied(ctx, asked, call)
	if err != nil {
		return call, err
	}
	if cancelled || !call.MayRun() {
		return c.WaitSettled(ctx, call.CallID)
	}
	path := "/v1/tool-calls/" + call.CallID
	var claimed claim
	claimedAt := time.Now()
	body := map[string]any{"resolverId": c.AgentID, "leaseMs": c.Lease.Milliseconds()}
	err = c.send(ctx, "POST", path+"/claim", c.WorkerToken, nil, body, &claimed)
	if err == nil && time.Since(claimedAt) >= c.Lease {
		// The response took longer than the lease, so the tool starts only if the claim can still be renewed.
		err = c.renewOnce(ctx, call.CallID, claimed.Attempt)
	}
	if err != nil {
		var refusal *Refusal
		if errors.As(err, &refusal) && (refusal.Status == http.StatusConflict || refusal.Status == http.StatusGone) {
			return c.WaitSettled(ctx, call.CallID)
		}
		return call, err
	}
	if result := c.run(ctx, asked, call, claimed, tool); result != nil {
		if err := c.report(ctx, path+"/outcome", result); err != nil {
			return call, err
		}
	}
	return c.WaitSettled(ctx, call.CallID)
}

// askPeople opens the approval of a call that needs one and was allowed without, and waits for it.
//
// Attack: a process with the agent's token alone requests the call without needsApproval, the policy allows it, and the
// worker that finds it would run it. A standing grant is an approval by a person.
func (c *Client) askPeople(ctx context.Context, asked Call, call ToolCall) (ToolCall, error) {
	isUnasked := func(call ToolCall) bool {
		return asked.NeedsApproval && call.State == "allowed" && call.Verdict.GrantID == nil
	}
	if !isUnasked(call) {
		return call, nil
	}
	question := map[string]string{}
	if asked.Description != "" {
		question["description"] = asked.Description
	}
	if asked.Reason != "" {
		question["reason"] = asked.Reason
	}
	err := c.send(ctx, "POST", "/v1/tool-calls/"+call.CallID+"/approvals", c.AgentToken, nil, question, &struct{}{})
	var refusal *Refusal
	if err != nil && !(errors.As(err, &refusal) && refusal.Status == http.StatusConflict) {
		return call, err
	}
	decided, err := c.WaitDecided(ctx, call.CallID)
	if err == nil && isUnasked(decided) {
		err = errors.New("the call needs an approval, and people cannot be asked")
	}
	return decided, err
}

// How long a report goes on after the context of its caller has ended.
const reportGrace = 30 * time.Second

// How long to wait before a report is sent again after a response that is not the ledger's.
const reportPause = time.Second

// report reports how the tool ended, also after the end of the context. It did run, so neither an output that cannot be
// recorded nor the page of a proxy must hide its end.
func (c *Client) report(ctx context.Context, path string, result outcome) error {
	ctx, stop := outlive(ctx, reportGrace)
	defer stop()
	if _, err := json.Marshal(result); err != nil {
		result = unrecorded(result, err)
	}
	err := c.reportOnce(ctx, path, result)
	var refusal *Refusal
	if errors.As(err, &refusal) && (refusal.Code == tooLarge || refusal.Code == "invalid-request") {
		err = c.reportOnce(ctx, path, unrecorded(result, err))
	}
	if errors.As(err, &refusal) && refusal.Code == "stale-claim" {
		return nil
	}
	return err
}

// reportOnce sends a report until the ledger itself has answered.
func (c *Client) reportOnce(ctx context.Context, path string, result outcome) error {
	for {
		err := c.send(ctx, "POST", path, c.WorkerToken, nil, result, &struct{}{})
		var refusal *Refusal
		if !errors.As(err, &refusal) || refusal.Code != unreadable || ctx.Err() != nil {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(reportPause):
		}
	}
}

// outlive returns a context that ends some time after another one.
func outlive(ctx context.Context, grace time.Duration) (context.Context, context.CancelFunc) {
	longer, stop := context.WithCancel(context.Background())
	go func() {
		select {
		case <-longer.Done():
			return
		case <-ctx.Done():
		}
		select {
		case <-longer.Done():
		case <-time.After(grace):
			stop()
		}
	}()
	return longer, stop
}

func unrecorded(result outcome, why error) outcome {
	if result["status"] == "failed" {
		return outcome{"attempt": result["attempt"], "status": "failed", "error": failure{"tool-error", "The tool failed; its error was refused: " + why.Error()}}
	}
	output := map[string]string{"unrecorded": "The tool succeeded; its output was refused: " + why.Error()}
	return outcome{"attempt": result["attempt"], "status": "succeeded", "output": output}
}

// run returns nil when the claim or the context ended before a tool that failed: it may have taken effect, so its outcome
// is not known.
func (c *Client) run(ctx context.Context, asked Call, call ToolCall, claimed claim, tool Tool) outcome {
	failed := func(code string, err error) outcome {
		return outcome{"attempt": claimed.Attempt, "status": "failed", "error": failure{code, err.Error()}}
	}
	if err := verify(c.AgentID, asked, call, claimed); err != nil {
		return failed("digest-mismatch", err)
	}
	if reason := asked.denial(ctx, claimed.Arguments); reason != "" {
		return failed("denied-in-code", errors.New("It did not run: "+reason))
	}
	leased, release := context.WithCancel(ctx)
	defer release()
	go c.renew(leased, release, call.CallID, claimed.Attempt)
	output, err := tool(leased, claimed.Arguments, claimed.IdempotencyKey)
	if err != nil && leased.Err() != nil {
		return nil
	}
	if err != nil {
		return failed("tool-error", err)
	}
	return outcome{"attempt": claimed.Attempt, "status": "succeeded", "output": output}
}

// renew keeps the claim while the tool runs. If the ledger refuses, another attempt may begin: the tool must stop.
func (c *Client) renew(ctx context.Context, lost context.CancelFunc, callID string, attempt int) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-time.After(c.Lease / 3):
			if err := c.renewOnce(ctx, callID, attempt); err != nil {
				lost()
			}
		}
	}
}

func (c *Client) renewOnce(ctx context.Context, callID string, attempt int) error {
	body := map[string]any{"attempt": attempt, "leaseMs": c.Lease.Milliseconds()}
	return c.send(ctx, "POST", "/v1/tool-calls/"+callID+"/claim/renew", c.WorkerToken, nil, body, &struct{}{})
}

// verify computes the action digest over the arguments that are about to run and over this agent's own view of the call.
func verify(agentID string, asked Call, call ToolCall, claimed claim) error {
	var schemaHash any
	if asked.ToolSchema != nil {
		hash, err := digestOf(asked.ToolSchema)
		if err != nil {
			return err
		}
		schemaHash = hash
	}
	own := map[string]any{
		"agentId": agentID, "runId": call.RunID, "toolCallId": asked.ToolCallID, "toolName": asked.ToolName,
		"toolSchemaHash": schemaHash, "arguments": claimed.Arguments,
		"tenant": claimed.DigestInput["tenant"], "salt": claimed.DigestInput["salt"],
	}
	digest, err := digestOf(own)
	if err != nil {
		return err
	}
	if digest != claimed.ActionDigest || digest != call.ActionDigest {
		return errors.New("the arguments to run are not those of the approved digest")
	}
	if call.OriginalArguments != nil {
		return nil
	}
	mine, err := digestOf(asked.Arguments)
	if err != nil {
		return err
	}
	if approved, err := digestOf(claimed.Arguments); err != nil || approved != mine {
		return errors.New("the arguments to run are not those that were asked for")
	}
	return nil
}

// digestOf returns `sha256:` and the SHA-256 over the RFC 8785 (JCS) form of a JSON value.
func digestOf(value any) (string, error) {
	text, err := json.Marshal(value)
	if err != nil {
		return "", err
	}
	canonical, err := jcs.Transform(text)
	if err != nil {
		return "", err
	}
	return fmt.Sprintf("sha256:%x", sha256.Sum256(canonical)), nil
}

// Text returns the one result of a settled call as a text for the model.
func (c ToolCall) Text() string {
	text := c.sentence()
	if c.answered() {
		text += "\nA person gave this output; the tool did not run."
	} else if c.OriginalArguments != nil && c.State == "succeeded" {
		text += "\nAn approver changed the arguments before it ran: " + string(c.Arguments)
	}
	if c.Instruction != nil {
		text += "\nInstruction of the approver: " + *c.Instruction
	}
	return text
}

func (c ToolCall) answered() bool {
	return c.State == "succeeded" && c.Approval != nil && c.Approval.Proposal.Kind == "answer"
}

func (c ToolCall) sentence() string {
	switch c.State {
	case "succeeded":
		return string(c.Output)
	case "failed":
		return "The tool failed: " + messageOf(c.Error)
	case "denied":
		return "The call was denied and did not run: " + c.reason()
	case "blocked":
		return c.blocked()
	case "expired":
		return "The call did not run: its time was over."
	case "cancelled":
		return "The call was cancelled before it ran: " + messageOf(c.Error)
	case "unknown":
		return "The tool was started and its outcome is not known. It may have taken effect; it is not run again."
	}
	return "The call has no result yet: " + c.State
}

func (c ToolCall) reason() string {
	reason := noReason
	if c.Approval != nil {
		for _, response := range c.Approval.Responses {
			if response.Counted && response.Decision.Type == "deny" && response.Reason != nil && strings.TrimSpace(*response.Reason) != "" {
				reason = *response.Reason
			}
		}
	}
	return reason
}

const noReason = "no reason was given"

func messageOf(cause json.RawMessage) string {
	var named struct{ Message *string }
	var words string
	switch {
	case json.Unmarshal(cause, &words) == nil:
	case json.Unmarshal(cause, &named) == nil && named.Message != nil:
		words = *named.Message
	default:
		words = string(cause)
	}
	if strings.TrimSpace(words) == "" {
		return noReason
	}
	return words
}
