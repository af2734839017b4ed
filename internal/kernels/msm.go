package kernels

import (
	"fmt"
	"math"
	"slices"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/gpu"
)

const (
	scalarBits  = 255
	minWindow   = 8 // with fewer bits the top digit could overflow
	maxWindow   = 22
	lightSpan   = 8
	segment     = 512
	scanBlock   = 4096
	counterRoom = 32 << 20 // most bytes of bucket counters of a pass, on any card
	maxEntries  = 1 << 31  // of one pass: indices and offsets have 32 bits
)

// curve is what the kernels of one group need to know.
type curve struct {
	name         string
	xyzzBytes    uint64
	heavyThreads int // of the blocks that merge heavy buckets
	lanes        int // of a warp that share a sum: see cuda/curve/half.cuh
	resident     int // sums in progress of a multiprocessor, by the launch bounds of the accumulation
	pieceLog     int // log of the entries of one launch for each multiprocessor
	foldMax      int // most groups of a window that the fold kernel takes
	bucketCost   int // of two buckets, in additions of points: what windows are chosen by
	entrySlots   int // multiplier slots that an entry takes, at three quarters of the arithmetic limit
}

var (
	curveG1 = curve{
		name: "g1", xyzzBytes: uint64(unsafe.Sizeof(G1Xyzz{})), heavyThreads: 128, lanes: 1, resident: 512, pieceLog: 19,
		foldMax: 1 << 14, bucketCost: 3, entrySlots: 7200,
	}
	curveG2 = curve{
		name: "g2", xyzzBytes: uint64(unsafe.Sizeof(G2Xyzz{})), heavyThreads: 64, lanes: 2, resident: 256, pieceLog: 17,
		foldMax: 1 << 11, bucketCost: 2, entrySlots: 22000,
	}
)

// MSMOptions tunes a multi-scalar multiplication. The zero value: plain scalars, window by size.
type MSMOptions struct {
	Montgomery bool // scalars are in Montgomery form, as fr.Element is; else plain numbers below r
	WindowBits int  // 0 chooses by size
}

// windowBits minimises the additions of m scalars in windows of c bits: m for each window, and
// what the weighted sum over its 2^(c−1) buckets costs.
func (cv curve) windowBits(m int) int {
	best, bestCost := minWindow, 0
	for c := minWindow; c <= maxWindow; c++ {
		if cost := windowCount(c) * (m + cv.bucketCost<<c); bestCost == 0 || cost < bestCost {
			best, bestCost = c, cost
		}
	}
	return best
}

func windowCount(c int) int { return (scalarBits + c - 1) / c }

// digitOffset is Σ over the windows w of 2^(cw+c−1), as limbs.
func digitOffset(c int) (limbs [11]uint32) {
	for w := range windowCount(c) {
		bit := c*w + c - 1
		limbs[bit/32] |= 1 << (bit % 32)
	}
	return limbs
}

// work is one multi-scalar multiplication or sum in progress.
type work struct {
	l   *Library
	s   *gpu.Stream
	a   *gpu.Arena
	cv  curve
	err error // the first error; later steps do nothing
	pts uint64
}

func (w *work) try(err error) {
	if w.err == nil {
		w.err = err
	}
}

func (w *work) words(n int) gpu.View[uint32] {
	v, err := gpu.Alloc[uint32](w.a, n)
	w.try(err)
	return v
}

// sums is room for n sums of points.
func (w *work) sums(n int) gpu.View[byte] {
	v, err := gpu.Alloc[byte](w.a, n*int(w.cv.xyzzBytes))
	w.try(err)
	return v
}

func (w *work) clear(v gpu.View[uint32]) {
	if w.err == nil {
		w.try(gpu.Fill(w.s, v, 0))
	}
}

func run[P any](w *work, kernel string, g gpu.Grid, p *P) {
	if w.err == nil {
		w.try(launch(w.l, w.s, kernel, g, p))
	}
}

