// Package countersign has the part of Countersign's HTTP API that an agent needs.
package countersign

import (
	"bytes"
	"context"
	"crypto/rand"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"
)

// Client asks for approval and runs what was approved, in the name of one agent.
type Client struct {
	URL string
	// AgentToken has role agent: it requests. WorkerToken has role resolver: it claims and reports.
	AgentToken, WorkerToken string
	AgentID                 string
	// Lease is how long a claim lasts without a renewal.
	Lease time.Duration
}

// Call is one tool call as the model proposed it. The ledger reads Arguments; they must be a JSON object.
type Call struct {
	ToolCallID    string          `json:"toolCallId"`
	ToolName      string          `json:"toolName"`
	Arguments     json.RawMessage `json:"arguments"`
	NeedsApproval bool            `json:"needsApproval,omitempty"`
	// Deny is the reason for which the code of the agent denies the call: it is recorded as blocked, and no person is asked.
	Deny string `json:"deny,omitempty"`
	// Reason tells people why they are asked.
	Reason      string `json:"reason,omitempty"`
	Description string `json:"description,omitempty"`
	// ToolSchema is the JSON Schema of the arguments. The ledger refuses an edit that does not match it.
	ToolSchema json.RawMessage `json:"toolSchema,omitempty"`
	// Decide is asked again before the call runs, as an approver may have edited it. Nil: no code decides.
	Decide Decide `json:"-"`
}

// Step has the calls of one model step.
type Step struct {
	RunID   string `json:"runId"`
	AgentID string `json:"agentId"`
	Calls   []Call `json:"calls"`
}

// ToolCall is what the ledger knows of a call.
type ToolCall struct {
	CallID            string          `json:"callId"`
	RunID             string          `json:"runId"`
	AgentID           string          `json:"agentId"`
	ToolCallID        string          `json:"toolCallId"`
	ToolName          string          `json:"toolName"`
	Arguments         json.RawMessage `json:"arguments"`
	OriginalArguments json.RawMessage `json:"originalArguments"`
	ActionDigest      string          `json:"actionDigest"`
	State             string          `json:"state"`
	Output            json.RawMessage `json:"output"`
	Error             json.RawMessage `json:"error"`
	Instruction       *string         `json:"instruction"`
	Verdict           struct {
		RuleID string   `json:"ruleId"`
		Why    []string `json:"why"`
		// GrantID is the standing grant of a person that allowed the call.
		GrantID *string `json:"grantId"`
	} `json:"verdict"`
	Approval *struct {
		ApprovalID string `json:"approvalId"`
		Proposal   struct {
			Kind string `json:"kind"`
		} `json:"proposal"`
		Responses []struct {
			Decision struct {
				Type string `json:"type"`
			} `json:"decision"`
			Reason  *string `json:"reason"`
			Counted bool    `json:"counted"`
		} `json:"responses"`
	} `json:"approval"`
}

// Decided: no person is asked any more.
func (c ToolCall) Decided() bool { return c.State != "awaiting_approval" }

// MayRun: a worker can claim it.
func (c ToolCall) MayRun() bool { return c.State == "allowed" || c.State == "approved" }

// Refusal is a "no" of the ledger, with its stable code.
type Refusal struct {
	Status int    `json:"status"`
	Code   string `json:"code"`
	Detail string `json:"detail"`
}

func (r *Refusal) Error() string { return fmt.Sprintf("%s: %s", r.Code, r.Detail) }

// CheckURL returns an error for an address that has no scheme: Go's own error would name a colon.
func CheckURL(address string) error {
	parsed, err := url.Parse(address)
	if err != nil || (parsed.Scheme != "http" && parsed.Scheme != "https") || parsed.Host == "" {
		return fmt.Errorf("%q is not the address of a server: it must begin with http:// or https://, such as http://127.0.0.1:7400", address)
	}
	return nil
}

// CheckToken returns an error for a token that no request can have. The error has its name and never its text.
func CheckToken(name, token string) error {
	unusable := func(r rune) bool { return r < '!' || r > '~' }
	if token == "" || strings.IndexFunc(token, unusable) >= 0 {
		return fmt.Errorf("%s is empty, or has a space, a line end or another character that no token has. Copy it again, without anything around it", name)
	}
	return nil
}

