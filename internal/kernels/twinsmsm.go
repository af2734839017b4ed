package kernels

import (
	"math/big"
	"math/bits"
	"sort"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

const (
	noBucket = 0xffffffff
	signBit  = 1 << 31
)

func classifyTwin(m Memory, _ gpu.Grid, p *classifyParams) {
	n := int(p.N)
	scalars, counts := at[fr.Element](m, p.Scalars, n), at[uint32](m, p.Counts, 2)
	dense, ones := at[uint32](m, p.Dense, n), at[uint32](m, p.Ones, n)
	one := fr.Element{1}
	if p.Montgomery != 0 {
		one.SetOne()
	}
	for i := range uint32(n) {
		switch s := scalars[i]; {
		case s == one:
			ones[counts[1]] = i
			counts[1]++
		case s != fr.Element{}:
			dense[counts[0]] = i
			counts[0]++
		}
	}
}

// limbsToInt is the number with these limbs.
func limbsToInt(limbs []uint32) *big.Int {
	v := new(big.Int)
	for i := len(limbs) - 1; i >= 0; i-- {
		v.Lsh(v, 32).Or(v, big.NewInt(int64(limbs[i])))
	}
	return v
}

func digitsTwin(m Memory, _ gpu.Grid, p *digitsParams) {
	dense := at[uint32](m, p.Dense, int(p.M))
	entries := int(p.Windows) * int(p.M)
	codes, ranks := at[uint32](m, p.Codes, entries), at[uint32](m, p.Ranks, entries)
	counts := at[uint32](m, p.Counts, int(p.Windows)<<(p.C-1))
	offset := limbsToInt(p.Offset[:])
	half := int64(1) << (p.C - 1)
	mask := big.NewInt(2*half - 1)
	for i, idx := range dense {
		s := at[fr.Element](m, p.Scalars+uint64(idx)*fr.Bytes, 1)[0]
		if p.Montgomery != 0 {
			s = fr.Element(s.Bits())
		}
		v := new(big.Int)
		for k := 3; k >= 0; k-- {
			v.Lsh(v, 64).Or(v, new(big.Int).SetUint64(s[k]))
		}
		var sign uint32
		if t := new(big.Int).Sub(fr.Modulus(), v); t.Cmp(v) < 0 {
			v, sign = t, signBit
		}
		v.Add(v, offset)
		for w := range int(p.Windows) {
			u := new(big.Int).Rsh(v, uint(int(p.C)*(int(p.First)+w)))
			digit := u.And(u, mask).Int64() - half
			at := w*int(p.M) + i
			if digit == 0 {
				codes[at] = noBucket
				continue
			}
			code := sign
			if digit < 0 {
				digit, code = -digit, sign^signBit
			}
			bucket := uint32(digit - 1)
			codes[at] = bucket | code
			c := &counts[w<<(p.C-1)+int(bucket)]
			ranks[at] = *c
			*c++
		}
	}
}

func scanSumsTwin(m Memory, _ gpu.Grid, p *scanParams) {
	sums, values := at[uint32](m, p.Sums, int(p.Blocks)), at[uint32](m, p.Values, int(p.N))
	clear(sums)
	for i, v := range values {
		sums[i/scanBlock] += v
	}
}

func scanSpineTwin(m Memory, _ gpu.Grid, p *scanParams) {
	prefixSums(at[uint32](m, p.Sums, int(p.Blocks)), 0)
}

func scanApplyTwin(m Memory, _ gpu.Grid, p *scanParams) {
	values := at[uint32](m, p.Values, int(p.N)+1)
	values[p.N] = 0
	for b, before := range at[uint32](m, p.Sums, int(p.Blocks)) {
		prefixSums(values[b*scanBlock:min((b+1)*scanBlock, len(values))], before)
	}
}

func prefixSums(v []uint32, before uint32) {
	for i := range v {
		v[i], before = before, before+v[i]
	}
}

func scatterTwin(m Memory, _ gpu.Grid, p *scatterParams) {
	entries := int(p.Windows) * int(p.M)
	dense, codes := at[uint32](m, p.Dense, int(p.M)), at[uint32](m, p.Codes, entries)
	ranks, sorted := at[uint32](m, p.Ranks, entries), at[uint32](m, p.Sorted, entries)
	offsets := at[uint32](m, p.Offsets, int(p.Windows)<<(p.C-1))
	for i, code := range codes {
		if code != noBucket {
			bucket := offsets[i/int(p.M)<<(p.C-1)+int(code&^signBit)]
			sorted[bucket+ranks[i]] = dense[i%int(p.M)] | code&signBit
		}
	}
}

func bitsTwin(m Memory, _ gpu.Grid, p *bitsParams) {
	counts := at[uint32](m, p.Counts, 1)
	for i, w := range at[uint32](m, p.Bits, int(p.Words)) {
		mask, first := ^uint32(0), uint32(32*i)
		if p.Mask != 0 {
			mask, first = at[uint32](m, p.Mask, int(p.Words))[i], at[uint32](m, p.Rank, int(p.Words))[i]
		}
		if w &= mask; i == int(p.Words)-1 {
			w &= p.Last
		}
		for ; w != 0; w &= w - 1 {
			below := w&-w - 1
			at[uint32](m, p.List+4*uint64(counts[0]), 1)[0] = first + uint32(bits.OnesCount32(mask&below))
			counts[0]++
		}
	}
}

// groupTwin is what the twins need of a group: A is its affine type, X its sums.
type groupTwin[A, X any] struct {
	lanes  int // of the card that share a sum
	affine func(A) X
	neg    func(*A)
	add    func(a, b X) X
}

func groupG1() groupTwin[bls12381.G1Affine, G1Xyzz] {
	return groupTwin[bls12381.G1Affine, G1Xyzz]{
		lanes: curveG1.lanes,
		affine: func(a bls12381.G1Affine) G1Xyzz {
			var j bls12381.G1Jac
			j.FromAffine(&a)
			return g1FromJac(&j)
		},
		neg: func(a *bls12381.G1Affine) { a.Neg(a) },
		add: func(a, b G1Xyzz) G1Xyzz {
			j, k := a.Jac(), b.Jac()
			j.AddAssign(&k)
			return g1FromJac(&j)
		},
	}
}

func groupG2() groupTwin[bls12381.G2Affine, G2Xyzz] {
	return groupTwin[bls12381.G2Affine, G2Xyzz]{
		lanes: curveG2.lanes,
		affine: func(a bls12381.G2Affine) G2Xyzz {
			var j bls12381.G2Jac
			j.FromAffine(&a)
			return g2FromJac(&j)
		},
		neg: func(a *bls12381.G2Affine) { a.Neg(a) },
		add: func(a, b G2Xyzz) G2Xyzz {
			j, k := a.Jac(), b.Jac()
			j.AddAssign(&k)
			return g2FromJac(&j)
		},
	}
}

func (g groupTwin[A, X]) register(d map[string]Twin, name string) {
	twinOf(d, "msm_accumulate_"+name, g.accumulate)
	twinOf(d, "msm_merge_"+name, g.merge)
	twinOf(d, "msm_segments_"+name, g.segments)
	twinOf(d, "msm_items_"+name, g.items)
	twinOf(d, "msm_reduce_"+name, g.reduce)
	twinOf(d, "msm_fold_"+name, g.fold)
}

// one is the value with index i of an array on the card.
func one[T any](m Memory, ptr uint64, i int) *T {
	var t T
	return &at[T](m, ptr+uint64(i)*uint64(unsafe.Sizeof(t)), 1)[0]
}

func (g groupTwin[A, X]) accumulate(m Memory, grid gpu.Grid, p *accumulateParams) {
	offsets := at[uint32](m, p.Offsets, int(p.Buckets)+1)
	entries := int(offsets[p.Buckets])
	last := min(int(p.Threads), int(p.First)+grid.Blocks*grid.Threads/g.lanes)
	for t := int(p.First); t < last; t++ {
		tail := one[uint32](m, p.TailBucket, t)
		*tail = noBucket
		begin := t * int(p.Run)
		if begin >= entries {
			continue
		}
		end := min(begin+int(p.Run), entries)
		b := sort.Search(len(offsets), func(i int) bool { return int(offsets[i]) > begin }) - 1
		for e := begin; e < end; b++ {
			stop := min(end, int(offsets[b+1]))
			if e == stop {
				continue // no entries
			}
			started := int(offsets[b]) < begin
			var sum X
			for ; e < stop; e++ {
				s := *one[uint32](m, p.Sorted, e)
				q := *one[A](m, p.Points, int(s&^signBit))
				if s&signBit != 0 {
					g.neg(&q)
				}
				sum = g.add(sum, g.affine(q))
			}
			switch {
			case started:
				*one[X](m, p.Heads, t) = sum
			case int(offsets[b+1]) > end:
				*one[X](m, p.Tails, t) = sum
				*tail = uint32(b)
			default:
				*one[X](m, p.Sums, b) = sum
			}
		}
	}
}

func (g groupTwin[A, X]) merge(m Memory, _ gpu.Grid, p *mergeParams) {
	counts := at[uint32](m, p.Counts, 2)
	for t := range p.Threads {
		b := *one[uint32](m, p.TailBucket, int(t))
		if b == noBucket {
			continue
		}
		u := (*one[uint32](m, p.Offsets, int(b)+1) - 1) / p.Run
		if u-t > lightSpan {
			n := (u - t + segment - 1) / segment
			copy(at[uint32](m, p.Items+16*uint64(counts[1]), 4), []uint32{b, t, t + 1, n})
			counts[1]++
			for k := range n {
				copy(at[uint32](m, p.Segments+8*uint64(counts[0]), 2), []uint32{t + 1 + k*segment, min(segment, u-t-k*segment)})
				counts[0]++
			}
			continue
		}
		sum := *one[X](m, p.Tails, int(t))
		for k := t + 1; k <= u; k++ {
			sum = g.add(sum, *one[X](m, p.Heads, int(k)))
		}
		*one[X](m, p.Sums, int(b)) = sum
	}
}

func (g groupTwin[A, X]) segments(m Memory, _ gpu.Grid, p *mergeParams) {
	for s := range int(at[uint32](m, p.Counts, 2)[0]) {
		seg := at[uint32](m, p.Segments+8*uint64(s), 2)
		var sum X
		for k := range seg[1] {
			sum = g.add(sum, *one[X](m, p.Heads, int(seg[0]+k)))
		}
		*one[X](m, p.Heads, int(seg[0])) = sum
	}
}

func (g groupTwin[A, X]) items(m Memory, _ gpu.Grid, p *mergeParams) {
	for i := range int(at[uint32](m, p.Counts, 2)[1]) {
		item := at[uint32](m, p.Items+16*uint64(i), 4)
		sum := *one[X](m, p.Tails, int(item[1]))
		for k := range item[3] {
			sum = g.add(sum, *one[X](m, p.Heads, int(item[2]+k*segment)))
		}
		*one[X](m, p.Sums, int(item[0])) = sum
	}
}

func (g groupTwin[A, X]) reduce(m Memory, _ gpu.Grid, p *reduceParams) {
	n := int(p.N)
	groups := blocks(n, 1<<p.K)
	for i := range groups * int(p.Windows) {
		w, lo := i/groups, i%groups<<p.K
		hi := min(lo+1<<p.K, n)
		var s, v X
		for j := hi - 1; j >= lo; j-- {
			s = g.add(s, *one[X](m, p.Sums, w*n+j))
			if p.Weighted == 0 || j > lo {
				v = g.add(v, s)
			}
		}
		for range p.Shift {
			v = g.add(v, v)
		}
		if p.Weighted != 0 {
			for j := lo; j < hi; j++ {
				v = g.add(v, *one[X](m, p.Weighted, w*n+j))
			}
		}
		*one[X](m, p.OutSums, i) = s
		*one[X](m, p.OutWeighted, i) = v
	}
}

func (g groupTwin[A, X]) fold(m Memory, grid gpu.Grid, p *foldParams) {
	n, width := int(p.N), int(p.Bits)+1
	for w := range grid.BlocksY {
		for b := range width {
			var sum X
			for j := range n {
				switch {
				case b == int(p.Bits):
					sum = g.add(sum, *one[X](m, p.Weighted, w*n+j))
				case j>>b&1 == 1:
					sum = g.add(sum, *one[X](m, p.Sums, w*n+j))
				}
			}
			*one[X](m, p.Out, w*width+b) = sum
		}
	}
}