// scan replaces n counts by their exclusive prefix sums; the view has n + 1 words.
func (w *work) scan(values gpu.View[uint32]) {
	n := values.Len() - 1
	p := scanParams{Values: values.Ptr(), N: uint32(n), Blocks: uint32(blocks(n+1, scanBlock))}
	p.Sums = w.words(int(p.Blocks) + 1).Ptr()
	run(w, "msm_scan_sums", gpu.Grid{Blocks: int(p.Blocks), Threads: 256}, &p)
	run(w, "msm_scan_spine", gpu.Grid{Blocks: 1, Threads: 1024}, &p)
	run(w, "msm_scan_apply", gpu.Grid{Blocks: int(p.Blocks), Threads: 1024}, &p)
}

// runLength is how many entries a thread adds: such that the threads fill the card once, or a
// whole number of times.
func runLength(entries, resident int) int {
	r := blocks(entries, resident)
	if r > 192 {
		r = blocks(entries, resident*blocks(r, 128))
	}
	return max(r, 8)
}

// pieceThreads is how many threads of so many one launch has: they fill the card a whole number of times, as no launch
// begins before the one before it has ended.
func (cv curve) pieceThreads(threads, runLen, multiprocessors int) int {
	resident := multiprocessors * cv.resident
	fills := blocks(threads, resident)
	most := max(1, multiprocessors<<cv.pieceLog/(resident*runLen))
	return resident * blocks(fills, blocks(fills, most))
}

// accumulate sums the points of each bucket. sorted has at most `entries` of them, offsets has
// buckets + 1 words.
func (w *work) accumulate(sorted, offsets gpu.View[uint32], entries int, sums gpu.View[byte]) {
	buckets := offsets.Len() - 1
	info := w.l.d.Info()
	sms := info.Multiprocessors
	p := accumulateParams{
		Points: w.pts, Sorted: sorted.Ptr(), Offsets: offsets.Ptr(), Sums: sums.Ptr(), Buckets: uint32(buckets),
	}
	runLen := runLength(entries, sms*w.cv.resident)
	threads := blocks(entries, runLen)
	p.Run, p.Threads = uint32(runLen), uint32(threads)
	p.Heads, p.Tails = w.sums(threads).Ptr(), w.sums(threads).Ptr()
	p.TailBucket = w.words(threads).Ptr()
	if w.err == nil {
		w.try(gpu.Fill(w.s, sums, 0)) // buckets without points: infinity
	}
	piece := w.cv.pieceThreads(threads, runLen, sms)
	for lo := 0; lo < threads; lo += piece {
		p.First = uint32(lo)
		n := min(piece, threads-lo)
		micros := tuningOf(info.Major, info.Minor).micros(n*runLen*w.cv.entrySlots, sms)
		grid := gpu.Grid{Blocks: blocks(n*w.cv.lanes, 128), Threads: 128, Micros: micros}
		run(w, "msm_accumulate_"+w.cv.name, grid, &p)
	}
	room := threads/lightSpan + threads/segment + 1
	counts := w.words(2)
	w.clear(counts)
	m := mergeParams{
		Offsets: p.Offsets, Sums: p.Sums, Heads: p.Heads, Tails: p.Tails, TailBucket: p.TailBucket,
		Segments: w.words(2 * room).Ptr(), Items: w.words(4 * room).Ptr(), Counts: counts.Ptr(),
		Buckets: p.Buckets, Run: p.Run, Threads: p.Threads,
	}
	run(w, "msm_merge_"+w.cv.name, gpu.Grid{Blocks: blocks(threads*w.cv.lanes, 128), Threads: 128}, &m)
	heavy := gpu.Grid{Blocks: min(4*sms, room), Threads: w.cv.heavyThreads}
	run(w, "msm_segments_"+w.cv.name, heavy, &m)
	run(w, "msm_items_"+w.cv.name, heavy, &m)
}

// shape says how the buckets of a window become the few sums that the host adds up: levels of the
// reduce kernel, then the fold kernel. shift is the log of how many buckets a group stands for.
type shape struct {
	levels []int // log of the groups that a thread makes one of
	shift  int
	bits   int // log of the groups of a window that are left
}

// shapeOf is the shape for windows of c bits.
func (cv curve) shapeOf(c, windows int) (h shape) {
	h.bits = c - 1
	for len(h.levels) == 0 || 1<<h.bits > cv.foldMax {
		k := 3
		if windows<<h.bits >= 1<<21 {
			k = 5
		}
		h.levels = append(h.levels, k)
		h.shift += k
		h.bits -= k
	}
	return h
}