// Reach returns an error when nothing answers at the address. All other requests are retried until their context ends.
func (c *Client) Reach(ctx context.Context) error {
	bounded, stop := context.WithTimeout(ctx, 5*time.Second)
	defer stop()
	request, err := http.NewRequestWithContext(bounded, "GET", c.URL+"/healthz", http.NoBody)
	if err != nil {
		return err
	}
	response, err := do(request)
	if err != nil {
		return err
	}
	return response.Body.Close()
}

// EncodedError: the server compressed its response, although the request forbade it.
type EncodedError struct{ Encoding string }

func (e *EncodedError) Error() string {
	return fmt.Sprintf("the server sent a response with content-encoding %q to a request with accept-encoding identity, and it was not read. Turn compression off in the server or the proxy in front of it", e.Encoding)
}

// The longest time from a request to the end of its response. A read waits for people for 50 seconds of it.
const answerWithin = 60 * time.Second

// A redirect is not followed: net/http would send the token on to another port or a subdomain, and the arguments to any
// server.
var transport = &http.Client{
	Timeout:       answerWithin,
	CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
}

// do asks for a response without compression, which switches the decoder of net/http off, and refuses another one.
func do(request *http.Request) (*http.Response, error) {
	request.Header.Set("accept-encoding", "identity")
	response, err := transport.Do(request)
	if err != nil {
		return nil, err
	}
	encoding := strings.Join(response.Header.Values("content-encoding"), ", ")
	for _, each := range strings.Split(encoding, ",") {
		if each = strings.ToLower(strings.TrimSpace(each)); each != "" && each != "identity" {
			response.Body.Close()
			return nil, &EncodedError{encoding}
		}
	}
	return response, nil
}

// Request requests the calls of a step. The same step again is the same request, so a retry is harmless.
func (c *Client) Request(ctx context.Context, step Step) ([]ToolCall, error) {
	var answer struct{ Calls []ToolCall }
	err := c.send(ctx, "POST", "/v1/tool-calls", c.AgentToken, nil, step, &answer)
	if err == nil && len(answer.Calls) != len(step.Calls) {
		err = &Refusal{Status: http.StatusOK, Code: unreadable, Detail: "the response does not have the calls of the step"}
	}
	return answer.Calls, err
}

// How long a read may wait for a position. The ledger gives up after 2 seconds.
const positionWait = 5 * time.Second

// Run returns the calls of a run. A read with the position of an event is not older than that event. A forged event can name
// a position that the log never reaches: then the read is made without it.
func (c *Client) Run(ctx context.Context, runID, position string) ([]ToolCall, error) {
	var answer struct{ Calls []ToolCall }
	path := "/v1/runs/" + url.PathEscape(runID)
	if position != "" {
		headers := map[string]string{"Countersign-Position": position}
		bounded, stop := context.WithTimeout(ctx, positionWait)
		defer stop()
		if c.send(bounded, "GET", path, c.AgentToken, headers, nil, &answer) == nil {
			return answer.Calls, nil
		}
	}
	err := c.send(ctx, "GET", path, c.AgentToken, nil, nil, &answer)
	return answer.Calls, err
}

// WaitDecided waits until no person is asked any more: decided, expired or cancelled. It holds one request open.
func (c *Client) WaitDecided(ctx context.Context, callID string) (ToolCall, error) {
	return c.wait(ctx, callID, "decided", ToolCall.Decided)
}

// WaitSettled waits until the call has a result, also when another process runs it.
func (c *Client) WaitSettled(ctx context.Context, callID string) (ToolCall, error) {
	settled := func(call ToolCall) bool { return call.Decided() && !call.MayRun() && call.State != "executing" }
	return c.wait(ctx, callID, "settled", settled)
}

// How long to wait between two reads at least. The ledger waits by itself; a proxy in front of it may answer at once.
const lookPause = 200 * time.Millisecond

func (c *Client) wait(ctx context.Context, callID, until string, reached func(ToolCall) bool) (ToolCall, error) {
	path := "/v1/tool-calls/" + callID + "?waitMs=50000&until=" + until
	for {
		var call ToolCall
		if err := c.send(ctx, "GET", path, c.AgentToken, nil, nil, &call); err != nil || reached(call) {
			return call, err
		}
		select {
		case <-ctx.Done():
			return call, ctx.Err()
		case <-time.After(lookPause):
		}
	}
}

