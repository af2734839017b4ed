// Package wire has the byte encodings that bellperson's files and proofs are made of: points of
// BLS12-381 as ZCash defined them, and scalars.
//
// A G1 coordinate is 48 bytes, big-endian; a G2 coordinate is c1 ‖ c0, 96 bytes. Uncompressed points
// are x ‖ y, compressed ones x alone. The three highest bits of the first byte are flags: compressed,
// infinity, and (compressed only) y being the larger of y and −y. Scalars are 32 bytes, little-endian.
//
// Decoding is strict: each value has one encoding and everything else is refused, with a [Reason]. The
// point at infinity is refused as such, because no key and no proof may contain it.
package wire
