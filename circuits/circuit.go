package circuits

import (
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/pce"
)

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
