package cpu

import (
	"sync"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

type element = fr.Element

// maxPooled bounds the vectors that are kept between proofs: those of one proof.
const maxPooled = 3

// pool keeps vectors of one size for reuse, so that proofs in a row do not pile up garbage of many
// gigabytes.
type pool struct {
	size int
	mu   sync.Mutex
	free [][]element
}

// get returns a vector of any contents.
func (p *pool) get() []element {
	p.mu.Lock()
	defer p.mu.Unlock()
	if n := len(p.free); n > 0 {
		v := p.free[n-1]
		p.free = p.free[:n-1]
		return v
	}
	return make([]element, p.size)
}

// put takes vectors back; nil ones are ignored.
func (p *pool) put(vs ...[]element) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, v := range vs {
		if v != nil && len(p.free) < maxPooled {
			p.free = append(p.free, v)
		}
	}
}

func (p *pool) drain() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.free = nil
}