// outs is how many sums of a window come out.
func (h shape) outs() int { return h.bits + 1 }

// reduce turns the sums of the buckets into the sums of the shape, window by window.
func (w *work) reduce(sums gpu.View[byte], windows, c int, h shape, out gpu.View[byte]) {
	n := 1 << (c - 1)
	p := reduceParams{Sums: sums.Ptr(), Windows: uint32(windows)}
	for _, k := range h.levels {
		p.N, p.K = uint32(n), uint32(k)
		n >>= k
		p.OutSums, p.OutWeighted = w.sums(windows*n).Ptr(), w.sums(windows*n).Ptr()
		run(w, "msm_reduce_"+w.cv.name, gpu.Grid{Blocks: blocks(windows*n*w.cv.lanes, 32), Threads: 32}, &p)
		p.Sums, p.Weighted, p.Shift = p.OutSums, p.OutWeighted, p.Shift+p.K
	}
	f := foldParams{Sums: p.Sums, Weighted: p.Weighted, Out: out.Ptr(), N: uint32(n), Bits: uint32(h.bits)}
	grid := gpu.Grid{Blocks: h.outs(), BlocksY: windows, Threads: w.cv.heavyThreads * w.cv.lanes}
	run(w, "msm_fold_"+w.cv.name, grid, &f)
}

// list sums the points of an index list into out, one sum.
func (w *work) list(list gpu.View[uint32], n int, out gpu.View[byte]) {
	mark := w.a.Mark()
	defer w.a.Rewind(mark)
	offsets := w.words(2)
	if w.err == nil {
		w.try(gpu.UploadSlice(w.s, offsets, []uint32{0, uint32(n)}))
	}
	w.accumulate(list, offsets, n, out)
}

// passBytes is the working memory of one pass over some windows.
func (cv curve) passBytes(m, windows, c, resident int) uint64 {
	entries, buckets := m*windows, windows<<(c-1)
	threads := blocks(entries, runLength(entries, resident))
	groups := buckets / 7 // of all levels: at most one of eight buckets, one of eight of those, …
	points := uint64(buckets + 2*threads + 2*groups)
	words := uint64(3*entries + buckets + buckets/scanBlock + 2*threads + 64)
	return points*cv.xyzzBytes + 4*words + 64*alignSlack
}

// alignSlack is more than what one allocation of an arena loses to alignment.
const alignSlack = 512

// sumBytes is the working memory of the sum of a list of points.
func (cv curve) sumBytes(entries, resident int) uint64 {
	threads := blocks(entries, runLength(entries, resident))
	return uint64(2*threads)*cv.xyzzBytes + 4*uint64(2*threads+64) + 16*alignSlack
}

// Room says how much working memory is meant: the least that suffices, or what lets every pass take as many windows as it can.
type Room int

// The two amounts.
const (
	Least Room = iota
	Ample
)

// msmBytes is the working memory of a multiplication of n scalars.
func (cv curve) msmBytes(n, multiprocessors int, room Room) uint64 {
	if n == 0 {
		return 0
	}
	resident := multiprocessors * cv.resident
	c := cv.windowBits(n)
	windows := 1
	if room == Ample {
		windows = cv.group(n, c, resident, counterRoom, math.MaxUint64)
	}
	out := 1 + windowCount(c)*cv.shapeOf(c, windowCount(c)).outs()
	lists := 8*uint64(n) + uint64(out)*cv.xyzzBytes + 4*alignSlack
	return lists + max(cv.passBytes(n, windows, c, resident), cv.sumBytes(n, resident))
}

// bitsBytes is the working memory of the sum of n points by bits.
func (cv curve) bitsBytes(n, multiprocessors int) uint64 {
	if n == 0 {
		return 0
	}
	return 4*uint64(n) + cv.xyzzBytes + 3*alignSlack + cv.sumBytes(n, multiprocessors*cv.resident)
}

// G1MSMBytes is the working memory of G1MSM for n points on a card with so many multiprocessors.
func G1MSMBytes(n, multiprocessors int, r Room) uint64 {
	return curveG1.msmBytes(n, multiprocessors, r)
}

// G2MSMBytes is G1MSMBytes for G2MSM.
func G2MSMBytes(n, multiprocessors int, r Room) uint64 {
	return curveG2.msmBytes(n, multiprocessors, r)
}

