package countersign

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"
)

func TestAPositionThatIsNoneCostsOneRead(t *testing.T) {
	for _, position := range []string{"later", "99999999999999999999", "1\n2"} {
		client := serve(t, func(response http.ResponseWriter, request *http.Request) {
			if request.Header.Get("Countersign-Position") != "" {
				response.WriteHeader(http.StatusBadRequest)
				_, _ = response.Write([]byte(`{"code":"invalid-request"}`))
				return
			}
			_, _ = response.Write([]byte(`{"calls":[{"toolCallId":"call_1"}]}`))
		})
		calls, err := client.Run(context.Background(), "run", position)
		if err != nil || len(calls) != 1 {
			t.Errorf("%q: the calls are %v, the error is %v", position, calls, err)
		}
	}
}

func TestAPositionThatTheLogNeverReachesCostsOneRead(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(response http.ResponseWriter, request *http.Request) {
		if request.Header.Get("Countersign-Position") != "" {
			response.WriteHeader(http.StatusServiceUnavailable)
			_, _ = response.Write([]byte(`{"code":"unavailable"}`))
			return
		}
		_, _ = response.Write([]byte(`{"calls":[{"toolCallId":"call_1"}]}`))
	}))
	defer server.Close()
	ctx, stop := context.WithTimeout(context.Background(), 2*positionWait)
	defer stop()
	started := time.Now()
	client := &Client{URL: server.URL, AgentToken: "usable"}
	calls, err := client.Run(ctx, "run", "9007199254740990")
	if err != nil || len(calls) != 1 {
		t.Fatalf("the calls are %v, the error is %v", calls, err)
	}
	if waited := time.Since(started); waited > positionWait+time.Second {
		t.Errorf("it waited %v", waited)
	}
}
