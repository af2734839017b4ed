package porep

import (
	"encoding/base64"
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/sectorsize"
)

// C1 is a decoded phase-1 output: the vanilla proofs of a sector and the values they were made for.
type C1 struct {
	Proof  RegisteredProof
	Params Params // of Proof, or those the caller gave
	// Lotus is what Lotus's wrapper says about the sector; nil if there was no wrapper.
	Lotus *Lotus

	CommR, CommD, ReplicaID [32]byte // canonical field elements, little-endian
	Seed, Ticket            [32]byte

	// Partitions are Params.Partitions lists of Params.Challenges vanilla proofs.
	Partitions [][]Challenge
}

// Lotus is Lotus's wrapper around a phase-1 output.
type Lotus struct {
	SectorNumber uint64
	SectorSize   uint64 // bytes
}

// DecodeOptions tune [DecodeC1]. Nil and the zero value mean the defaults.
type DecodeOptions struct {
	// Params replace the parameters of the registered proof that the document names. They are for
	// test sectors that have the trees of a registered size but fewer nodes, layers or challenges.
	Params *Params
}

// DecodeC1 reads a phase-1 output of the seal: the JSON of the reference's SealCommitPhase1Output, or
// Lotus's wrapper {"SectorNum", "Phase1Out", "SectorSize"} with that JSON in base64. It tells them
// apart by their fields (spec §8.2).
//
// Fields come in any order; fields that are not known are ignored. Everything the circuit uses must
// be there, of the right length and canonical, with as many partitions, challenges, layers, parents
// and siblings as the registered proof has. Of labeling_proofs and encoding_proof only node and
// layer_index are compared; the labels in them repeat those of the parents' columns, which the circuit
// takes, and are read but not kept.
//
// Non-interactive outputs are decoded too, though nothing else here supports them yet.
//
// # Errors
//
// A [DecodeError] with the path to the field and the offset. It wraps a sentinel of this package,
// io.ErrUnexpectedEOF for a truncated document, or the error of r. Impossible o.Params answer an error
// that wraps [ErrParams].
//
// # Memory
//
// What the vanilla proofs need (about 12 MB for 32 GiB) and 64 KiB of buffer, 128 KiB with Lotus's
// wrapper; never more than a small multiple of what was read. r is read to its end.
func DecodeC1(r io.Reader, o *DecodeOptions) (*C1, error) {
	if r == nil {
		return nil, ErrNil
	}
	d := &decoder{scanner: newScanner(r)}
	if o != nil && o.Params != nil {
		if err := o.Params.Validate(); err != nil {
			return nil, err
		}
		d.override = o.Params
	}
	if err := d.document(); err != nil {
		return nil, err
	}
	if err := d.finish(); err != nil {
		return nil, err
	}
	out := d.out // without the decoder and its buffer
	return &out, nil
}

// decoder reads one document.
type decoder struct {
	*scanner
	override *Params // nil: by registered proof
	out      C1
	params   Params  // of the vanilla proofs being read
	variant  variant // under which they were filed
	levels   []int   // of trees C and R
}

// variant is the key of the vanilla proofs.
type variant struct {
	name string
	size uint64 // bytes
	end  int64  // offset after the vanilla proofs
}

// The fields of both forms of the document.
const (
	fieldProof = iota
	fieldVanilla
	fieldCommR
	fieldCommD
	fieldReplicaID
	fieldSeed
	fieldTicket

	fieldSectorNum
	fieldPhase1Out
	fieldSectorSize

	rawFields   = 1<<fieldSectorNum - 1
	lotusFields = 1<<fieldSectorNum | 1<<fieldPhase1Out | 1<<fieldSectorSize
)

// fieldNames are the names in the order of the constants.
func fieldNames() []string {
	return []string{
		"registered_proof", "vanilla_proofs", "comm_r", "comm_d", "replica_id", "seed", "ticket",
		"SectorNum", "Phase1Out", "SectorSize",
	}
}

// document reads either form. Lotus's is the one that has Phase1Out.
func (d *decoder) document() error {
	names := fieldNames()
	lotus := &Lotus{}
	var after int64
	seen, err := d.fields(names, func(field int) (err error) {
		switch field {
		case fieldSectorNum:
			lotus.SectorNumber, err = d.uint(math.MaxUint64)
		case fieldSectorSize:
			lotus.SectorSize, err = d.uint(math.MaxUint64)
			after = d.offset()
		case fieldPhase1Out:
			err = d.phase1Out()
		default:
			err = d.field(field)
		}
		return err
	})
	if err != nil {
		return err
	}
	if seen>>fieldPhase1Out&1 == 0 {
		return d.complete(names, seen, rawFields)
	}
	if both := seen & rawFields; both != 0 {
		return d.failf(ErrDuplicate, "Phase1Out beside fields of a raw document")
	}
	if err := d.missing(names, seen, lotusFields); err != nil {
		return err
	}
	d.out.Lotus = lotus
	if want := d.out.Params.SectorSize; lotus.SectorSize != want {
		err := fmt.Errorf("%w: %d, but %v has %s", ErrSectorSize, lotus.SectorSize, d.out.Proof, sectorsize.Format(want))
		return &DecodeError{Path: names[fieldSectorSize], Offset: after, Err: err}
	}
	return nil
}

