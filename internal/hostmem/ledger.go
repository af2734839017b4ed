package hostmem

import "sync/atomic"

// Purpose says what memory is for.
type Purpose int

// The purposes there are.
const (
	ProvingKey Purpose = iota
	ConstraintSystem
	numPurposes
)

func (p Purpose) String() string {
	switch p {
	case ProvingKey:
		return "proving key"
	case ConstraintSystem:
		return "constraint system"
	}
	return "other"
}

// Ledger counts mapped bytes by purpose. The zero Ledger is ready; a nil one counts nothing. It may be used by
// several goroutines.
type Ledger struct {
	bytes [numPurposes]atomic.Int64
}

// Bytes is what is mapped for p now.
func (l *Ledger) Bytes(p Purpose) int64 {
	if l == nil || p < 0 || p >= numPurposes {
		return 0
	}
	return l.bytes[p].Load()
}

func (l *Ledger) add(p Purpose, n int64) {
	if l != nil && p >= 0 && p < numPurposes {
		l.bytes[p].Add(n)
	}
}
