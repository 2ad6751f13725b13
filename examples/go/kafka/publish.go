package main

import (
	"context"
	"crypto/ed25519"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"os"
	"time"

	"countersign-example/countersign"

	"github.com/twmb/franz-go/pkg/kgo"
)

// publish returns when all brokers have the request. The run is the key, so that its messages keep their order.
func publish(ctx context.Context, client *kgo.Client, topic, requestID string, step countersign.Step, key signingKey) error {
	value, err := json.Marshal(step)
	if err != nil {
		return err
	}
	record := &kgo.Record{Topic: topic, Key: []byte(step.RunID), Value: value}
	set := func(name, value string) {
		record.Headers = append(record.Headers, kgo.RecordHeader{Key: name, Value: []byte(value)})
	}
	set("content-type", "application/json")
	set("ce_specversion", "1.0")
	set("ce_id", requestID)
	set("ce_source", "/agents/"+step.AgentID)
	set("ce_type", "ToolCallRequested")
	set("ce_time", time.Now().UTC().Format("2006-01-02T15:04:05.000Z"))
	if key.file != "" {
		signature, err := key.sign(topic, requestID, value)
		if err != nil {
			return err
		}
		set("countersign-signature", signature)
	}
	bounded, stop := context.WithTimeout(ctx, 30*time.Second)
	defer stop()
	return client.ProduceSync(bounded, record).FirstErr()
}

type signingKey struct{ file, kid, tenant string }

// sign returns a detached JWS over the value, for this request on this topic alone.
func (k signingKey) sign(topic, requestID string, value []byte) (string, error) {
	private, err := k.read()
	if err != nil {
		return "", err
	}
	protected, err := json.Marshal(map[string]any{
		"alg": "EdDSA", "kid": k.kid, "aud": k.tenant + "/" + topic, "iat": time.Now().Unix(),
		"ce_id": requestID, "ce_type": "ToolCallRequested",
	})
	if err != nil {
		return "", err
	}
	encoded := base64.RawURLEncoding.EncodeToString(protected)
	signed := encoded + "." + base64.RawURLEncoding.EncodeToString(value)
	signature := base64.RawURLEncoding.EncodeToString(ed25519.Sign(private, []byte(signed)))
	return encoded + ".." + signature, nil
}

func (k signingKey) read() (ed25519.PrivateKey, error) {
	content, err := os.ReadFile(k.file)
	if err != nil {
		return nil, err
	}
	block, _ := pem.Decode(content)
	if block == nil {
		return nil, fmt.Errorf("%s is no PEM file", k.file)
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", k.file, err)
	}
	private, isEd25519 := parsed.(ed25519.PrivateKey)
	if !isEd25519 {
		return nil, fmt.Errorf("%s has no Ed25519 key", k.file)
	}
	return private, nil
}
