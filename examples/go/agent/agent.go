// Package agent is the agent of both examples: a model step that sends mails, and the tool that does it.
package agent

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"log"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"countersign-example/countersign"
)

const toolName = "send_mail"

var toolSchema = json.RawMessage(`{"type":"object","properties":{"to":{"type":"string"}},"required":["to"],"additionalProperties":false}`)

// Agent has the settings of the command line.
type Agent struct {
	Client countersign.Client
	Step   countersign.Step

	told    map[string]bool
	outbox  string
	takes   time.Duration
	running sync.WaitGroup
	failed  atomic.Bool
}

// Parse reads the command line and the tokens. COUNTERSIGN_TOKEN and COUNTERSIGN_RESOLVER_TOKEN come first; a token whose
// variable is not set comes from the tokens file of a first start.
func Parse() (*Agent, error) {
	address := flag.String("url", envOr("COUNTERSIGN_URL", "http://127.0.0.1:7400"), "the address of Countersign")
	data := envOr("COUNTERSIGN_DATA", filepath.Join("..", "..", "data"))
	tokens := flag.String("tokens", filepath.Join(data, "tokens.json"), "the tokens file, for each of COUNTERSIGN_TOKEN and COUNTERSIGN_RESOLVER_TOKEN that is not set")
	name := flag.String("agent", "go-agent", "the id of this agent")
	run := flag.String("run", "", "the id of the run; the same one again goes on with it")
	lease := flag.Duration("lease", time.Minute, "how long a claim lasts without a renewal")
	outbox := flag.String("outbox", "outbox.txt", "the file that stands for the mail server")
	takes := flag.Duration("takes", 0, "how long a mail takes to send")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: go run . -run ID [options] ADDRESS…")
		flag.PrintDefaults()
	}
	flag.Parse()
	if *run == "" || flag.NArg() == 0 {
		flag.Usage()
		os.Exit(2)
	}
	if err := countersign.CheckURL(*address); err != nil {
		return nil, fmt.Errorf("-url or COUNTERSIGN_URL: %w", err)
	}
	asking, err := tokenOf("COUNTERSIGN_TOKEN", "agent", *tokens)
	if err != nil {
		return nil, err
	}
	working, err := tokenOf("COUNTERSIGN_RESOLVER_TOKEN", "worker", *tokens)
	if err != nil {
		return nil, err
	}
	url := strings.TrimRight(*address, "/")
	client := countersign.Client{URL: url, AgentToken: asking, WorkerToken: working, AgentID: *name, Lease: *lease}
	if err := client.Reach(context.Background()); err != nil {
		return nil, fmt.Errorf("no response from Countersign: %w. Start it with `npm start`, or name its address with -url", err)
	}
	step := countersign.Step{RunID: *run, AgentID: *name, Calls: callsFor(flag.Args())}
	return &Agent{Client: client, Step: step, told: map[string]bool{}, outbox: *outbox, takes: *takes}, nil
}

// callsFor stands for the model. A mail to a colleague needs no approval, unless the policy of the server is stricter.
func callsFor(addresses []string) []countersign.Call {
	calls := make([]countersign.Call, len(addresses))
	for i, to := range addresses {
		arguments, _ := json.Marshal(map[string]string{"to": to})
		calls[i] = countersign.Call{
			ToolCallID: fmt.Sprintf("call_%d", i+1), ToolName: toolName, Arguments: arguments, ToolSchema: toolSchema,
			NeedsApproval: !strings.HasSuffix(to, "@example.com"), Description: "Send a mail to " + to, Decide: decide,
		}
		calls[i] = calls[i].Judged(context.Background())
	}
	return calls
}

// decide denies mails to addresses that receive none: no person is asked about them, and the model gets the reason.
func decide(_ context.Context, arguments json.RawMessage) (countersign.Decision, error) {
	var mail struct{ To string }
	if err := json.Unmarshal(arguments, &mail); err != nil {
		return countersign.Decision{}, err
	}
	if strings.HasPrefix(mail.To, "noreply@") {
		return countersign.Decision{Deny: "a noreply address receives no mails"}, nil
	}
	return countersign.Decision{Allow: true}, nil
}

