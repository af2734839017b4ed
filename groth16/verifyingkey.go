package groth16

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"sync"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/srs"
)

// VerifyingKey checks proofs. It may be used by several goroutines.
type VerifyingKey struct {
	key      *srs.VerifyingKey
	prepared func() *preparedKey
}

func newVerifyingKey(k *srs.VerifyingKey) *VerifyingKey {
	return &VerifyingKey{key: k, prepared: sync.OnceValue(func() *preparedKey { return prepare(k) })}
}

// ReadVerifyingKey reads a verifying key in the reference's format to the end of r. All points are
// checked, the subgroup included, which takes some 75 µs a public input. Malformed keys give a *ParamsError.
func ReadVerifyingKey(r io.Reader) (*VerifyingKey, error) { return readVerifyingKey(r, "") }

// OpenVerifyingKey reads the verifying key file at path.
func OpenVerifyingKey(path string) (*VerifyingKey, error) {
	info, err := os.Stat(path)
	if err == nil && !info.Mode().IsRegular() { // opening a pipe could block for good
		err = fmt.Errorf("%s is not a regular file: %v", path, info.Mode().Type())
	}
	if err != nil {
		return nil, fmt.Errorf("groth16: read verifying key: %w", err)
	}
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("groth16: read verifying key: %w", err)
	}
	defer f.Close()
	return readVerifyingKey(f, path)
}

func readVerifyingKey(r io.Reader, file string) (*VerifyingKey, error) {
	buffered := bufio.NewReaderSize(r, 1<<16)
	k, err := srs.ReadVerifyingKey(buffered, file)
	if err != nil {
		return nil, paramsError(err)
	}
	if _, err := buffered.ReadByte(); err == nil {
		return nil, &ParamsError{File: file, Section: string(srs.VK), Index: -1, Offset: k.Size(), Err: srs.ErrTrailing}
	} else if !errors.Is(err, io.EOF) {
		return nil, fmt.Errorf("groth16: read verifying key: %w", err)
	}
	return newVerifyingKey(k), nil
}

// WriteTo writes the key in the reference's format.
func (k *VerifyingKey) WriteTo(w io.Writer) (int64, error) {
	n, err := w.Write(k.key.Append(nil))
	return int64(n), err
}

// Inputs is the number of public inputs of a statement, without ONE.
func (k *VerifyingKey) Inputs() int { return len(k.key.IC) - 1 }

// preparedKey is what every verification needs of a key.
type preparedKey struct {
	alphaBeta    bls12381.GT // e(α, β)
	gamma, delta lines       // of −γ and −δ
	ic           []bls12381.G1Affine
}

// lines are the line functions of the Miller loop of a fixed point of G2.
type lines = [2][len(bls12381.LoopCounter) - 1]bls12381.LineEvaluationAff

func prepare(k *srs.VerifyingKey) *preparedKey {
	p := &preparedKey{ic: k.IC}
	// The error is about slices of different lengths.
	p.alphaBeta, _ = bls12381.Pair([]bls12381.G1Affine{k.AlphaG1}, []bls12381.G2Affine{k.BetaG2})
	var minus bls12381.G2Affine
	p.gamma = bls12381.PrecomputeLines(*minus.Neg(&k.GammaG2))
	p.delta = bls12381.PrecomputeLines(*minus.Neg(&k.DeltaG2))
	return p
}
