package srs

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"

	"github.com/gocuzk/cuzk/internal/wire"
)

// VerifyingKey is the verifier's part of a key; no point is at infinity.
type VerifyingKey struct {
	AlphaG1, BetaG1 bls12381.G1Affine
	BetaG2, GammaG2 bls12381.G2Affine
	DeltaG1         bls12381.G1Affine
	DeltaG2         bls12381.G2Affine
	IC              []bls12381.G1Affine // one for each public input, ONE first
}

const (
	countSize = 4
	// vkHeader is the size of a verifying key without its IC points.
	vkHeader = 3*wire.G1Size + 3*wire.G2Size + countSize
	// icStretch is how many points are read at once: memory follows the input, not the count.
	icStretch = 4096
)

// Size is the length of the key's encoding.
func (vk *VerifyingKey) Size() int64 { return vkHeader + int64(len(vk.IC))*wire.G1Size }

// Append appends the key's encoding.
func (vk *VerifyingKey) Append(b []byte) []byte {
	b = wire.AppendG1(b, &vk.AlphaG1)
	b = wire.AppendG1(b, &vk.BetaG1)
	b = wire.AppendG2(b, &vk.BetaG2)
	b = wire.AppendG2(b, &vk.GammaG2)
	b = wire.AppendG1(b, &vk.DeltaG1)
	b = wire.AppendG2(b, &vk.DeltaG2)
	b = binary.BigEndian.AppendUint32(b, uint32(len(vk.IC)))
	for i := range vk.IC {
		b = wire.AppendG1(b, &vk.IC[i])
	}
	return b
}

// ReadVerifyingKey reads a verifying key and checks every point, the subgroup included. It reads no
// further than the key's end. Faults are *Error; Index counts the six single points first, then IC.
func ReadVerifyingKey(r io.Reader, file string) (*VerifyingKey, error) {
	d := vkReader{r: r, file: file}
	vk := &VerifyingKey{
		AlphaG1: d.g1(), BetaG1: d.g1(), BetaG2: d.g2(), GammaG2: d.g2(), DeltaG1: d.g1(), DeltaG2: d.g2(),
	}
	count := int64(d.count())
	if d.err == nil && count == 0 {
		d.fail(-1, fmt.Errorf("%w: 0 inputs, but ONE is always there", ErrCount))
	}
	vk.IC = make([]bls12381.G1Affine, 0, min(count, icStretch))
	for d.err == nil && int64(len(vk.IC)) < count {
		vk.IC = append(vk.IC, d.g1())
	}
	if d.err != nil {
		return nil, d.err
	}
	return vk, nil
}

// vkReader reads points one after another and keeps the first fault.
type vkReader struct {
	r      io.Reader
	file   string
	offset int64
	index  int
	buf    [wire.G2Size]byte
	err    error
}

func (d *vkReader) read(n int) []byte {
	if d.err != nil {
		return nil
	}
	if _, err := io.ReadFull(d.r, d.buf[:n]); err != nil {
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			err = ErrTruncated
		}
		d.fail(d.index, err)
		return nil
	}
	return d.buf[:n]
}

func (d *vkReader) fail(index int, err error) {
	d.err = &Error{File: d.file, Section: VK, Index: index, Offset: d.offset, Err: err}
}

func (d *vkReader) g1() (p bls12381.G1Affine) {
	b := d.read(wire.G1Size)
	if b == nil {
		return p
	}
	p, err := wire.G1(b)
	if err == nil {
		err = wire.CheckG1(&p)
	}
	d.done(len(b), err)
	return p
}

func (d *vkReader) g2() (p bls12381.G2Affine) {
	b := d.read(wire.G2Size)
	if b == nil {
		return p
	}
	p, err := wire.G2(b)
	if err == nil {
		err = wire.CheckG2(&p)
	}
	d.done(len(b), err)
	return p
}

func (d *vkReader) done(n int, err error) {
	if err != nil {
		d.fail(d.index, err)
		return
	}
	d.offset += int64(n)
	d.index++
}

func (d *vkReader) count() uint32 {
	b := d.read(countSize)
	if b == nil {
		return 0
	}
	d.offset += countSize
	return binary.BigEndian.Uint32(b)
}
