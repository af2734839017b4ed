package post

import (
	"cmp"
	"crypto/sha256"
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Sector is what the chain knows about a sector that is to be proved.
type Sector struct {
	ID    uint64
	CommR [32]byte // sealed commitment, 32 bytes little-endian
}

// Statement is what the chain knows about a proof of spacetime: the arguments of VerifyWinningPoSt or
// VerifyWindowPoSt without the proof. The prover's id is not part of it: nothing depends on it.
type Statement struct {
	Proof      RegisteredProof
	Randomness [32]byte // a canonical field element, little-endian: callers clear the top two bits
	// Sectors are the challenged ones in the order of the circuits, ascending by id. A WinningPoSt has
	// one.
	Sectors []Sector

	// FirstPartition is the number of the partition to which the first sector belongs. It is 0 for a
	// whole proof; a single partition of a WindowPoSt is stated by its own sectors and its number.
	FirstPartition int
	// Partitions is how many partitions there must be, for instance 1 for a single one. 0: as many as
	// the sectors fill.
	Partitions int

	// Params override the parameters that Proof has, for test sectors of other sizes. Nil: those of
	// Proof.
	Params *Params
}

// Normalized is the statement as the reference's verifier takes it: sectors sorted by id, of those with
// the same id the last one only. s is not changed. That of nil is nil.
func (s *Statement) Normalized() *Statement {
	if s == nil {
		return nil
	}
	n := *s
	n.Sectors = slices.Clone(s.Sectors)
	slices.Reverse(n.Sectors) // so that the last of equals comes first
	slices.SortStableFunc(n.Sectors, func(a, b Sector) int { return cmp.Compare(a.ID, b.ID) })
	n.Sectors = slices.CompactFunc(n.Sectors, func(a, b Sector) bool { return a.ID == b.ID })
	return &n
}

// Validate refuses statements that no proof can have: unknown registered proofs, impossible Params,
// randomness that is no field element, a comm_r that is none or all zero, no sectors or more than the
// partitions hold, and sectors that are not in strictly ascending order.
//
// # Errors
//
// A [FieldError] that wraps [ErrNonCanonical] or [ErrZero]; a [CheckError] that wraps [ErrOrder] or
// [ErrDuplicate]; an error that wraps [ErrNil], [ErrProofType], [ErrParams], [ErrNoSectors],
// [ErrTooManySectors] or [ErrPartition].
func (s *Statement) Validate() error {
	_, err := s.claim()
	return err
}

// PartitionCount is the number of partitions. Errors as for [Statement.Validate].
func (s *Statement) PartitionCount() (int, error) {
	c, err := s.claim()
	if err != nil {
		return 0, err
	}
	return c.partitions, nil
}

// Challenges are the challenged leaves of each sector. Errors as for [Statement.Validate].
func (s *Statement) Challenges() ([][]uint64, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	out := make([][]uint64, len(s.Sectors))
	for i := range out {
		out[i] = c.challenges(i)
	}
	return out, nil
}

// PublicInputs are the public inputs of each partition without ONE, in the order of the circuit
// (§6.3): what a verifier computes from chain values alone. Errors as for [Statement.Validate].
func (s *Statement) PublicInputs() ([][]fr.Element, error) {
	c, err := s.claim()
	if err != nil {
		return nil, err
	}
	out := make([][]fr.Element, c.partitions)
	for k := range out {
		out[k] = c.partitionInputs(k)
	}
	return out, nil
}

// claim is a validated statement.
type claim struct {
	*Statement
	params     Params
	partitions int
	commR      []fr.Element // by sector
}

func (s *Statement) claim() (*claim, error) {
	if s == nil {
		return nil, ErrNil
	}
	c := &claim{Statement: s}
	if err := c.setParams(); err != nil {
		return nil, err
	}
	if err := c.setPartitions(); err != nil {
		return nil, err
	}
	if _, err := canonical("randomness", s.Randomness); err != nil {
		return nil, err
	}
	c.commR = make([]fr.Element, len(s.Sectors))
	for i, sector := range s.Sectors {
		field := fmt.Sprintf("sectors[%d].comm_r", i)
		if sector.CommR == [32]byte{} {
			return nil, &FieldError{Field: field, Err: ErrZero}
		}
		var err error
		if c.commR[i], err = canonical(field, sector.CommR); err != nil {
			return nil, err
		}
	}
	return c, c.ordered()
}

// setParams takes the override, if there is one, or the parameters of the registered proof.
func (c *claim) setParams() (err error) {
	c.params, err = c.Proof.Params()
	if err != nil || c.Params == nil {
		return err
	}
	if c.Params.Kind != c.params.Kind {
		return fmt.Errorf("%w: %v of %v", ErrParams, c.Params.Kind, c.Proof)
	}
	c.params = *c.Params
	return c.params.Validate()
}

func (c *claim) setPartitions() error {
	n, capacity := len(c.Sectors), c.params.SectorsPerPartition()
	if n == 0 {
		return ErrNoSectors
	}
	if c.FirstPartition < 0 || c.FirstPartition > maxSectorsOfAJob/capacity || c.Partitions < 0 {
		return fmt.Errorf("%w: %d partitions from number %d", ErrPartition, c.Partitions, c.FirstPartition)
	}
	c.partitions = (n + capacity - 1) / capacity
	want := c.Partitions
	if c.params.Kind == Winning {
		want = 1
		if c.FirstPartition != 0 || c.Partitions > 1 {
			return fmt.Errorf("%w: WinningPoSt has one", ErrPartition)
		}
	}
	switch {
	case want != 0 && c.partitions > want:
		return fmt.Errorf("%w: %d sectors, %d partitions of %d", ErrTooManySectors, n, want, capacity)
	case n > maxSectorsOfAJob:
		return fmt.Errorf("%w: %d sectors", ErrTooManySectors, n)
	case c.partitions < want:
		return fmt.Errorf("%w: %d sectors fill %d of %d partitions", ErrPartition, n, c.partitions, want)
	}
	return nil
}

// ordered refuses sectors that a verifier, which sorts them, would put in another order.
func (c *claim) ordered() error {
	for i := 1; i < len(c.Sectors); i++ {
		before, id := c.Sectors[i-1].ID, c.Sectors[i].ID
		switch {
		case id == before:
			return c.sectorError(i, ErrDuplicate, "as number %d and %d", i-1, i)
		case id < before:
			return c.sectorError(i, ErrOrder, "%d comes after %d", id, before)
		}
	}
	return nil
}

// sectorError is a CheckError about which sector number i is.
func (c *claim) sectorError(i int, sentinel error, format string, args ...any) error {
	return c.fail(i, -1, "sector_id", sentinel, format, args...)
}

// fail is a CheckError of sector number i.
func (c *claim) fail(i, challenge int, field string, sentinel error, format string, args ...any) error {
	return &CheckError{
		Sector: i, SectorID: c.Sectors[i].ID, Challenge: challenge, Field: field,
		Err: fmt.Errorf("%w: %s", sentinel, fmt.Sprintf(format, args...)),
	}
}

// challenges are the challenged leaves of sector number i, those of all its repetitions (§6.3).
func (c *claim) challenges(i int) []uint64 {
	return c.challengesAt(i, c.FirstPartition*c.params.SectorsPerPartition()+i)
}

// challengesAt are the challenged leaves of sector number i if it had the given place among all sectors, from
// which API 1.0.0 counts its challenges.
func (c *claim) challengesAt(i, place int) []uint64 {
	out := make([]uint64, c.params.PathsPerProof())
	number := uint64(0)
	if c.Proof.APIVersion() == APIv1_0 {
		number = uint64(place) * uint64(len(out))
	}
	var message [32 + 8 + 8]byte
	copy(message[:], c.Randomness[:])
	binary.LittleEndian.PutUint64(message[32:], c.Sectors[i].ID)
	for n := range out {
		binary.LittleEndian.PutUint64(message[40:], number+uint64(n))
		sum := sha256.Sum256(message[:])
		out[n] = binary.LittleEndian.Uint64(sum[:]) % c.params.Nodes()
	}
	return out
}

// slot is what a partition has at one of its places: a sector, and which of its challenges.
type slot struct{ sector, from, to int }

// slots of partition k. A partition that is not full repeats its last sector (§6.3).
func (c *claim) slots(k int) []slot {
	p := c.params
	first, last := k*p.SectorsPerPartition(), min((k+1)*p.SectorsPerPartition(), len(c.Sectors))-1
	out := make([]slot, p.Sectors)
	for i := range out {
		repeat := i % p.repeats()
		out[i] = slot{sector: min(first+i/p.repeats(), last), from: repeat * p.Challenges, to: (repeat + 1) * p.Challenges}
	}
	return out
}

// partitionInputs are the public inputs of partition k: for each sector comm_r and its challenges.
func (c *claim) partitionInputs(k int) []fr.Element {
	in := make([]fr.Element, 0, c.params.PublicInputCount())
	challenges := make(map[int][]uint64)
	for _, s := range c.slots(k) {
		if challenges[s.sector] == nil {
			challenges[s.sector] = c.challenges(s.sector)
		}
		in = append(in, c.commR[s.sector])
		for _, leaf := range challenges[s.sector][s.from:s.to] {
			in = append(in, fr.NewElement(leaf))
		}
	}
	return in
}

// canonical reads a field element, 32 bytes little-endian.
func canonical(field string, b [32]byte) (fr.Element, error) {
	e, err := fr.LittleEndian.Element(&b)
	if err != nil {
		return e, &FieldError{Field: field, Err: fmt.Errorf("%w: %x", ErrNonCanonical, b)}
	}
	return e, nil
}