// G1BitsBytes is the working memory that G1Bits needs for n points.
func G1BitsBytes(n, multiprocessors int) uint64 { return curveG1.bitsBytes(n, multiprocessors) }

// G2BitsBytes is G1BitsBytes for G2Bits.
func G2BitsBytes(n, multiprocessors int) uint64 { return curveG2.bitsBytes(n, multiprocessors) }

// group is how many windows one pass takes: as many as memory, the cache of the bucket counters
// and 32-bit numbers allow. Zero if not even one fits.
func (cv curve) group(m, c, resident, counters int, free uint64) int {
	g := windowCount(c)
	for g > 0 && cv.passBytes(m, g, c, resident) > free {
		g--
	}
	g = min(g, (maxEntries-1)/m)
	if m > 1<<20 {
		g = min(g, max(1, counters/(4<<(c-1))))
	}
	if g == 0 {
		return 0
	}
	return blocks(windowCount(c), blocks(windowCount(c), g)) // passes of equal size
}

// dense sums the scalars of an index list: the sums of the shape, of all windows, to out.
func (w *work) dense(scalars gpu.View[fr.Element], list gpu.View[uint32], m, c int, montgomery uint32, h shape, out gpu.View[byte]) {
	info := w.l.d.Info()
	windows := windowCount(c)
	free := w.a.Size() - w.a.Used()
	group := w.cv.group(m, c, info.Multiprocessors*w.cv.resident, tuningOf(info.Major, info.Minor).counters, free)
	if group == 0 {
		w.try(&gpu.Error{Device: info.Identity, Op: "MSM", Reason: gpu.ErrMemory,
			NeedBytes: w.cv.passBytes(m, 1, c, info.Multiprocessors*w.cv.resident), FreeBytes: free, TotalBytes: w.a.Size()})
		return
	}
	for lo := 0; lo < windows && w.err == nil; lo += group {
		mark := w.a.Mark()
		n := min(group, windows-lo)
		buckets := n << (c - 1)
		codes, ranks, offsets := w.words(n*m), w.words(n*m), w.words(buckets+1)
		w.clear(offsets)
		d := digitsParams{
			Scalars: scalars.Ptr(), Dense: list.Ptr(), Codes: codes.Ptr(), Ranks: ranks.Ptr(), Counts: offsets.Ptr(),
			M: uint32(m), First: uint32(lo), Windows: uint32(n), C: uint32(c), Montgomery: montgomery, Offset: digitOffset(c),
		}
		run(w, "msm_digits", gpu.Grid{Blocks: blocks(m, 256), Threads: 256, Micros: n * m / 10_000}, &d)
		w.scan(offsets)
		sorted := w.words(n * m)
		sc := scatterParams{
			Dense: list.Ptr(), Codes: codes.Ptr(), Ranks: ranks.Ptr(), Offsets: offsets.Ptr(), Sorted: sorted.Ptr(),
			M: uint32(m), Windows: uint32(n), C: uint32(c),
		}
		run(w, "msm_scatter", gpu.Grid{Blocks: blocks(m, 256), BlocksY: n, Threads: 256, Micros: n * m / 10_000}, &sc)
		sums := w.sums(buckets)
		w.accumulate(sorted, offsets, n*m, sums)
		size := h.outs() * int(w.cv.xyzzBytes)
		w.reduce(sums, n, c, h, out.Slice(lo*size, (lo+n)*size))
		w.a.Rewind(mark) // the next pass runs after this one on the same stream
	}
}

