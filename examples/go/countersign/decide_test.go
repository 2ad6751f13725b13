package countersign

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"
)

func noNewYork(_ context.Context, arguments json.RawMessage) (Decision, error) {
	switch text := string(arguments); {
	case strings.Contains(text, "New York"):
		return Decision{Deny: "no travel to New York"}, nil
	case strings.Contains(text, "Boston"):
		return Decision{Ask: true}, nil
	case strings.Contains(text, "error"):
		return Decision{Allow: true}, errors.New("offline")
	case strings.Contains(text, "panic"):
		panic("no such city")
	case strings.Contains(text, "nothing"):
		return Decision{}, nil
	}
	return Decision{Allow: true}, nil
}

func TestCodeAllowsAsksOrDeniesAndAsksWhenItFails(t *testing.T) {
	for city, expected := range map[string]Call{
		"Rome": {}, "Boston": {NeedsApproval: true}, "New York": {Deny: "no travel to New York"},
		"panic":   {NeedsApproval: true, Reason: "The check of travel failed (panic: no such city), so a person must agree."},
		"nothing": {NeedsApproval: true}, "error": {NeedsApproval: true, Reason: "The check of travel failed (offline), so a person must agree."},
	} {
		call := Call{ToolName: "travel", Arguments: json.RawMessage(`{"city":"` + city + `"}`), Decide: noNewYork}
		judged := call.Judged(context.Background())
		if judged.Deny != expected.Deny || judged.NeedsApproval != expected.NeedsApproval || judged.Reason != expected.Reason {
			t.Errorf("%s: %+v", city, judged)
		}
		call.NeedsApproval = true
		if judged := call.Judged(context.Background()); !judged.NeedsApproval || judged.Deny != expected.Deny {
			t.Errorf("%s with NeedsApproval: %+v", city, judged)
		}
	}
}

// edited executes a call to Boston that an approver edited to New York. The ledger answers its cancellation with this status.
func edited(t *testing.T, cancel int) (ToolCall, []string) {
	original, arguments := json.RawMessage(`{"city":"Boston"}`), json.RawMessage(`{"city":"New York"}`)
	salt := json.RawMessage(`"00"`)
	digest, err := digestOf(map[string]any{
		"tenant": "default", "agentId": "agent", "runId": "run", "toolCallId": "c1", "toolName": "travel",
		"toolSchemaHash": nil, "salt": salt, "arguments": arguments,
	})
	if err != nil {
		t.Fatal(err)
	}
	var sent []string
	end := map[string]any{"callId": "call", "state": "approved"}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		path := strings.TrimPrefix(r.URL.Path, "/v1/tool-calls/call")
		sent = append(sent, path)
		answer := func(status int, body any) {
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(body)
		}
		var body map[string]any
		_ = json.NewDecoder(r.Body).Decode(&body)
		switch path {
		case "/cancel":
			if cancel == http.StatusOK {
				end = map[string]any{"callId": "call", "state": "cancelled", "error": map[string]any{"message": body["reason"]}}
			}
			answer(cancel, Refusal{Code: "batch-begun"})
		case "/claim":
			answer(200, claim{Attempt: 1, Arguments: arguments, ActionDigest: digest, DigestInput: map[string]json.RawMessage{"tenant": json.RawMessage(`"default"`), "salt": salt}})
		case "/outcome":
			end = map[string]any{"callId": "call", "state": body["status"], "error": body["error"]}
			answer(200, struct{}{})
		default:
			answer(200, end)
		}
	}))
	defer server.Close()
	client := Client{URL: server.URL, AgentToken: "agent", WorkerToken: "worker", AgentID: "agent", Lease: time.Minute}
	asked := Call{ToolCallID: "c1", ToolName: "travel", Arguments: original, Decide: noNewYork}
	call := ToolCall{CallID: "call", RunID: "run", AgentID: "agent", ToolCallID: "c1", State: "approved", ActionDigest: digest, Arguments: arguments, OriginalArguments: original}
	settled, err := client.Execute(context.Background(), asked, call, func(context.Context, json.RawMessage, string) (any, error) {
		t.Error("the tool ran")
		return nil, nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return settled, sent
}

func TestAnEditIntoADeniedCallCancelsIt(t *testing.T) {
	settled, sent := edited(t, http.StatusOK)
	if settled.Text() != "The call was cancelled before it ran: no travel to New York" || strings.Join(sent, " ") != "/cancel " {
		t.Errorf("%s, sent %q", settled.Text(), sent)
	}
}

func TestWhereItCannotBeCancelledItFailsAfterItsClaim(t *testing.T) {
	settled, _ := edited(t, http.StatusConflict)
	if settled.Text() != "The tool failed: It did not run: no travel to New York" {
		t.Error(settled.Text())
	}
}

func TestADenialInCodeIsToldApartFromThePolicy(t *testing.T) {
	call := ToolCall{State: "blocked"}
	call.Verdict.Why = []string{"nothing else matches", "not this one"}
	if !strings.Contains(call.Text(), "The policy does not allow") {
		t.Error(call.Text())
	}
	call.Verdict.RuleID = deniedInCode
	if call.Text() != "The call was denied and did not run: not this one" {
		t.Error(call.Text())
	}
}
