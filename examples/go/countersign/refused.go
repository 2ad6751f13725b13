package countersign

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// Refused returns the refusal of a request that the ledger recorded at a position of its log; nil if it has none there. A
// refusal is recorded before it is on the topic, so the ledger sends it at once.
func (c *Client) Refused(ctx context.Context, requestID, position string) *Refusal {
	at, err := strconv.Atoi(position)
	if err != nil {
		return nil
	}
	ctx, stop := context.WithTimeout(ctx, 3*time.Second)
	defer stop()
	address := fmt.Sprintf("%s/v1/events?types=RequestRefused&after=%d", c.URL, at-1)
	request, err := http.NewRequestWithContext(ctx, "GET", address, http.NoBody)
	if err != nil {
		return nil
	}
	request.Header.Set("authorization", "Bearer "+c.AgentToken)
	response, err := do(request)
	if err != nil {
		return nil
	}
	defer response.Body.Close()
	lines := bufio.NewScanner(response.Body)
	for lines.Scan() {
		if !strings.HasPrefix(lines.Text(), "data:") {
			continue
		}
		var event struct {
			Data struct{ RequestID, Code, Detail string }
		}
		if json.Unmarshal([]byte(strings.TrimPrefix(lines.Text(), "data:")), &event) != nil || event.Data.RequestID != requestID {
			return nil
		}
		return &Refusal{Code: event.Data.Code, Detail: event.Data.Detail}
	}
	return nil
}
