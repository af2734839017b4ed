package main

import (
	"context"
	"encoding/hex"
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

// bytes32 is written as 64 hex digits.
type bytes32 [32]byte

// MarshalText implements encoding.TextMarshaler.
func (b bytes32) MarshalText() ([]byte, error) { return hex.AppendEncode(nil, b[:]), nil }

// maxSmallFile bounds files that are read whole: statements of one sector, secrets, proofs.
const maxSmallFile = 1 << 20

// readSmall reads a regular file whole.
func readSmall(path string) ([]byte, error) {
	f, err := openRegular(path)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	b, err := io.ReadAll(io.LimitReader(f, maxSmallFile+1))
	if err != nil {
		return nil, err
	}
	if len(b) > maxSmallFile {
		return nil, fmt.Errorf("%s: longer than %d bytes", path, maxSmallFile)
	}
	return b, nil
}

// readStatement reads a statement as JSON, what the chain knows about a sector. Byte strings are hex in the order of the
// APIs. Other fields are left out, so that the project's test vectors can be used as they are.
func readStatement(ctx context.Context, path string) (*porep.Statement, error) {
	s := &porep.Statement{}
	var miner uint64
	err := readJSON(ctx, path, maxSmallFile, toVerify, func(r *jsonReader) error {
		return r.object(
			jsonField{"registered_proof", false, proofName(r, &s.Proof, porep.ParseRegisteredProof)},
			jsonField{"miner_actor", false, into(&miner, r.uint64)},
			jsonField{"sector_id", false, into(&s.SectorNumber, r.uint64)},
			jsonField{"ticket", false, into(&s.Ticket, r.bytes32)},
			jsonField{"seed", false, into(&s.Seed, r.bytes32)},
			jsonField{"comm_r", false, into(&s.CommR, r.bytes32)},
			jsonField{"comm_d", false, into(&s.CommD, r.bytes32)},
		)
	})
	s.ProverID = porep.ProverID(miner)
	return s, err
}

// proofName reads the name of a registered proof.
func proofName[P any](r *jsonReader, to *P, parse func(name string) (P, error)) func() error {
	return func() error {
		name, err := r.text()
		if err != nil {
			return err
		}
		if *to, err = parse(name); err != nil {
			return r.fail("%w", err)
		}
		return nil
	}
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
