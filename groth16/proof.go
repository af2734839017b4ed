package groth16

import (
	"errors"
	"fmt"
	"io"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/wire"
)

// ProofSize is the size of a proof: A (48) ‖ B (96) ‖ C (48), compressed (circuits.md §9.4).
const ProofSize = 192

const (
	offsetB = wire.G1CompressedSize
	offsetC = offsetB + wire.G2CompressedSize
)

// Proof is a Groth16 proof. Its points are on the curve, in the right subgroup and not at infinity: a
// Proof comes from [ParseProof], [ReadProof] or a Prover. The zero Proof is none; nothing accepts it.
type Proof struct {
	a, c bls12381.G1Affine
	b    bls12381.G2Affine
}

// ParseProof decodes and checks the 192 bytes of a proof. Errors are *ProofError.
func ParseProof(b []byte) (Proof, error) {
	var p Proof
	if len(b) != ProofSize {
		return p, &ProofError{Err: fmt.Errorf("%w: %d bytes, want %d", wire.Length, len(b), ProofSize)}
	}
	var err error
	if p.a, err = wire.G1Compressed(b[:offsetB]); err != nil {
		return Proof{}, &ProofError{Part: "a", Offset: 0, Err: err}
	}
	if p.b, err = wire.G2Compressed(b[offsetB:offsetC]); err != nil {
		return Proof{}, &ProofError{Part: "b", Offset: offsetB, Err: err}
	}
	if p.c, err = wire.G1Compressed(b[offsetC:]); err != nil {
		return Proof{}, &ProofError{Part: "c", Offset: offsetC, Err: err}
	}
	return p, nil
}

// ParseProofs decodes proofs that follow each other, such as those of a statement's partitions. An
// error about one of them is a *ProofIndexError.
func ParseProofs(b []byte) ([]Proof, error) {
	if len(b)%ProofSize != 0 {
		return nil, &ProofError{Err: fmt.Errorf("%w: %d bytes are not a multiple of %d", wire.Length, len(b), ProofSize)}
	}
	out := make([]Proof, len(b)/ProofSize)
	for i := range out {
		var err error
		if out[i], err = ParseProof(b[i*ProofSize : (i+1)*ProofSize]); err != nil {
			return nil, &ProofIndexError{Index: i, Err: err}
		}
	}
	return out, nil
}

// ReadProof reads the 192 bytes of one proof, and no more, from r.
func ReadProof(r io.Reader) (Proof, error) {
	var b [ProofSize]byte
	n, err := io.ReadFull(r, b[:])
	switch {
	case err == nil:
		return ParseProof(b[:])
	case errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF):
		return Proof{}, &ProofError{Err: fmt.Errorf("%w: %d bytes, want %d: %w", wire.Length, n, ProofSize, err)}
	}
	return Proof{}, fmt.Errorf("groth16: read proof: %w", err)
}

// Bytes is the proof's encoding.
func (p Proof) Bytes() [ProofSize]byte {
	var out [ProofSize]byte
	b := wire.AppendG1Compressed(out[:0], &p.a)
	b = wire.AppendG2Compressed(b, &p.b)
	wire.AppendG1Compressed(b, &p.c)
	return out
}

// Points returns A, B and C.
func (p Proof) Points() (a bls12381.G1Affine, b bls12381.G2Affine, c bls12381.G1Affine) {
	return p.a, p.b, p.c
}

// complete says whether no point is at infinity; that of the zero Proof are.
func (p *Proof) complete() bool {
	return !p.a.IsInfinity() && !p.b.IsInfinity() && !p.c.IsInfinity()
}
