package countersign

import (
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
	answered, err := kim.Respond(soon(t), id, press.Request)
	if err != nil || answered.State != "pending" {
		t.Fatalf("%+v %v", answered, err)
	}
}
