package circuits

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/pce"
)

// Revision counts the changes in which variables the circuits below this package have, in what order, and which of them are
// bits. Witnesses do not fit constraint systems of another revision, so it is in the names of files that keep these.
const Revision = 1

// Circuit is one statement, with its witness or blank.
type Circuit interface {
	// Name names the constraint system and its key, for instance "porep-32GiB".
	Name() string
	// Synthesize describes the constraints. It may be called several times and concurrently.
	Synthesize(b pce.Builder) error
	// PublicInputs are the circuit's public inputs without ONE, computed natively from what a
	// verifier knows, not from the witness.
	PublicInputs() ([]fr.Element, error)
}
