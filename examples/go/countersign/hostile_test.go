package countersign

import (
	"context"
	"encoding/json"
	"errors"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

// serve starts a server for one test.
func serve(t *testing.T, answer http.HandlerFunc) *Client {
	server := httptest.NewServer(answer)
	t.Cleanup(server.Close)
	return &Client{URL: server.URL, AgentToken: "agent", WorkerToken: "worker", AgentID: "agent", Lease: time.Minute}
}

func TestARedirectGetsNeitherTheTokenNorTheArguments(t *testing.T) {
	followed := 0
	other := serve(t, func(http.ResponseWriter, *http.Request) { followed++ })
	for _, status := range []int{301, 302, 303, 307, 308} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("location", other.URL+"/v1/tool-calls")
			w.WriteHeader(status)
		})
		_, err := client.Request(soon(t), Step{RunID: "run", Calls: []Call{{ToolCallID: "c1"}}})
		refused(t, err, unreadable)
		_, err = client.Execute(soon(t), Call{}, ToolCall{CallID: "call", State: "approved"}, nil)
		refused(t, err, unreadable)
	}
	if followed != 0 {
		t.Errorf("%d redirects were followed", followed)
	}
}

func TestAnEndlessResponseIsNotReadToItsEnd(t *testing.T) {
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		part := make([]byte, 1<<20)
		for {
			if _, err := w.Write(part); err != nil {
				return
			}
		}
	})
	ctx, stop := context.WithTimeout(context.Background(), 20*time.Second)
	defer stop()
	_, err := client.WaitDecided(ctx, "call")
	refused(t, err, unreadable, "larger than 64 MiB")
}

func TestAResponseWithoutTheCallsOfTheStepIsAnError(t *testing.T) {
	for _, body := range []string{"null", "{}", `{"calls":[]}`, `{"calls":{}}`, "<html>", ""} {
		client := serve(t, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write([]byte(body)) })
		_, err := client.Request(soon(t), Step{RunID: "run", Calls: []Call{{ToolCallID: "c1"}}})
		refused(t, err, unreadable)
	}
}

func TestTheServerChoosesAWaitOfAMinuteAtMost(t *testing.T) {
	for header, wait := range map[string]time.Duration{
		"": 0, "3": 3 * time.Second, "-5": 0, "soon": 0, "86400": time.Minute, "9223372036854775807": time.Minute,
	} {
		if got := retryAfter(header); got != wait {
			t.Errorf("%q: %v", header, got)
		}
	}
}

func TestAReadThatIsAnsweredAtOnceIsNotRepeatedAtOnce(t *testing.T) {
	reads := 0
	client := serve(t, func(w http.ResponseWriter, _ *http.Request) {
		reads++
		_, _ = w.Write([]byte(`{"state":"awaiting_approval"}`))
	})
	ctx, stop := context.WithTimeout(context.Background(), 3*lookPause)
	defer stop()
	if _, err := client.WaitDecided(ctx, "call"); err == nil || reads > 4 {
		t.Errorf("%d reads, the error is %v", reads, err)
	}
}

// reporting returns what the ledger got behind a proxy that answers by itself, at first or to all that is long.
func reporting(t *testing.T, ctx context.Context, result outcome, proxy func(nth int, bytes int64) (int, string)) (recorded outcome, err error) {
	nth := 0
	client := serve(t, func(w http.ResponseWriter, r *http.Request) {
		nth++
		if status, page := proxy(nth, r.ContentLength); status != 0 {
			w.WriteHeader(status)
			_, _ = w.Write([]byte(page))
			return
		}
		_ = json.NewDecoder(r.Body).Decode(&recorded)
		_, _ = w.Write([]byte("{}"))
	})
	err = client.report(ctx, "/outcome", result)
	return recorded, err
}

func TestAReportReachesTheLedgerBehindTheAnswersOfAProxy(t *testing.T) {
	for status, page := range map[int]string{200: "<html>", 302: "", 404: "<html>", 403: "denied"} {
		recorded, err := reporting(t, soon(t), outcome{"attempt": 1, "status": "succeeded"}, func(nth int, _ int64) (int, string) {
			if nth > 1 {
				return 0, ""
			}
			return status, page
		})
		if err != nil || recorded["status"] != "succeeded" {
			t.Errorf("%d: recorded %v, the error is %v", status, recorded, err)
		}
	}
}

func TestASuccessIsReportedWithoutAnOutputThatAProxyRefuses(t *testing.T) {
	result := outcome{"attempt": 1, "status": "succeeded", "output": string(make([]byte, 10_000))}
	recorded, err := reporting(t, soon(t), result, func(_ int, bytes int64) (int, string) {
		if bytes > 10_000 {
			return 413, "<html>"
		}
		return 0, ""
	})
	if err != nil || recorded["status"] != "succeeded" {
		t.Errorf("recorded %v, the error is %v", recorded, err)
	}
}

func TestASuccessIsReportedAfterTheEndOfTheContext(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	recorded, err := reporting(t, ctx, outcome{"attempt": 1, "status": "succeeded"}, func(int, int64) (int, string) { return 0, "" })
	if err != nil || recorded["status"] != "succeeded" {
		t.Errorf("recorded %v, the error is %v", recorded, err)
	}
	ended, release := outlive(ctx, time.Millisecond)
	defer release()
	<-ended.Done()
	if !errors.Is(ended.Err(), context.Canceled) {
		t.Error(ended.Err())
	}
}
