package groth16

import (
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/pce"
)

// Match returns a *[MismatchError] unless the key's counts are those of the constraint system. That the key is for this very
// system only its proofs tell.
func (k *ProvingKey) Match(system *pce.System) error {
	if err := checkSystem("match", system); err != nil {
		return err
	}
	return match(k.key, system.Name(), system.Layout())
}

// match returns a *MismatchError unless the counts of the key are those of the constraint system with the given layout.
func match(key *srs.Key, circuit string, layout *pce.Layout) error {
	c, d := layout.Counts, &layout.Densities
	for _, x := range []struct {
		what             string
		inKey, inCircuit int
	}{
		{"public inputs", len(key.VerifyingKey().IC), c.Inputs},
		{"private variables", key.Len(srs.L), c.Aux},
		{"points in the domain", key.Len(srs.H) + 1, domainSize(c)},
		{"variables in A", key.Len(srs.A), c.Inputs + d.AAux.Count()},
		{"variables in B", key.Len(srs.BG1), d.BInput.Count() + d.BAux.Count()},
	} {
		if x.inKey != x.inCircuit {
			return &MismatchError{Key: key.Path(), System: circuit, What: x.what, InKey: x.inKey, InSystem: x.inCircuit}
		}
	}
	return nil
}
