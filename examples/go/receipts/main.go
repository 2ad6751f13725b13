// Checks receipts of Countersign. Reads one JSON object a line from stdin, prints `valid` or why it is refused.
//
//	go run ./receipts < calls.ndjson
package main

import (
	"bufio"
	"crypto/ed25519"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/gowebpki/jcs"
)

// Trust is the Countersign whose receipts a tool accepts, and the tool.
type Trust struct {
	ToolName string `json:"toolName"`
	Issuer   string `json:"issuer"`
	Tenant   string `json:"tenant"`
	Keys     []Key  `json:"keys"`
	// Now is in seconds since 1970.
	Now int64 `json:"now"`
}

// Key is a key of the key set.
type Key struct {
	Kid string `json:"kid"`
	Crv string `json:"crv"`
	X   string `json:"x"`
}

type claims struct {
	Issuer        string `json:"iss"`
	Tool          string `json:"aud"`
	Tenant        string `json:"tenant"`
	ArgumentsHash string `json:"argumentsHash"`
	Nonce         string `json:"nonce"`
	IssuedAt      int64  `json:"iat"`
	ExpiresAt     int64  `json:"exp"`
	ID            string `json:"jti"`
}

// Verify returns `valid` once for each claim, or a code. used has the ids of the claims so far: several processes need a
// table with a unique key in its place.
func Verify(receipt string, arguments json.RawMessage, trust Trust, used map[string]bool) string {
	parts := strings.Split(receipt, ".")
	if len(parts) != 3 {
		return "malformed-receipt"
	}
	signature, err := decode(parts[2])
	if err != nil || len(signature) != ed25519.SignatureSize {
		return "malformed-receipt"
	}
	// The only header that Countersign writes, with an id of its key set. Nothing in it is interpreted.
	key := keyOf(parts[0], trust.Keys)
	if key == nil {
		return "unknown-key"
	}
	if !ed25519.Verify(key, []byte(parts[0]+"."+parts[1]), signature) {
		return "bad-signature"
	}
	var found claims
	payload, err := decode(parts[1])
	if err != nil || json.Unmarshal(payload, &found) != nil {
		return "malformed-receipt"
	}
	switch {
	case found.Issuer != trust.Issuer:
		return "wrong-issuer"
	case found.Tenant != trust.Tenant:
		return "wrong-tenant"
	case found.Tool != trust.ToolName:
		return "wrong-tool"
	// A claim that is older than a day does not run: until then its use must be remembered.
	case trust.Now >= found.ExpiresAt || trust.Now >= found.IssuedAt+86400:
		return "expired"
	case hashOf(arguments, found.Nonce) != found.ArgumentsHash:
		return "wrong-arguments"
	case used[found.ID]:
		return "already-used"
	}
	used[found.ID] = true
	return "valid"
}

// decode returns the bytes of a base64url text. Each has one text: another one would be another receipt for a list of used
// texts. The decoder alone skips line ends.
func decode(text string) ([]byte, error) {
	bytes, err := base64.RawURLEncoding.DecodeString(text)
	if err == nil && base64.RawURLEncoding.EncodeToString(bytes) != text {
		err = errors.New("another text of the same bytes")
	}
	return bytes, err
}

func keyOf(header string, keys []Key) ed25519.PublicKey {
	for _, key := range keys {
		text := fmt.Sprintf(`{"alg":"EdDSA","kid":"%s","typ":"countersign-receipt+jwt"}`, key.Kid)
		x, err := base64.RawURLEncoding.DecodeString(key.X)
		isOurs := header == base64.RawURLEncoding.EncodeToString([]byte(text))
		if isOurs && err == nil && key.Crv == "Ed25519" && len(x) == ed25519.PublicKeySize {
			return x
		}
	}
	return nil
}

func hashOf(arguments json.RawMessage, nonce string) string {
	quoted, _ := json.Marshal(nonce)
	form, err := jcs.Transform([]byte(`{"arguments":` + string(arguments) + `,"nonce":` + string(quoted) + `}`))
	if err != nil {
		return ""
	}
	sum := sha256.Sum256(form)
	return "sha256:" + hex.EncodeToString(sum[:])
}

func main() {
	used := map[string]bool{}
	lines := bufio.NewScanner(os.Stdin)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var call struct {
			Trust
			Receipt string `json:"receipt"`
			Body    string `json:"body"`
		}
		var body struct {
			Arguments json.RawMessage `json:"arguments"`
		}
		if json.Unmarshal(lines.Bytes(), &call) != nil || json.Unmarshal([]byte(call.Body), &body) != nil {
			fmt.Println("malformed-call")
			continue
		}
		fmt.Println(Verify(call.Receipt, body.Arguments, call.Trust, used))
	}
}