// phase1Out reads the raw document inside the wrapper.
func (d *decoder) phase1Out() error {
	if err := d.expect('"', "a string"); err != nil {
		return err
	}
	source := &base64Source{r: stringReader{d.scanner}}
	outer := d.scanner
	d.scanner = newScanner(&base64Reader{r: base64.NewDecoder(base64.StdEncoding, source)})
	defer func() { d.scanner = outer }()

	names := fieldNames()[:fieldSectorNum]
	seen, err := d.fields(names, d.field)
	if err != nil {
		return err
	}
	if err := d.complete(names, seen, rawFields); err != nil {
		return err
	}
	return d.finish()
}

// offset is the number of bytes read.
func (s *scanner) offset() int64 { return s.base + int64(s.pos) }

// missing reports the first field of want that was not seen.
func (d *decoder) missing(names []string, seen, want uint) error {
	for i, name := range names {
		if want&^seen>>i&1 != 0 {
			return inField(name, d.fail(ErrMissing))
		}
	}
	return nil
}

// complete ends a raw document: all fields are there and they agree with the registered proof.
func (d *decoder) complete(names []string, seen, want uint) error {
	if err := d.missing(names, seen, want); err != nil {
		return err
	}
	at := func(err error) error {
		return &DecodeError{Path: names[fieldVanilla] + "." + d.variant.name, Offset: d.variant.end, Err: err}
	}
	p := d.out.Proof
	if p.SectorSize() != d.variant.size {
		return at(fmt.Errorf("%w: registered proof is %v", ErrVariant, p))
	}
	d.out.Params = d.params
	if d.override == nil {
		params, err := p.Params()
		if err != nil {
			return at(err)
		}
		d.out.Params = params
	}
	if got, want := len(d.out.Partitions), d.out.Params.Partitions; got != want {
		return at(fmt.Errorf("%w: %d partitions, %v has %d", ErrCount, got, p, want))
	}
	return nil
}

// field reads the value of a field of the raw document.
func (d *decoder) field(field int) error {
	switch field {
	case fieldProof:
		return d.registeredProof()
	case fieldVanilla:
		return d.vanillaProofs()
	case fieldCommR:
		return d.commitment(&d.out.CommR, commitment)
	case fieldCommD:
		return d.commitment(&d.out.CommD, commitment)
	case fieldReplicaID:
		return d.commitment(&d.out.ReplicaID, canonical)
	case fieldTicket:
		return d.bytes32(&d.out.Ticket)
	}
	err := d.bytes32(&d.out.Seed) // fieldSeed, the only one left
	if err == nil && d.out.Seed == [32]byte{} {
		err = d.fail(ErrZero)
	}
	return err
}

// registeredProof reads the name of the registered proof.
func (d *decoder) registeredProof() (err error) {
	var room [maxKey]byte
	name, err := d.text(room[:0])
	if err != nil {
		return err
	}
	if d.out.Proof, err = ParseRegisteredProof(string(name)); err != nil {
		return d.fail(err)
	}
	return nil
}

// commitment reads 32 bytes and applies the check of a statement's field to them.
func (d *decoder) commitment(dst *[32]byte, check func(field string, b [32]byte) (fr.Element, error)) error {
	if err := d.bytes32(dst); err != nil {
		return err
	}
	_, err := check("", *dst)
	var field *FieldError
	if errors.As(err, &field) {
		return d.fail(field.Err)
	}
	return err
}

// base64Source passes base64 text on and refuses what follows padding, which the decoder behind it
// would take for another text.
type base64Source struct {
	r      io.Reader
	padded bool
}

// Read implements io.Reader.
func (b *base64Source) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	for i, c := range p[:n] {
		if b.padded && c != '=' && c != '\r' && c != '\n' {
			return i, fmt.Errorf("%w: %q after padding", ErrBase64, c)
		}
		b.padded = b.padded || c == '='
	}
	return n, err
}

// base64Reader gives the errors of a base64 decoder this package's type.
type base64Reader struct{ r io.Reader }

// Read implements io.Reader.
func (b *base64Reader) Read(p []byte) (int, error) {
	n, err := b.r.Read(p)
	var corrupt base64.CorruptInputError
	switch {
	case errors.As(err, &corrupt):
		err = fmt.Errorf("%w: %v", ErrBase64, corrupt)
	case err == io.ErrUnexpectedEOF: // the decoder's own; that of a truncated document is a DecodeError
		err = fmt.Errorf("%w: incomplete at its end", ErrBase64)
	}
	return n, err
}
