package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/porep"
)

// readC1 decodes a phase-1 output of a kind that can be proved.
func readC1(ctx context.Context, path string) (*porep.C1, error) {
	c1, err := decodeC1(ctx, path)
	if err != nil {
		return nil, err
	}
	if err := c1.Proof.Supported(); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c1, nil
}

func decodeC1(ctx context.Context, path string) (*porep.C1, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	c1, err := porep.DecodeC1(contextReader{ctx, f}, nil)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return c1, nil
}

// statementFile is a statement as JSON, what the chain knows about a sector. Byte strings are hex in the order of the APIs.
// Other fields are ignored, so that the project's test vectors can be used as they are.
type statementFile struct {
	RegisteredProof string   `json:"registered_proof"`
	Miner           *uint64  `json:"miner_actor"`
	Sector          *uint64  `json:"sector_id"`
	Ticket          *bytes32 `json:"ticket"`
	Seed            *bytes32 `json:"seed"`
	CommR           *bytes32 `json:"comm_r"`
	CommD           *bytes32 `json:"comm_d"`
}

// bytes32 is 64 hex digits in JSON.
type bytes32 [32]byte

func (b *bytes32) UnmarshalText(text []byte) error {
	if len(text) != 64 {
		return fmt.Errorf("%d hex digits, want 64", len(text))
	}
	_, err := hex.Decode(b[:], text)
	return err
}

// MarshalText writes 64 hex digits.
func (b bytes32) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, b[:]), nil }

const (
	// maxSmallFile bounds files that are read whole: statements of one sector, secrets, proofs.
	maxSmallFile = 1 << 20
	// maxInputFile bounds files with vanilla proofs: those of three full partitions of WindowPoSt-32GiB.
	maxInputFile = 1 << 28
)

func readSmall(path string) ([]byte, error) {
	return readAtMost(context.Background(), path, maxSmallFile)
}

// readAtMost reads a regular file whole if it is not longer than limit bytes.
func readAtMost(ctx context.Context, path string, limit int64) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(contextReader{ctx, f}, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(b)) > limit {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, limit)
	}
	return b, nil
}

func readStatement(path string) (*porep.Statement, error) {
	b, err := readSmall(path)
	if err != nil {
		return nil, err
	}
	var f statementFile
	if err := json.Unmarshal(b, &f); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	if f.Miner == nil {
		return nil, fmt.Errorf("%s: miner_actor is missing", path)
	}
	if f.Sector == nil {
		return nil, fmt.Errorf("%s: sector_id is missing", path)
	}
	for _, x := range []struct {
		name  string
		value *bytes32
	}{{"ticket", f.Ticket}, {"seed", f.Seed}, {"comm_r", f.CommR}, {"comm_d", f.CommD}} {
		if x.value == nil {
			return nil, fmt.Errorf("%s: %s is missing", path, x.name)
		}
	}
	proof, err := porep.ParseRegisteredProof(f.RegisteredProof)
	if err != nil {
		return nil, fmt.Errorf("%s: registered_proof: %w", path, err)
	}
	return &porep.Statement{
		Proof: proof, ProverID: porep.ProverID(*f.Miner), SectorNumber: *f.Sector,
		Ticket: *f.Ticket, Seed: *f.Seed, CommR: *f.CommR, CommD: *f.CommD,
	}, nil
}

// sectorFlags bind a phase-1 output to a sector on the chain.
type sectorFlags struct {
	*flags
	miner, sector *uint64
}

func (f *flags) addSector() *sectorFlags {
	return &sectorFlags{f, f.Uint64("miner", 0, "actor id of the miner that the sector must be of"),
		f.Uint64("sector", 0, "number that the sector must have; by default what Lotus's wrapper says")}
}

// check refuses flags that say too little.
func (s *sectorFlags) check() error {
	if s.given("sector") && !s.given("miner") {
		return usagef("%s: --sector needs --miner", s.Name())
	}
	return nil
}

// publicInputs are those of each partition: from chain values alone if the flags name the sector, otherwise from the replica
// id in the document. s may be nil.
func (s *sectorFlags) publicInputs(c1 *porep.C1) ([][]fr.Element, error) {
	if s == nil || !s.given("miner") {
		return c1.PublicInputs()
	}
	sector := *s.sector
	if !s.given("sector") {
		if c1.Lotus == nil {
			return nil, errors.New("the phase-1 output has no sector number; give --sector")
		}
		sector = c1.Lotus.SectorNumber
	}
	statement, err := c1.Statement(*s.miner, sector)
	if err != nil {
		return nil, err
	}
	return statement.PublicInputs()
}

// cacheFolder is where constraint systems and test parameters are kept.
func cacheFolder(flag string) (string, error) {
	if flag != "" {
		return flag, nil
	}
	dir, err := os.UserCacheDir()
	if err != nil {
		return "", fmt.Errorf("no cache folder: %w; give --cache", err)
	}
	return filepath.Join(dir, "cuzk"), nil
}
