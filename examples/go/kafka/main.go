// Asks for approval over Kafka, waits for events, and runs over HTTP what a person agreed to.
package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"log"
	"os"
	"strings"
	"time"

	"countersign-example/agent"
	"countersign-example/countersign"

	"github.com/twmb/franz-go/pkg/kgo"
)

func main() {
	log.SetFlags(0)
	brokers := flag.String("brokers", "127.0.0.1:9092", "the brokers, with commas between them")
	prefix := flag.String("prefix", "countersign", "the prefix of the topics")
	requestID := flag.String("id", "", "the id of the request; the same one again is the same request (default: the id of the run)")
	key := signingKey{}
	flag.StringVar(&key.file, "key", "", "the private key to sign with, Ed25519 in PEM")
	flag.StringVar(&key.kid, "kid", "", "the name of that key")
	flag.StringVar(&key.tenant, "tenant", "default", "the tenant of that key")
	a, err := agent.Parse()
	if err != nil {
		log.Fatal(err)
	}
	if *requestID == "" {
		*requestID = a.Step.RunID
	}
	client, err := kgo.NewClient(
		kgo.SeedBrokers(strings.Split(*brokers, ",")...),
		kgo.ClientID("countersign-go"),
		kgo.RequiredAcks(kgo.AllISRAcks()),
		kgo.ConsumeTopics(*prefix+".events.v1"),
		// Not from the end: an event that comes before the consumer is ready would be missed. An old one only causes a read.
		kgo.ConsumeResetOffset(kgo.NewOffset().AfterMilli(time.Now().Add(-time.Minute).UnixMilli())),
	)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()
	if err := reach(ctx, client); err != nil {
		log.Fatalf("no response from the brokers %s: %v. Name others with -brokers", *brokers, err)
	}
	if err := publish(ctx, client, *prefix+".requests.v1", *requestID, a.Step, key); err != nil {
		log.Fatalf("the request may or may not be on the topic; ask again with -id %s: %v", *requestID, err)
	}
	if err := follow(ctx, a, client, *requestID); err != nil {
		log.Print(agent.Explain(err))
		// A tool that runs reports first.
		a.Wait()
		os.Exit(1)
	}
	os.Exit(a.Wait())
}

// reach returns an error when no broker answers.
func reach(ctx context.Context, client *kgo.Client) error {
	bounded, stop := context.WithTimeout(ctx, 10*time.Second)
	defer stop()
	return client.Ping(bounded)
}

// follow starts each call of the step when it is decided. An event only says when to look: the ledger says what holds.
func follow(ctx context.Context, a *agent.Agent, client *kgo.Client, requestID string) error {
	started := map[string]bool{}
	for position := ""; ; {
		calls, err := a.Client.Run(ctx, a.Step.RunID, position)
		var refusal *countersign.Refusal
		if errors.As(err, &refusal) && refusal.Code == "not-found" {
			err = nil
		}
		if err != nil {
			return err
		}
		for _, call := range calls {
			if a.Asks(call.ToolCallID) {
				a.TellWaiting(call)
			}
			if call := call; a.Asks(call.ToolCallID) && call.Decided() && !started[call.ToolCallID] {
				started[call.ToolCallID] = true
				a.Start(ctx, call.ToolCallID, func() (countersign.ToolCall, error) { return call, nil })
			}
		}
		if len(started) == len(a.Step.Calls) {
			return nil
		}
		if position, err = nextEvent(ctx, a, client, requestID); err != nil {
			return err
		}
	}
}

// nextEvent waits for events of this run, at most 30 s. It returns the position of the last one, or an empty text.
func nextEvent(ctx context.Context, a *agent.Agent, client *kgo.Client, requestID string) (string, error) {
	waiting, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	position := ""
	for position == "" && waiting.Err() == nil {
		fetches := client.PollFetches(waiting)
		if err := fetches.Err(); err != nil && waiting.Err() == nil {
			return "", err
		}
		for _, record := range fetches.Records() {
			var event struct {
				RunID *string
				Data  struct{ RequestID string }
			}
			if json.Unmarshal(record.Value, &event) != nil {
				continue
			}
			if event.RunID != nil && *event.RunID == a.Step.RunID {
				position = header(record, "ce_sequence")
			}
			if header(record, "ce_type") == "RequestRefused" && event.Data.RequestID == requestID {
				// Every program that may write the topic can forge a refusal: the ledger's own log has the true ones.
				if refusal := a.Client.Refused(ctx, requestID, header(record, "ce_sequence")); refusal != nil {
					return "", refusal
				}
				log.Print("the topic has a refusal that the ledger does not have")
			}
		}
	}
	return position, nil
}

func header(record *kgo.Record, name string) string {
	for _, header := range record.Headers {
		if header.Key == name {
			return string(header.Value)
		}
	}
	return ""
}
