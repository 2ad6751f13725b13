// The agent that the conformance kit tries: npx countersign conformance --no-streaming --no-nested --no-forge -- examples/go/bin/conformance
package main

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"time"

	"countersign-example/countersign"
)

type start struct {
	URL, AgentToken, WorkerToken, AgentID, RunID, State string
	LeaseMs                                             int
	Turns                                               [][]countersign.Call
}

var (
	lines = bufio.NewReader(os.Stdin)
	ctx   = context.Background()
)

func main() {
	var kit start
	event, err := map[string]any(nil), read(&kit)
	if err == nil {
		event, err = kit.play()
	}
	if err != nil {
		event = map[string]any{"event": "failed", "message": err.Error()}
	}
	print(event)
	if err != nil {
		os.Exit(1)
	}
}

// play goes through the turns of the model from the beginning. The ledger has the results of the calls behind the gate; the
// state has those of the others, so that they run once.
func (s start) play() (map[string]any, error) {
	client := &countersign.Client{
		URL: s.URL, AgentToken: s.AgentToken, WorkerToken: s.WorkerToken, AgentID: s.AgentID,
		Lease: time.Duration(s.LeaseMs) * time.Millisecond,
	}
	told := map[string]string{}
	if s.State != "" {
		if err := json.Unmarshal([]byte(s.State), &told); err != nil {
			return nil, err
		}
	}
	for _, turn := range s.Turns {
		var gated []countersign.Call
		for _, call := range turn {
			if call.ToolName == "refund" {
				call.NeedsApproval = true
				gated = append(gated, call)
			} else if _, known := told[call.ToolCallID]; !known {
				output, err := body(call.ToolName, call.ToolCallID, call.Arguments)
				if err != nil {
					return nil, err
				}
				told[call.ToolCallID] = string(output)
			}
		}
		if len(gated) == 0 {
			continue
		}
		calls, err := client.Request(ctx, countersign.Step{RunID: s.RunID, AgentID: s.AgentID, Calls: gated})
		if err != nil {
			return nil, err
		}
		waiting := false
		for i, call := range calls {
			asked := gated[i]
			if !call.Decided() {
				waiting = true
				continue
			}
			tool := func(_ context.Context, arguments json.RawMessage, _ string) (any, error) {
				return body(asked.ToolName, asked.ToolCallID, arguments)
			}
			settled, err := client.Execute(ctx, asked, call, tool)
			if err != nil {
				return nil, err
			}
			told[asked.ToolCallID] = settled.Text()
		}
		if waiting {
			state, err := json.Marshal(told)
			return map[string]any{"event": "paused", "state": string(state)}, err
		}
	}
	return map[string]any{"event": "finished", "told": told, "final": "done"}, nil
}

// body is the body of a tool: the kit says what it returns.
func body(toolName, toolCallID string, arguments json.RawMessage) (json.RawMessage, error) {
	print(map[string]any{"event": "tool", "toolName": toolName, "toolCallId": toolCallID, "arguments": arguments})
	var reply struct{ Output json.RawMessage }
	err := read(&reply)
	return reply.Output, err
}

func read(into any) error {
	line, err := lines.ReadBytes('\n')
	if err != nil {
		return err
	}
	return json.Unmarshal(line, into)
}

func print(event map[string]any) {
	line, err := json.Marshal(event)
	if err != nil {
		panic(err)
	}
	fmt.Println(string(line))
}
