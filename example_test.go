package cuzk_test

import (
	"context"
	"encoding/hex"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/pce"
)

// prove makes the proof for a phase-1 output.
func prove(ctx context.Context, c1Path, paramsPath string) ([]byte, error) {
	f, err := os.Open(c1Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c1, err := porep.DecodeC1(f, nil)
	if err != nil {
		return nil, err
	}
	if err := c1.Check(ctx, 0); err != nil { // names partition, challenge and field
		return nil, err
	}

	// The constraint system is the same for all sectors of a size. Record it once, keep it with WriteFile.
	blank := porep.Blank(c1.Params)
	system, err := pce.Record(ctx, blank.Name(), blank.Synthesize, nil)
	if err != nil {
		return nil, err
	}
	key, err := groth16.OpenProvingKey(paramsPath)
	if err != nil {
		return nil, err
	}
	defer key.Close()
	prover, err := groth16.NewProver(ctx, key, system, nil)
	if err != nil {
		return nil, err
	}
	defer prover.Close()

	partitions, err := c1.Circuits()
	if err != nil {
		return nil, err
	}
	statements := make([]circuits.Circuit, len(partitions))
	for i, p := range partitions {
		statements[i] = p
	}
	result, err := prover.Prove(ctx, statements, nil) // every proof in it is verified
	if err != nil {
		return nil, err
	}
	return result.Bytes(), nil
}

// Proving takes about a minute for a sector of 2 KiB on two processors, so the example is compiled but not run.
func Example_prove() {
	proof, err := prove(context.Background(), "testdata/porep-2KiB.c1.json", "test-porep-2KiB.params")
	if err != nil {
		log.Fatal(err)
	}
	fmt.Printf("%x\n", proof)
}

// proveOn makes the proof for a phase-1 output on whatever devices the engine has.
func proveOn(ctx context.Context, engine *cuzk.Engine, c1Path string) ([]byte, error) {
	f, err := os.Open(c1Path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c1, err := porep.DecodeC1(f, nil)
	if err != nil {
		return nil, err
	}
	result, err := engine.SealCommit2(ctx, c1, nil) // every proof in it is verified
	if err != nil {
		return nil, err // names partition, device and field
	}
	return result.Bytes(), nil
}

// A program opens one Engine for all its GPUs and all its jobs, and closes it in the end. Proving takes about a minute for a
// sector of 2 KiB on two processors, so the example is compiled but not run.
func ExampleOpen() {
	ctx := context.Background()
	engine, err := cuzk.Open(ctx, &cuzk.Options{Params: cuzk.ParamsFolder("/var/tmp/filecoin-proof-parameters")})
	if err != nil {
		log.Fatal(err)
	}
	proof, err := proveOn(ctx, engine, "testdata/porep-2KiB.c1.json")
	if err != nil {
		log.Print(err)
	}
	fmt.Printf("%x\n", proof)
	soon, cancel := context.WithTimeout(ctx, time.Minute) // for jobs that are at it
	defer cancel()
	if err := engine.Close(soon); err != nil {
		log.Fatal(err)
	}
}

// A job that is submitted is watched and waited for apart.
func ExampleEngine_Submit() {
	watch := func(ctx context.Context, engine *cuzk.Engine, task cuzk.Task) (*cuzk.Result, error) {
		job, err := engine.Submit(ctx, task, &cuzk.JobOptions{
			RefuseLate: true, // if ctx has a deadline that can't be met
			Progress: func(p cuzk.Progress) {
				fmt.Printf("%s: %d of %d partitions, %d%%\n", p.State, p.Finished, p.Partitions, 100*p.Done/p.Total)
			},
		})
		if err != nil {
			return nil, err // for instance cuzk.ErrBusy, cuzk.ErrLate or a *cuzk.MemoryError
		}
		return job.Wait(ctx)
	}
	_ = watch
}

// What the chain knows about a sector is enough to verify its proof.
func ExampleVerifySeal() {
	statement := porep.Statement{
		Proof:        porep.StackedDrg2KiBV1_1,
		ProverID:     porep.ProverID(1000),
		SectorNumber: 41,
		Ticket:       bytes32("30fb8d818b2f5a99df1d7127a66c53d7170061f54c5d1fab152ef1c9c54a64b1"),
		Seed:         bytes32("d398a6cba32d9c1313b9bf52d18402f1c46265a8d48e4348b25140df0db46161"),
		CommR:        bytes32("e031ca9eb63d011ea008371b625bad4abea2a549f070244bf6e6eadc526e4420"),
		CommD:        bytes32("0a2f2571d278b64fb2ba5976c8f311f29333a1cba1b4524ad4d27ebf1ba5ce1b"),
	}
	vk, err := groth16.OpenVerifyingKey("examples/bench/testdata/porep-2KiB.vk")
	if err != nil {
		log.Fatal(err)
	}
	proof, err := os.ReadFile("examples/bench/testdata/porep-2KiB.proof") // 192 bytes for each partition
	if err != nil {
		log.Fatal(err)
	}
	ok, err := cuzk.VerifySeal(context.Background(), vk, &statement, proof)
	fmt.Println(ok, err)
	// Output: true <nil>
}

func bytes32(digits string) (b [32]byte) {
	if _, err := hex.Decode(b[:], []byte(digits)); err != nil {
		log.Fatal(err)
	}
	return b
}
