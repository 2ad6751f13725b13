// Cosigns a checkpoint as a witness of ML-DSA-44, and verifies an own line of the log, with the library of the transparency logs alone.
package main

import (
	"fmt"
	"io"
	"os"

	cosignature "github.com/transparency-dev/formats/note"
	"golang.org/x/mod/sumdb/note"
)

func fail(err error) {
	if err != nil {
		fmt.Println(err)
		os.Exit(1)
	}
}

// Arguments: the name of the witness, and the ML-DSA-44 vkey of the log. Standard input: a checkpoint with one signature or more.
func main() {
	text, err := io.ReadAll(os.Stdin)
	fail(err)
	ofLog, err := cosignature.NewMLDSAVerifier(os.Args[2])
	fail(err)
	signed, err := note.Open(text, note.VerifierList(ofLog))
	fail(err)
	key, vkey, err := cosignature.GenerateMLDSAKey(os.Args[1])
	fail(err)
	signer, err := cosignature.NewMLDSASigner(key)
	fail(err)
	cosigned, err := note.Sign(signed, signer)
	fail(err)
	fmt.Printf("%s\n%s", vkey, cosigned)
}
