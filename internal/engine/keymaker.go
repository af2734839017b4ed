package engine

import (
	"context"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// KeyMaker multiplies the standard generators for a key. It is for one goroutine.
//
// Methods call emit on the caller's goroutine with the encoded products in order, some at a time: 96 bytes each in G1, 192
// in G2. emit must not keep them. A factor of zero, whose product has no place in a key, is an error. The first error of
// emit ends a method, and so does the end of ctx, within a second, with context.Cause(ctx). A method that has failed leaves
// nothing running, and the KeyMaker can be used again unless its card is lost.
type KeyMaker interface {
	// G1 makes n products. scalars gives factors lo to hi−1 in turn; the KeyMaker is done with them at the next call.
	G1(ctx context.Context, n int, scalars func(lo, hi int) []fr.Element, emit func(encoded []byte) error) error
	// G1Powers is G1 with the factors scale·x^i, i = 0 … n−1.
	G1Powers(ctx context.Context, n int, x, scale fr.Element, emit func(encoded []byte) error) error
	// G2 is G1 in the other group.
	G2(ctx context.Context, n int, scalars func(lo, hi int) []fr.Element, emit func(encoded []byte) error) error
	// Close releases the KeyMaker's memory. Closing twice does nothing.
	Close() error
}
