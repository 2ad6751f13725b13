package countersign

import (
	"context"
	"strings"
	"testing"
	"time"
)

// Where nothing listens: a request that is sent is retried until the context ends.
const nowhere = "http://127.0.0.1:1"

func TestATokenThatCannotBeSentIsRefusedByItsNameAndWithoutItsText(t *testing.T) {
	for _, token := range []string{"", "secret\n", "sec ret", "sécret", "secret\x00"} {
		client := &Client{URL: nowhere, AgentToken: token, WorkerToken: "usable"}
		_, err := client.Request(soon(t), Step{})
		refused(t, err, "AgentToken is empty, or has a space", "Copy it again")
		client = &Client{URL: nowhere, AgentToken: "usable", WorkerToken: token}
		_, err = client.Execute(soon(t), Call{}, ToolCall{State: "approved"}, nil)
		refused(t, err, "WorkerToken is empty, or has a space", "Copy it again")
	}
}

func TestAnAddressWithoutItsSchemeIsRefused(t *testing.T) {
	for _, address := range []string{"127.0.0.1:7400", "localhost:7400", "ftp://localhost", "http:", ""} {
		client := &Client{URL: address, AgentToken: "usable"}
		_, err := client.Request(soon(t), Step{})
		refused(t, err, "must begin with http:// or https://")
	}
}

func soon(t *testing.T) context.Context {
	ctx, stop := context.WithTimeout(context.Background(), 2*time.Second)
	t.Cleanup(stop)
	return ctx
}

func refused(t *testing.T, err error, words ...string) {
	t.Helper()
	if err == nil {
		t.Fatal("it was sent")
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			t.Errorf("no %q in: %v", word, err)
		}
	}
	if strings.Contains(err.Error(), "cret") {
		t.Errorf("the error has the token: %v", err)
	}
}