// msm enqueues everything. The result is the sum of sums[i] times 2^bits[i]: first the ones, then
// what is left of each window.
func (w *work) msm(scalars gpu.View[fr.Element], o MSMOptions) (sums gpu.View[byte], bits []int) {
	n := scalars.Len()
	var montgomery uint32
	if o.Montgomery {
		montgomery = 1
	}
	dense, ones, counts := w.words(n), w.words(n), w.words(2)
	w.clear(counts)
	cl := classifyParams{
		Scalars: scalars.Ptr(), Dense: dense.Ptr(), Ones: ones.Ptr(), Counts: counts.Ptr(), N: uint32(n), Montgomery: montgomery,
	}
	run(w, "msm_classify", overElements(n), &cl)
	found := make([]uint32, 2)
	if w.err == nil {
		w.try(gpu.DownloadSlice(w.s, found, counts))
	}
	if w.err != nil {
		return sums, nil
	}
	bits = []int{0}
	var (
		c int
		h shape
	)
	if found[0] > 0 {
		if c = o.WindowBits; c == 0 {
			c = w.cv.windowBits(int(found[0]))
		}
		h = w.cv.shapeOf(c, windowCount(c))
		for i := range windowCount(c) {
			for b := range h.bits {
				bits = append(bits, c*i+h.shift+b)
			}
			bits = append(bits, c*i)
		}
	}
	sums = w.sums(len(bits))
	size := int(w.cv.xyzzBytes)
	if w.err == nil {
		w.try(gpu.Fill(w.s, sums, 0))
	}
	if found[1] > 0 {
		w.list(ones, int(found[1]), sums.Slice(0, size))
	}
	if found[0] > 0 && w.err == nil {
		w.dense(scalars, dense, int(found[0]), c, montgomery, h, sums.Slice(size, sums.Len()))
	}
	return sums, bits
}

func checkMSM(points, scalars int, o MSMOptions) error {
	switch {
	case points != scalars || points < 1 || points >= maxEntries:
		return fmt.Errorf("kernels: MSM of %d points and %d scalars: %w", points, scalars, gpu.ErrArgument)
	case o.WindowBits != 0 && (o.WindowBits < minWindow || o.WindowBits > maxWindow):
		return fmt.Errorf("kernels: MSM with windows of %d bits: %w", o.WindowBits, gpu.ErrArgument)
	}
	return nil
}

// msmParts makes the sums of a multiplication, each of which counts 2^bits[i] times.
func msmParts[X any](w *work, points int, scalars gpu.View[fr.Element], o MSMOptions) (parts []X, bits []int, err error) {
	if err := checkMSM(points, scalars.Len(), o); err != nil {
		return nil, nil, err
	}
	mark := w.a.Mark()
	defer w.a.Rewind(mark)
	view, bits := w.msm(scalars, o)
	parts, err = download[X](w, view)
	return parts, bits, err
}

// jacobian is a point that sums are made in.
type jacobian[J any] interface {
	*J
	DoubleAssign() *J
	AddAssign(*J) *J
}

// addWeighted adds Σ part(i)·2^bits[i] to sum, which is at infinity.
func addWeighted[J any, P jacobian[J]](sum P, bits []int, part func(i int) J) {
	order := byBit(bits)
	for bit := len(order) - 1; bit >= 0; bit-- {
		sum.DoubleAssign()
		for _, i := range order[bit] {
			j := part(i)
			sum.AddAssign(&j)
		}
	}
}

// G1MSM is Σ scalars[i]·points[i]. Points are affine, in any multiplicity and of any sign, infinity
// as (0, 0); points and scalars have the same length from 1 to 2^31−1. It takes working memory from
// the arena, gives it back, and waits for the stream.
func (l *Library) G1MSM(s *gpu.Stream, a *gpu.Arena, points gpu.View[bls12381.G1Affine], scalars gpu.View[fr.Element], o MSMOptions) (sum bls12381.G1Jac, err error) {
	w := &work{l: l, s: s, a: a, cv: curveG1, pts: points.Ptr()}
	parts, bits, err := msmParts[G1Xyzz](w, points.Len(), scalars, o)
	if err != nil {
		return sum, err
	}
	sum.FromAffine(new(bls12381.G1Affine)) // infinity
	addWeighted(&sum, bits, func(i int) bls12381.G1Jac { return parts[i].Jac() })
	return sum, nil
}

// G2MSM is G1MSM for points of G2.
func (l *Library) G2MSM(s *gpu.Stream, a *gpu.Arena, points gpu.View[bls12381.G2Affine], scalars gpu.View[fr.Element], o MSMOptions) (sum bls12381.G2Jac, err error) {
	w := &work{l: l, s: s, a: a, cv: curveG2, pts: points.Ptr()}
	parts, bits, err := msmParts[G2Xyzz](w, points.Len(), scalars, o)
	if err != nil {
		return sum, err
	}
	sum.FromAffine(new(bls12381.G2Affine)) // infinity
	addWeighted(&sum, bits, func(i int) bls12381.G2Jac { return parts[i].Jac() })
	return sum, nil
}

