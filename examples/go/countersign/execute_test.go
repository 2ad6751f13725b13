package countersign

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

// ledger plays the parts of a ledger that a real one cannot be made to play on demand: a slow or lost claim.
type ledger struct {
	t            *testing.T
	lease        time.Duration
	claimTakes   time.Duration
	renewStatus  int
	refuseOutput bool
	reports      []map[string]any
}

func (l *ledger) execute(tool Tool) ToolCall {
	salt, arguments := json.RawMessage(`"00"`), json.RawMessage(`{"to":"ada"}`)
	digest, err := digestOf(map[string]any{
		"tenant": "default", "agentId": "agent", "runId": "run", "toolCallId": "c1", "toolName": "send_mail",
		"toolSchemaHash": nil, "salt": salt, "arguments": arguments,
	})
	if err != nil {
		l.t.Fatal(err)
	}
	call := ToolCall{CallID: "call", RunID: "run", AgentID: "agent", ToolCallID: "c1", State: "allowed", ActionDigest: digest}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		answer := func(status int, body any) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		}
		switch {
		case strings.HasSuffix(r.URL.Path, "/claim"):
			time.Sleep(l.claimTakes)
			answer(200, claim{Attempt: 1, Arguments: arguments, ActionDigest: digest, DigestInput: map[string]json.RawMessage{"tenant": json.RawMessage(`"default"`), "salt": salt}})
		case strings.HasSuffix(r.URL.Path, "/renew"):
			answer(l.renewStatus, Refusal{Code: "stale-claim"})
		case strings.HasSuffix(r.URL.Path, "/outcome"):
			var report map[string]any
			_ = json.NewDecoder(r.Body).Decode(&report)
			l.reports = append(l.reports, report)
			if l.refuseOutput && len(l.reports) == 1 {
				answer(413, Refusal{Code: "payload-too-large"})
				return
			}
			answer(200, struct{}{})
		default:
			state := "unknown"
			if len(l.reports) > 0 {
				state = l.reports[len(l.reports)-1]["status"].(string)
			}
			answer(200, map[string]any{"callId": "call", "state": state})
		}
	}))
	defer server.Close()
	client := Client{URL: server.URL, AgentToken: "agent", WorkerToken: "worker", AgentID: "agent", Lease: l.lease}
	settled, err := client.Execute(context.Background(), Call{ToolCallID: "c1", ToolName: "send_mail", Arguments: arguments}, call, tool)
	if err != nil {
		l.t.Fatal(err)
	}
	return settled
}

func TestAToolThatStopsBecauseItsClaimIsLostHasNoKnownOutcome(t *testing.T) {
	l := &ledger{t: t, lease: 30 * time.Millisecond, renewStatus: 409}
	settled := l.execute(func(ctx context.Context, _ json.RawMessage, _ string) (any, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	})
	if settled.State != "unknown" || len(l.reports) != 0 {
		t.Fatalf("%s, reported %v", settled.State, l.reports)
	}
}

func TestAClaimWhoseAnswerCameAfterItsLeaseRunsNothing(t *testing.T) {
	l := &ledger{t: t, lease: 30 * time.Millisecond, claimTakes: 60 * time.Millisecond, renewStatus: 409}
	l.execute(func(context.Context, json.RawMessage, string) (any, error) {
		t.Error("the tool ran")
		return nil, nil
	})
}

func TestACallThatWasAllowedWithoutTheApprovalThatItNeedsWaitsForPeople(t *testing.T) {
	grant := "gr_1"
	for _, grantID := range []*string{nil, &grant} {
		claims, questions := 0, 0
		client := serve(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case strings.HasSuffix(r.URL.Path, "/approvals"):
				questions++
			case strings.HasSuffix(r.URL.Path, "/claim"):
				claims++
			}
			_, _ = w.Write([]byte(`{"callId":"call","state":"denied"}`))
		})
		call := ToolCall{CallID: "call", State: "allowed"}
		call.Verdict.GrantID = grantID
		settled, err := client.Execute(soon(t), Call{NeedsApproval: true}, call, nil)
		if wanted := [2]int{1, 0}; grantID == nil && ([2]int{questions, claims} != wanted || settled.State != "denied") {
			t.Errorf("%d questions, %d claims, %s, the error is %v", questions, claims, settled.State, err)
		}
		if wanted := [2]int{0, 1}; grantID != nil && [2]int{questions, claims} != wanted {
			t.Errorf("%d questions, %d claims under a grant", questions, claims)
		}
	}
}

func TestACallThatStaysAllowedWithoutItsApprovalDoesNotRun(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		if strings.HasSuffix(r.URL.Path, "/claim") {
			t.Error("it was claimed")
		}
		_, _ = w.Write([]byte(`{"callId":"call","state":"allowed"}`))
	})
	_, err := client.Execute(soon(t), Call{NeedsApproval: true}, ToolCall{CallID: "call", State: "allowed"}, nil)
	refused(t, err, "people cannot be asked")
}

func TestASuccessIsReportedWithEachOutput(t *testing.T) {
	for name, output := range map[string]any{"none": nil, "no JSON": math.NaN(), "refused": "x"} {
		l := &ledger{t: t, lease: time.Minute, refuseOutput: name == "refused"}
		l.execute(func(context.Context, json.RawMessage, string) (any, error) { return output, nil })
		last := l.reports[len(l.reports)-1]
		if _, has := last["output"]; !has || last["status"] != "succeeded" {
			t.Errorf("%s: reported %v", name, last)
		}
		if name != "none" && last["output"].(map[string]any)["unrecorded"] == nil {
			t.Errorf("%s: reported %v", name, last)
		}
	}
}

func TestAnErrorThatIsRefusedIsReportedAsAFailure(t *testing.T) {
	l := &ledger{t: t, lease: time.Minute, refuseOutput: true}
	settled := l.execute(func(context.Context, json.RawMessage, string) (any, error) { return nil, errors.New("long") })
	if settled.State != "failed" || len(l.reports) != 2 {
		t.Fatalf("%s, reported %v", settled.State, l.reports)
	}
}

func TestTheModelHearsThatAPersonAnswered(t *testing.T) {
	var call ToolCall
	text := `{"state":"succeeded","output":"yes","approval":{"proposal":{"kind":"answer"},"responses":[` +
		`{"decision":{"type":"answer"},"counted":true},{"decision":{"type":"approve"},"counted":true}]}}`
	if err := json.Unmarshal([]byte(text), &call); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(call.Text(), "the tool did not run") {
		t.Fatal(call.Text())
	}
}

func TestTheModelHearsTheReasonOfADenialThatCounts(t *testing.T) {
	var call ToolCall
	text := `{"state":"denied","approval":{"responses":[{"decision":{"type":"deny"},"reason":"not today","counted":true},` +
		`{"decision":{"type":"deny"},"reason":"void","counted":false}]}}`
	if err := json.Unmarshal([]byte(text), &call); err != nil {
		t.Fatal(err)
	}
	if !strings.HasSuffix(call.Text(), "not today") {
		t.Fatal(call.Text())
	}
	for _, end := range []string{
		`{"state":"cancelled","error":null}`,
		`{"state":"failed","error":{"message":" "}}`,
		`{"state":"failed","error":""}`,
		`{"state":"denied","approval":{"responses":[{"decision":{"type":"deny"},"reason":" ","counted":true}]}}`,
	} {
		var call ToolCall
		if err := json.Unmarshal([]byte(end), &call); err != nil {
			t.Fatal(err)
		}
		if !strings.HasSuffix(call.Text(), ": no reason was given") {
			t.Fatal(call.Text())
		}
	}
}
