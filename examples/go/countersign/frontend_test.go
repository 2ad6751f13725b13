package countersign

import (
	"errors"
	"os"
	"strings"
	"testing"
)

// It needs a server: COUNTERSIGN_URL, COUNTERSIGN_TOKEN of a front end, and APPROVAL, which waits and has a value that is hidden.
func TestAPersonOfAFrontEndReadsRevealsAndGetsACard(t *testing.T) {
	url, id := os.Getenv("COUNTERSIGN_URL"), os.Getenv("APPROVAL")
	if url == "" || id == "" {
		t.Skip("no server")
	}
	kim := (&FrontEnd{URL: url, Token: os.Getenv("COUNTERSIGN_TOKEN")}).As(Person{ID: "kim", Groups: []string{"support"}})
	approval, err := kim.Approval(soon(t), id)
	if err != nil || approval.ApprovalID != id || strings.Contains(string(approval.Arguments), "hunter2") {
		t.Fatalf("%+v %v", approval, err)
	}
	revealed, err := kim.Reveal(soon(t), id)
	if err != nil || !strings.Contains(string(revealed.Arguments), "hunter2") || revealed.Output != nil {
		t.Fatalf("%+v %v", revealed, err)
	}
	card, err := kim.Card(soon(t), id, "telegram")
	if err != nil || !card.MayDecide.Now || len(card.Presses) != 2 || len(card.Presses[0].Value) > 64 {
		t.Fatalf("%+v %v", card, err)
	}
	press := card.Presses[0]
	if press.Decision != "approve" || press.Request.ShownDigest != approval.ShownDigest || !strings.Contains(string(card.Card), approval.ToolName) {
		t.Fatalf("%+v", card)
	}
	if press.Request.ShownRevision != approval.ShownRevision || card.Presses[1].Request.ShownRevision != 0 {
		t.Fatalf("%+v", card.Presses)
	}
	press.Request.Key = "telegram-1"
	for try := 0; try < 2; try++ {
		answered, err := kim.Respond(soon(t), id, press.Request)
		if err != nil || answered.State != "pending" {
			t.Fatalf("%+v %v", answered, err)
		}
	}
	if _, err := kim.Withdraw(soon(t), id); err != nil {
		t.Fatal(err)
	}
	var refusal *Refusal
	if _, err := kim.Respond(soon(t), id, press.Request); !errors.As(err, &refusal) {
		t.Fatalf("a press that is delivered again after a withdrawal: %v", err)
	}
}
