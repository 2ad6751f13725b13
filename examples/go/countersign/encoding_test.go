package countersign

import (
	"bytes"
	"compress/gzip"
	"net/http"
	"net/http/httptest"
	"testing"
)

// answerWith returns the error of a read from a server that compresses although it was asked not to, and counts the requests.
func answerWith(t *testing.T, encodings ...string) (error, int) {
	requests := 0
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		requests++
		if asked := r.Header.Values("accept-encoding"); len(asked) != 1 || asked[0] != "identity" {
			t.Errorf("accept-encoding is %q", asked)
		}
		w.Header()["Content-Encoding"] = encodings
		body := []byte("{}")
		if len(encodings) > 0 && encodings[0] != "identity" {
			packed := &bytes.Buffer{}
			writer := gzip.NewWriter(packed)
			_, _ = writer.Write(body)
			_ = writer.Close()
			body = packed.Bytes()
		}
		_, _ = w.Write(body)
	}))
	defer server.Close()
	_, err := (&Client{URL: server.URL, AgentToken: "usable"}).Run(soon(t), "run-1", "")
	return err, requests
}

func TestACompressedAnswerIsRefusedOnce(t *testing.T) {
	for _, encodings := range [][]string{{"br"}, {"gzip"}, {"deflate"}, {"zstd"}, {"x-unknown"}, {"BR"}, {"br, identity"}, {"identity", "br"}} {
		err, requests := answerWith(t, encodings...)
		refused(t, err, "content-encoding", "Turn compression off")
		if requests != 1 {
			t.Errorf("%q: %d requests", encodings, requests)
		}
	}
}

func TestAPlainAnswerIsRead(t *testing.T) {
	for _, encodings := range [][]string{nil, {"identity"}} {
		if err, _ := answerWith(t, encodings...); err != nil {
			t.Errorf("%q: %v", encodings, err)
		}
	}
}