// byBit lists for each power of two which sums it multiplies.
func byBit(bits []int) [][]int {
	order := make([][]int, slices.Max(bits)+1)
	for i, b := range bits {
		order[b] = append(order[b], i)
	}
	return order
}

func download[X any](w *work, v gpu.View[byte]) ([]X, error) {
	if w.err != nil {
		return nil, w.err
	}
	raw := make([]byte, v.Len())
	if err := gpu.DownloadSlice(w.s, raw, v); err != nil {
		return nil, err
	}
	var x X
	parts := make([]X, len(raw)/int(unsafe.Sizeof(x)))
	copy(unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(parts))), len(raw)), raw)
	return parts, nil
}

// Selection says which bits of a stream have a point: those set in Mask. Rank[i] is the number of bits set in the words
// of Mask before word i. The zero Selection is all bits.
type Selection struct {
	Mask, Rank gpu.View[uint32]
}

// bits enqueues the sum of the points whose bit is set.
func (w *work) bits(stream gpu.View[uint32], sel Selection, points int) gpu.View[byte] {
	sums := w.sums(1)
	if w.err == nil {
		w.try(gpu.Fill(w.s, sums, 0))
	}
	counts := w.words(1)
	w.clear(counts)
	list := w.words(points)
	p := bitsParams{
		Bits: stream.Ptr(), Mask: sel.Mask.Ptr(), Rank: sel.Rank.Ptr(), List: list.Ptr(), Counts: counts.Ptr(),
		Words: uint32(stream.Len()), Last: ^uint32(0),
	}
	if sel.Mask.Len() == 0 && points%32 != 0 {
		p.Last = 1<<(points%32) - 1
	}
	run(w, "bits_list", gpu.Grid{Blocks: blocks(stream.Len(), 256), Threads: 256}, &p)
	found := make([]uint32, 1)
	if w.err == nil {
		w.try(gpu.DownloadSlice(w.s, found, counts))
	}
	if w.err == nil && found[0] > 0 {
		w.list(list, int(found[0]), sums)
	}
	return sums
}

func checkBits(points, words int, sel Selection) error {
	mask := sel.Mask.Len()
	if points < 1 || points >= maxEntries || mask != sel.Rank.Len() || mask != 0 && mask != words ||
		mask == 0 && words != blocks(points, 32) {
		return fmt.Errorf("kernels: sum of %d points by %d words of bits, %d of a mask: %w", points, words, mask, gpu.ErrArgument)
	}
	return nil
}

// bitsPart makes the sum by bits.
func bitsPart[X any](w *work, points int, bits gpu.View[uint32], sel Selection) (sum X, err error) {
	if err := checkBits(points, bits.Len(), sel); err != nil {
		return sum, err
	}
	mark := w.a.Mark()
	defer w.a.Rewind(mark)
	parts, err := download[X](w, w.bits(bits, sel, points))
	if err != nil {
		return sum, err
	}
	return parts[0], nil
}

// G1Bits is the sum of the points whose bit is set: bit i is bit i%32 of word i/32, and has point i, or with a
// Selection the next point if it is selected. Bits past the last point are ignored; a mask must have as many set bits as
// there are points. Memory and waiting as for G1MSM.
func (l *Library) G1Bits(s *gpu.Stream, a *gpu.Arena, points gpu.View[bls12381.G1Affine], bits gpu.View[uint32], sel Selection) (bls12381.G1Jac, error) {
	w := &work{l: l, s: s, a: a, cv: curveG1, pts: points.Ptr()}
	sum, err := bitsPart[G1Xyzz](w, points.Len(), bits, sel)
	return sum.Jac(), err
}

// G2Bits is G1Bits for points of G2.
func (l *Library) G2Bits(s *gpu.Stream, a *gpu.Arena, points gpu.View[bls12381.G2Affine], bits gpu.View[uint32], sel Selection) (bls12381.G2Jac, error) {
	w := &work{l: l, s: s, a: a, cv: curveG2, pts: points.Ptr()}
	sum, err := bitsPart[G2Xyzz](w, points.Len(), bits, sel)
	return sum.Jac(), err
}
