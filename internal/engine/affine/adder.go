package affine

import "unsafe"

// batchSize is the number of additions that share an inversion. An inversion costs about a hundred
// multiplications; what a batch touches (0.4 MB in G1) should stay in the second-level cache.
const batchSize = 1024

// Adder gathers additions of points and does them in batches. It is not safe for concurrent use.
type Adder[E any, P Field[E]] struct {
	jobs []job[E]
	den  []E // denominators of the slopes
	prod []E // products of the denominators up to and including each

	inv, slope, t, u Point[E] // scratch; only coordinates are used
}

type job[E any] struct {
	out, p, q  *Point[E]
	negP, negQ bool
	kind       kind
}

// kind is the case of the group law that an addition is.
type kind uint8

const (
	kindDone   kind = iota // an operand was the point at infinity, or the result is
	kindChord              // the operands have different x
	kindDouble             // the operands are equal
)

// NewAdder returns an Adder.
func NewAdder[E any, P Field[E]]() *Adder[E, P] {
	return &Adder[E, P]{
		jobs: make([]job[E], 0, batchSize),
		den:  make([]E, batchSize),
		prod: make([]E, batchSize),
	}
}

// Add arranges for *out = ±p ± q, minus where negP or negQ says so. It happens any time until Flush
// returns: until then nobody may write p or q or read out, other additions included. out may be p or q
// itself.
func (a *Adder[E, P]) Add(out, p, q *Point[E], negP, negQ bool) {
	prefetch(p)
	prefetch(q)
	a.jobs = append(a.jobs, job[E]{out: out, p: p, q: q, negP: negP, negQ: negQ})
	if len(a.jobs) == batchSize {
		a.Flush()
	}
}

// prefetch has a point brought into the cache while its addition waits for the batch to fill. Operands lie all over
// memory; without this a tenth of the time is spent waiting for them.
func prefetch[E any](p *Point[E]) {
	at := unsafe.Pointer(p)
	for n := uintptr(0); n < unsafe.Sizeof(*p); n += 96 {
		prefetch96(unsafe.Add(at, n))
	}
}

// Flush does the additions that are still waiting.
func (a *Adder[E, P]) Flush() {
	a.settleInfinity()
	last := -1 // last addition that needs an inverse
	for i := range a.jobs {
		j := &a.jobs[i]
		if j.kind == kindDone {
			continue
		}
		a.denominator(j, &a.den[i])
		switch {
		case j.kind == kindDone:
			continue
		case last < 0:
			a.prod[i] = a.den[i]
		default:
			P(&a.prod[i]).Mul(&a.prod[last], &a.den[i])
		}
		last = i
	}
	if last >= 0 {
		P(&a.inv.X).Inverse(&a.prod[last])
		a.finishAll(last)
	}
	a.jobs = a.jobs[:0]
}

// settleInfinity does the additions of the point at infinity.
func (a *Adder[E, P]) settleInfinity() {
	for i := range a.jobs {
		j := &a.jobs[i]
		j.kind = kindChord
		if a.isInfinity(j.p) {
			a.copy(j.out, j.q, j.negQ)
			j.kind = kindDone
		} else if a.isInfinity(j.q) {
			a.copy(j.out, j.p, j.negP)
			j.kind = kindDone
		}
	}
}

func (a *Adder[E, P]) isInfinity(p *Point[E]) bool { return P(&p.X).IsZero() && P(&p.Y).IsZero() }

func (a *Adder[E, P]) copy(out, p *Point[E], neg bool) {
	*out = *p
	if neg {
		P(&out.Y).Neg(&out.Y)
	}
}

// denominator sets den to the denominator of the slope, x₂ − x₁ or 2y, and finds out the kind.
func (a *Adder[E, P]) denominator(j *job[E], den *E) {
	if P(den).Sub(&j.q.X, &j.p.X); !P(den).IsZero() {
		return
	}
	if P(&j.p.Y).Equal(&j.q.Y) != (j.negP == j.negQ) || P(&j.p.Y).IsZero() {
		*j.out = Point[E]{}
		j.kind = kindDone
		return
	}
	j.kind = kindDouble
	P(den).Double(&j.p.Y)
	if j.negP {
		P(den).Neg(den)
	}
}

// finishAll does the jobs up to last, given the inverse of the product of their denominators.
func (a *Adder[E, P]) finishAll(last int) {
	inv, d := P(&a.inv.X), &a.inv.Y
	for i := last; ; {
		before := i - 1
		for before >= 0 && a.jobs[before].kind == kindDone {
			before--
		}
		if before < 0 {
			a.finish(&a.jobs[i], &a.inv.X)
			return
		}
		P(d).Mul(&a.inv.X, &a.prod[before])
		inv.Mul(&a.inv.X, &a.den[i])
		a.finish(&a.jobs[i], d)
		i = before
	}
}

// finish does one addition, given the inverse d of its slope's denominator.
func (a *Adder[E, P]) finish(j *job[E], d *E) {
	slope, y := P(&a.slope.X), &a.t.Y
	*y = j.p.Y
	if j.negP {
		P(y).Neg(y)
	}
	switch {
	case j.kind == kindDouble: // 3x² / 2y
		slope.Square(&j.p.X)
		P(&a.slope.Y).Double(&a.slope.X)
		slope.Add(&a.slope.X, &a.slope.Y)
	case j.negQ: // (−y₂ − y₁) / (x₂ − x₁)
		slope.Add(&j.q.Y, y)
		slope.Neg(&a.slope.X)
	default:
		slope.Sub(&j.q.Y, y)
	}
	slope.Mul(&a.slope.X, d)
	x := P(&a.t.X)
	x.Square(&a.slope.X)
	x.Sub(&a.t.X, &j.p.X)
	x.Sub(&a.t.X, &j.q.X)
	u := P(&a.u.X)
	u.Sub(&j.p.X, &a.t.X)
	u.Mul(&a.u.X, &a.slope.X)
	P(&j.out.Y).Sub(&a.u.X, y)
	j.out.X = a.t.X
}

// Sum returns the sum of points, which it overwrites.
func (a *Adder[E, P]) Sum(points []Point[E]) Point[E] {
	n := len(points)
	if n == 0 {
		return Point[E]{}
	}
	for n > 1 {
		half := n / 2
		for i := range half {
			a.Add(&points[i], &points[i], &points[n-1-i], false, false)
		}
		a.Flush()
		n -= half
	}
	return points[0]
}

// AddOne sets *out = ±p ± q at once, at the cost of an inversion.
func (a *Adder[E, P]) AddOne(out, p, q *Point[E], negP, negQ bool) {
	a.Add(out, p, q, negP, negQ)
	a.Flush()
}
