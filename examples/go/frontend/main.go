// A dialog of your own: the person who is signed in sees what they may decide, and answers. `go run ./frontend kim@example.com
// support`; COUNTERSIGN_TOKEN has role front-end.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"countersign-example/countersign"
)

func main() {
	if err := run(); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run() error {
	url := os.Getenv("COUNTERSIGN_URL")
	if url == "" {
		url = "http://127.0.0.1:7400"
	}
	if len(os.Args) < 2 {
		return errors.New("name the person, and the groups of the person")
	}
	// Of the session of your application, never of the request of a browser.
	user := countersign.Person{ID: os.Args[1], Groups: os.Args[2:]}
	ctx, stop := context.WithTimeout(context.Background(), time.Minute)
	defer stop()

	frontEnd := &countersign.FrontEnd{URL: url, Token: os.Getenv("COUNTERSIGN_TOKEN")}
	kim := frontEnd.As(user)
	approvals, err := kim.Approvals(ctx)
	if err != nil {
		return err
	}
	for _, approval := range approvals {
		answered, err := kim.Respond(ctx, approval.ApprovalID, countersign.Response{
			Decision:          countersign.Vote{Type: "approve"},
			ProposalDigest:    approval.Proposal.Digest,
			ShownDigest:       approval.ShownDigest,
			ShownOthersDigest: approval.ShownOthersDigest,
		})
		var refusal *countersign.Refusal
		if errors.As(err, &refusal) {
			fmt.Println(approval.ToolName, refusal.Code)
			continue
		}
		if err != nil {
			return err
		}
		fmt.Println(approval.ToolName, answered.State)
	}
	return nil
}
