package groth16

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Secrets are the numbers behind a key. Whoever knows them can prove anything under it.
type Secrets struct {
	Alpha, Beta, Gamma, Delta, Tau fr.Element
}

// RandomSecrets draws secrets from the system's source of randomness.
func RandomSecrets() (*Secrets, error) {
	var s Secrets
	for _, f := range s.fields() {
		for f.value.IsZero() {
			if _, err := f.value.SetRandom(); err != nil {
				return nil, fmt.Errorf("groth16: random secrets: %w", err)
			}
		}
	}
	return &s, nil
}

type secretField struct {
	name  string
	value *fr.Element
}

func (s *Secrets) fields() []secretField {
	return []secretField{
		{"alpha", &s.Alpha}, {"beta", &s.Beta}, {"gamma", &s.Gamma}, {"delta", &s.Delta}, {"tau", &s.Tau},
	}
}

// validate refuses values that give no key.
func (s *Secrets) validate() error {
	for _, f := range s.fields() {
		if f.value.IsZero() {
			return fmt.Errorf("groth16: secret %s is zero", f.name)
		}
	}
	return nil
}
