package affine

// worker is what one goroutine needs to add points to buckets.
type worker[E any, P Field[E]] struct {
	add   *Adder[E, P]
	digit []uint32 // by term: magnitude of the digit; negTerm marks those to be subtracted
	end   []uint32 // by bucket: end of its list in order
	order []uint32 // term numbers, sorted by bucket, with the mark
	heads []list   // buckets with points left, in order
	now   []Point[E]
	then  []Point[E]
}

// list is the points that wait for one bucket: n of them, next to each other.
type list struct{ bucket, n uint32 }

const negTerm = 1 << 31

func newWorker[E any, P Field[E]](buckets int) *worker[E, P] {
	return &worker[E, P]{add: NewAdder[E, P](), end: make([]uint32, buckets)}
}

// reserve makes room for pieces of n terms.
func (k *worker[E, P]) reserve(n int) {
	if len(k.order) < n {
		k.digit, k.order = make([]uint32, n), make([]uint32, n)
		k.now = make([]Point[E], n/2+1)
		k.then = make([]Point[E], n/4+1)
	}
}

// sort adds the points, at most pieceSize, to the buckets of the lane's window.
//
// The points of one bucket are added up pairwise, in rounds, so that the additions of a round are independent.
// In each round a bucket also takes the point that has no partner. All equal scalars, which put
// everything into one bucket, just make more rounds of the same number of additions.
func (k *worker[E, P]) sort(r *radix, l *lane[E, P], points []Point[E], split []digits) {
	n := k.group(r, l.window, split)
	if len(k.now) < len(k.then) { // an odd number of rounds has swapped them
		k.now, k.then = k.then, k.now
	}
	out := 0
	k.heads = k.heads[:0]
	for bucket, from := 0, uint32(0); int(from) < n; bucket++ {
		end := k.end[bucket]
		terms := k.order[from:end]
		from = end
		if len(terms)%2 == 1 {
			last := terms[len(terms)-1]
			b := &l.buckets[bucket]
			k.add.Add(b, b, &points[last&^negTerm], false, last&negTerm != 0)
		}
		for i := 0; i+1 < len(terms); i += 2 {
			p, q := terms[i], terms[i+1]
			k.add.Add(&k.now[out], &points[p&^negTerm], &points[q&^negTerm], p&negTerm != 0, q&negTerm != 0)
			out++
		}
		if len(terms) > 1 {
			k.heads = append(k.heads, list{uint32(bucket), uint32(len(terms) / 2)})
		}
	}
	k.add.Flush()
	for len(k.heads) > 0 {
		k.round(l)
	}
}

// group sorts the terms with a digit other than 0 by bucket. It returns their number.
func (k *worker[E, P]) group(r *radix, window int, split []digits) int {
	clear(k.end)
	for i := range split {
		d, neg := r.digit(&split[i], window)
		if d != 0 {
			k.end[d-1]++
		}
		if neg {
			d |= negTerm
		}
		k.digit[i] = d
	}
	total := uint32(0)
	for i, n := range k.end {
		k.end[i] = total // for now where the list starts
		total += n
	}
	for i := range split {
		d := k.digit[i] &^ negTerm
		if d == 0 {
			continue
		}
		k.order[k.end[d-1]] = uint32(i) | k.digit[i]&negTerm
		k.end[d-1]++
	}
	return int(total)
}

// round halves every list.
func (k *worker[E, P]) round(l *lane[E, P]) {
	in, out := 0, 0
	heads := k.heads[:0]
	for _, h := range k.heads {
		points := k.now[in : in+int(h.n)]
		in += int(h.n)
		if h.n%2 == 1 {
			b := &l.buckets[h.bucket]
			k.add.Add(b, b, &points[h.n-1], false, false)
		}
		for i := 0; i+1 < len(points); i += 2 {
			k.add.Add(&k.then[out], &points[i], &points[i+1], false, false)
			out++
		}
		if h.n > 1 {
			heads = append(heads, list{h.bucket, h.n / 2})
		}
	}
	k.add.Flush()
	k.heads = heads
	k.now, k.then = k.then, k.now
}
