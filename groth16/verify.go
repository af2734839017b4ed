package groth16

import (
	"errors"
	"fmt"

	"github.com/consensys/gnark-crypto/ecc"
	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Verify checks that proof proves the statement with the given public inputs (without ONE):
//
//	e(A, B) = e(α, β) · e(IC₀ + Σ xᵢ·ICᵢ₊₁, γ) · e(C, δ)
//
// It returns nil if so, ErrInvalidProof if not, and ErrInputs if the number of inputs is wrong. It takes
// about 2 ms and 30 µs an input of one processor; the first use of a key takes a few milliseconds more.
func Verify(vk *VerifyingKey, proof Proof, publicInputs []fr.Element) error {
	if err := vk.accepts(&proof, publicInputs); err != nil {
		return err
	}
	k := vk.prepared()
	ic := k.inputSum(publicInputs)
	variable, err := bls12381.MillerLoop([]bls12381.G1Affine{proof.a}, []bls12381.G2Affine{proof.b})
	if err != nil {
		return fmt.Errorf("groth16: verify: %w", err)
	}
	fixed, err := k.fixedLoop(ic, proof.c)
	if err != nil {
		return fmt.Errorf("groth16: verify: %w", err)
	}
	if result := bls12381.FinalExponentiation(&variable, &fixed); !result.Equal(&k.alphaBeta) {
		return ErrInvalidProof
	}
	return nil
}

// errNoKey reports a VerifyingKey that was neither read nor made.
var errNoKey = errors.New("groth16: verify: no verifying key")

// accepts checks what can be checked without arithmetic.
func (k *VerifyingKey) accepts(proof *Proof, publicInputs []fr.Element) error {
	if k == nil || k.key == nil {
		return errNoKey
	}
	if len(publicInputs) != k.Inputs() {
		return fmt.Errorf("%w: %d, want %d", ErrInputs, len(publicInputs), k.Inputs())
	}
	if !proof.complete() {
		return fmt.Errorf("%w: point at infinity", ErrInvalidProof)
	}
	return nil
}

// inputSum returns IC₀ + Σ xᵢ·ICᵢ₊₁.
func (k *preparedKey) inputSum(x []fr.Element) bls12381.G1Affine {
	var sum bls12381.G1Jac
	sum.AddMixed(&k.ic[0])
	return k.addInputs(sum, x)
}

// addInputs returns start + Σ xᵢ·ICᵢ₊₁.
func (k *preparedKey) addInputs(start bls12381.G1Jac, x []fr.Element) bls12381.G1Affine {
	config := ecc.MultiExpConfig{NbTasks: 1}
	if len(x) > 1<<10 {
		config.NbTasks = 0 // all processors
	}
	var sum bls12381.G1Jac
	if len(x) > 0 {
		// The error is about slices of different lengths.
		_, _ = sum.MultiExp(k.ic[1:], x, config)
	}
	sum.AddAssign(&start)
	var out bls12381.G1Affine
	return *out.FromJacobian(&sum)
}

// fixedLoop is the Miller loop of e(ic, −γ)·e(c, −δ). A pair with the point at infinity is left
// out, since it stands for 1.
func (k *preparedKey) fixedLoop(ic, c bls12381.G1Affine) (bls12381.GT, error) {
	points := make([]bls12381.G1Affine, 0, 2)
	loops := make([]lines, 0, 2)
	if !ic.IsInfinity() {
		points, loops = append(points, ic), append(loops, k.gamma)
	}
	if !c.IsInfinity() {
		points, loops = append(points, c), append(loops, k.delta)
	}
	if len(points) == 0 {
		var one bls12381.GT
		return *one.SetOne(), nil
	}
	return bls12381.MillerLoopFixedQ(points, loops)
}
