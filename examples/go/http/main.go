// Asks for approval over HTTP, waits, and runs what a person agreed to.
package main

import (
	"context"
	"log"
	"os"

	"countersign-example/agent"
	"countersign-example/countersign"
)

func main() {
	log.SetFlags(0)
	a, err := agent.Parse()
	if err != nil {
		log.Fatal(err)
	}
	ctx := context.Background()
	calls, err := a.Client.Request(ctx, a.Step)
	if err != nil {
		log.Fatal(agent.Explain(err))
	}
	for _, call := range calls {
		callID := call.CallID
		a.TellWaiting(call)
		a.Start(ctx, call.ToolCallID, func() (countersign.ToolCall, error) { return a.Client.WaitDecided(ctx, callID) })
	}
	os.Exit(a.Wait())
}