// TellWaiting prints, once for each call that waits for a person, where people decide.
func (a *Agent) TellWaiting(call countersign.ToolCall) {
	if call.State != "awaiting_approval" || call.Approval == nil || a.told[call.CallID] {
		return
	}
	a.told[call.CallID] = true
	log.Printf("%s waits for a person: %s/approvals/%s", call.ToolCallID, a.Client.URL, call.Approval.ApprovalID)
}

// Start waits until a call of the step is decided, runs it if it may run, and prints its result as one line of JSON. It
// returns at once: a call that waits for people holds up no other.
func (a *Agent) Start(ctx context.Context, toolCallID string, decided func() (countersign.ToolCall, error)) {
	a.running.Add(1)
	go func() {
		defer a.running.Done()
		call, err := decided()
		if err == nil {
			call, err = a.Client.Execute(ctx, a.asked(toolCallID), call, a.send)
		}
		if err != nil {
			log.Printf("%s: %s", toolCallID, Explain(err))
			a.failed.Store(true)
			return
		}
		line, _ := json.Marshal(map[string]string{"toolCallId": toolCallID, "state": call.State, "text": call.Text()})
		fmt.Println(string(line))
	}()
}

// Wait waits for all that was started, and returns the exit code.
func (a *Agent) Wait() int {
	a.running.Wait()
	if a.failed.Load() {
		return 1
	}
	return 0
}

// Asks reports whether the step has this call. A run may have more steps.
func (a *Agent) Asks(toolCallID string) bool { return a.asked(toolCallID).ToolCallID != "" }

func (a *Agent) asked(toolCallID string) countersign.Call {
	for _, call := range a.Step.Calls {
		if call.ToolCallID == toolCallID {
			return call
		}
	}
	return countersign.Call{}
}

// send is the tool. A real one hands the idempotency key to its mail server, so that a second attempt sends no second mail.
func (a *Agent) send(ctx context.Context, arguments json.RawMessage, idempotencyKey string) (any, error) {
	var mail struct{ To string }
	if err := json.Unmarshal(arguments, &mail); err != nil {
		return nil, err
	}
	file, err := os.OpenFile(a.outbox, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	if _, err := fmt.Fprintln(file, mail.To); err != nil {
		return nil, err
	}
	select {
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-time.After(a.takes):
		return map[string]string{"sentTo": mail.To}, nil
	}
}

// tokenOf returns the token of a variable, or that of a principal in the tokens file where the variable is not set.
func tokenOf(variable, principal, file string) (string, error) {
	if given := os.Getenv(variable); given != "" {
		return given, countersign.CheckToken(variable, given)
	}
	if absolute, err := filepath.Abs(file); err == nil {
		file = absolute
	}
	remedy := fmt.Sprintf("Set %s, set COUNTERSIGN_DATA to the data folder of the server, or name its tokens file with -tokens", variable)
	content, err := os.ReadFile(file)
	if err != nil {
		return "", fmt.Errorf("%s is not set, and there are no tokens: %w. %s", variable, err, remedy)
	}
	var entries []struct{ Token, Principal string }
	if err := json.Unmarshal(content, &entries); err != nil {
		return "", fmt.Errorf("%s is not set, and %s is no tokens file: %w. %s", variable, file, err, remedy)
	}
	for _, entry := range entries {
		if entry.Principal == principal {
			return entry.Token, countersign.CheckToken(fmt.Sprintf("the token of %q in %s", principal, file), entry.Token)
		}
	}
	return "", fmt.Errorf("%s is not set, and %s has no token of %q. %s", variable, file, principal, remedy)
}

// Explain returns an error with its remedy, where the example knows one.
func Explain(err error) string {
	var refusal *countersign.Refusal
	if !errors.As(err, &refusal) {
		return err.Error()
	}
	switch refusal.Code {
	case "unauthenticated":
		return err.Error() + ". Set COUNTERSIGN_TOKEN and COUNTERSIGN_RESOLVER_TOKEN to tokens of this server, or unset both and set COUNTERSIGN_DATA to its data folder"
	case "forbidden":
		return err.Error() + ". Set COUNTERSIGN_TOKEN to a token of role agent, and COUNTERSIGN_RESOLVER_TOKEN to one of role resolver"
	case "tool-call-mismatch":
		return err.Error() + " Or start a new run with -run"
	default:
		return err.Error()
	}
}

func envOr(name, otherwise string) string {
	if value := os.Getenv(name); value != "" {
		return value
	}
	return otherwise
}
