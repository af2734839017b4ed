package groth16_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/pce"
)

// square is the statement "I know x with x² = y".
type square struct{ x, y uint64 }

func (s *square) Name() string { return "square" }

func (s *square) PublicInputs() ([]fr.Element, error) { return []fr.Element{fr.NewElement(s.y)}, nil }

func (s *square) Synthesize(b pce.Builder) error {
	x := b.Alloc(fr.NewElement(s.x))
	b.Inputize(b.Mul(x, x))
	return nil
}

// Make a key for tests, prove, and check the proof as somebody would who has only the verifying key.
func Example() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)

	system, err := pce.Record(ctx, "square", (&square{}).Synthesize, nil)
	if err != nil {
		log.Fatal(err)
	}
	files, err := groth16.WriteTestKey(ctx, dir, system, nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := groth16.OpenProvingKey(files.Params)
	if err != nil {
		log.Fatal(err)
	}
	defer key.Close()

	prover, err := groth16.NewProver(ctx, key, system, &groth16.ProverOptions{Backend: groth16.BackendCPU})
	if err != nil {
		log.Fatal(err)
	}
	defer prover.Close()
	result, err := prover.Prove(ctx, []circuits.Circuit{&square{x: 3, y: 9}}, nil)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("proof of", len(result.Bytes()), "bytes")

	vk, err := groth16.OpenVerifyingKey(files.VK)
	if err != nil {
		log.Fatal(err)
	}
	proof, err := groth16.ParseProof(result.Bytes())
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("9 is a square:", groth16.Verify(vk, proof, []fr.Element{fr.NewElement(9)}) == nil)
	fmt.Println("so is 10?", groth16.Verify(vk, proof, []fr.Element{fr.NewElement(10)}))

	// A wrong witness gives an error, not a proof.
	_, err = prover.Prove(ctx, []circuits.Circuit{&square{x: 3, y: 10}}, nil)
	fmt.Println(err)
	// Output:
	// proof of 192 bytes
	// 9 is a square: true
	// so is 10? groth16: proof does not verify
	// groth16: prove square partition 0: witness is for another statement: public input 0 is a in the statement and 9 in the witness
}

func ExampleVerifyBatch() {
	ctx := context.Background()
	dir, err := os.MkdirTemp("", "example")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(dir)
	system, err := pce.Record(ctx, "square", (&square{}).Synthesize, nil)
	if err != nil {
		log.Fatal(err)
	}
	files, err := groth16.WriteTestKey(ctx, dir, system, nil)
	if err != nil {
		log.Fatal(err)
	}
	key, err := groth16.OpenProvingKey(files.Params)
	if err != nil {
		log.Fatal(err)
	}
	defer key.Close()
	prover, err := groth16.NewProver(ctx, key, system, &groth16.ProverOptions{Backend: groth16.BackendCPU})
	if err != nil {
		log.Fatal(err)
	}
	defer prover.Close()
	result, err := prover.Prove(ctx, []circuits.Circuit{&square{2, 4}, &square{3, 9}, &square{4, 16}}, nil)
	if err != nil {
		log.Fatal(err)
	}

	inputs := [][]fr.Element{{fr.NewElement(4)}, {fr.NewElement(8)}, {fr.NewElement(16)}}
	fmt.Println(groth16.VerifyBatch(ctx, key.VerifyingKey(), result.Proofs, inputs, nil))
	inputs[1][0].SetUint64(9)
	fmt.Println(groth16.VerifyBatch(ctx, key.VerifyingKey(), result.Proofs, inputs, nil))
	// Output:
	// groth16: proof 1: proof does not verify
	// <nil>
}