// send retries while the ledger is away or busy, until the context ends. The ledger recognises a repeated POST by its key.
func (c *Client) send(ctx context.Context, method, path, token string, headers map[string]string, body, answer any) error {
	if err := c.check(token); err != nil {
		return err
	}
	sent, err := json.Marshal(body)
	if err != nil {
		return err
	}
	key := newID()
	for delay := 100 * time.Millisecond; ; delay = min(2*delay, 5*time.Second) {
		request, err := http.NewRequestWithContext(ctx, method, c.URL+path, bytes.NewReader(sent))
		if err != nil {
			return err
		}
		request.Header.Set("authorization", "Bearer "+token)
		for name, value := range headers {
			if value != "" {
				request.Header.Set(name, value)
			}
		}
		if method == "POST" {
			request.Header.Set("content-type", "application/json")
			if headers["idempotency-key"] == "" {
				request.Header.Set("idempotency-key", key)
			}
		} else {
			request.Body = http.NoBody
			request.ContentLength = 0
		}
		after, err := once(request, answer)
		if err == nil || after < 0 {
			return err
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%w; the last try: %v", ctx.Err(), err)
		case <-time.After(max(delay, after)):
		}
	}
}

// check returns an error for a request that no retry can help to leave.
func (c *Client) check(token string) error {
	if err := CheckURL(c.URL); err != nil {
		return err
	}
	name := "WorkerToken"
	if token == c.AgentToken {
		name = "AgentToken"
	}
	return CheckToken(name, token)
}

// The largest response that is read.
const answerBytesMax = 64 << 20

// The longest wait before the next try, also when the server asks for more.
const retryAfterMax = time.Minute

// unreadable is the code of a response that is not the ledger's, such as the page of a proxy.
const unreadable = "unreadable-answer"

const tooLarge = "payload-too-large"

// once returns how long to wait at least before the next try; below zero means that no retry can help.
func once(request *http.Request, answer any) (time.Duration, error) {
	response, err := do(request)
	var encoded *EncodedError
	if errors.As(err, &encoded) {
		return -1, err
	}
	if err != nil {
		return 0, err
	}
	defer response.Body.Close()
	received, err := io.ReadAll(io.LimitReader(response.Body, answerBytesMax+1))
	if err != nil {
		return 0, err
	}
	if len(received) > answerBytesMax {
		return -1, &Refusal{Status: response.StatusCode, Code: unreadable, Detail: "the response is larger than 64 MiB"}
	}
	if response.StatusCode < 300 {
		if err := json.Unmarshal(received, answer); err != nil {
			return -1, &Refusal{Status: response.StatusCode, Code: unreadable, Detail: err.Error()}
		}
		return -1, nil
	}
	refusal := refusalOf(response, received)
	if refusal.Status < 500 && refusal.Status != http.StatusTooManyRequests {
		return -1, refusal
	}
	return retryAfter(response.Header.Get("retry-after")), refusal
}

// refusalOf reads the problem of a response. A proxy that takes no body of this size says so without one.
func refusalOf(response *http.Response, received []byte) *Refusal {
	refusal := &Refusal{}
	if json.Unmarshal(received, refusal) != nil || refusal.Code == "" {
		refusal = &Refusal{Code: unreadable, Detail: response.Status}
		if response.StatusCode == http.StatusRequestEntityTooLarge {
			refusal.Code = tooLarge
		}
	}
	refusal.Status = response.StatusCode
	return refusal
}

func retryAfter(header string) time.Duration {
	seconds, err := strconv.Atoi(header)
	if err != nil || seconds < 0 {
		return 0
	}
	return time.Duration(min(seconds, int(retryAfterMax/time.Second))) * time.Second
}

func newID() string {
	id := make([]byte, 16)
	if _, err := rand.Read(id); err != nil {
		panic(err)
	}
	return hex.EncodeToString(id)
}

func min[T int | time.Duration](a, b T) T {
	if a < b {
		return a
	}
	return b
}

func max(a, b time.Duration) time.Duration { return -min(-a, -b) }
