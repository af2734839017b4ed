package wire

import (
	"encoding/binary"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// FrSize is the size of an encoded scalar.
const FrSize = fr.Bytes

// Fr decodes a scalar: 32 bytes, little-endian, below r. The reasons are Length and NotReduced.
func Fr(b []byte) (fr.Element, error) {
	if len(b) != FrSize {
		return fr.Element{}, Length
	}
	e, err := fr.LittleEndian.Element((*[FrSize]byte)(b))
	if err != nil {
		return fr.Element{}, NotReduced
	}
	return e, nil
}

// AppendFr appends the encoding of e.
func AppendFr(dst []byte, e *fr.Element) []byte {
	for _, w := range e.Bits() {
		dst = binary.LittleEndian.AppendUint64(dst, w)
	}
	return dst
}
