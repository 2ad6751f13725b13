// Checks a proof of Countersign with the libraries of the transparency logs alone.
package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"strings"

	"github.com/transparency-dev/formats/log"
	cosignature "github.com/transparency-dev/formats/note"
	"github.com/transparency-dev/merkle/proof"
	"github.com/transparency-dev/merkle/rfc6962"
	"golang.org/x/mod/sumdb/note"
)

type file struct {
	Origin     string
	Checkpoint string
	Events     []struct {
		Index uint64
		Entry string
		Proof string
	}
}

func fail(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// Returns the verifiers of the witnesses in the arguments, each of which must have cosigned.
func witnesses(vkeys []string) []note.Verifier {
	var verifiers []note.Verifier
	for _, vkey := range vkeys {
		verifier, err := cosignature.NewVerifierForCosignatureV1(vkey)
		fail(err)
		verifiers = append(verifiers, verifier)
	}
	return verifiers
}

// Arguments: a file with one vkey, a proof, and the vkeys of witnesses.
func main() {
	vkey, err := os.ReadFile(os.Args[1])
	fail(err)
	text, err := os.ReadFile(os.Args[2])
	fail(err)
	var of file
	fail(json.Unmarshal(text, &of))
	verifier, err := note.NewVerifier(strings.TrimSpace(string(vkey)))
	fail(err)
	cosigners := witnesses(os.Args[3:])
	checkpoint, _, signed, err := log.ParseCheckpoint([]byte(of.Checkpoint), of.Origin, verifier, cosigners...)
	fail(err)
	if len(signed.Sigs) != 1+len(cosigners) {
		fail(fmt.Errorf("of %d witnesses %d have cosigned", len(cosigners), len(signed.Sigs)-1))
	}
	for _, event := range of.Events {
		head, rest, _ := strings.Cut(event.Proof, "\n\n")
		if rest != of.Checkpoint {
			fail(fmt.Errorf("event %d has another checkpoint", event.Index))
		}
		lines := strings.Split(head, "\n")
		if lines[0] != "c2sp.org/tlog-proof@v1" || lines[1] != fmt.Sprintf("index %d", event.Index) {
			fail(fmt.Errorf("event %d has no proof", event.Index))
		}
		var path [][]byte
		for _, line := range lines[2:] {
			hash, err := base64.StdEncoding.DecodeString(line)
			fail(err)
			path = append(path, hash)
		}
		leaf := rfc6962.DefaultHasher.HashLeaf([]byte(event.Entry))
		fail(proof.VerifyInclusion(rfc6962.DefaultHasher, event.Index, checkpoint.Size, leaf, path, checkpoint.Hash))
	}
	fmt.Printf("%d events in a log of %d\n", len(of.Events), checkpoint.Size)
}
