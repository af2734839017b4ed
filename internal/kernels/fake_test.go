package kernels

import (
	"errors"
	"testing"
	"unsafe"

	bls12381 "github.com/consensys/gnark-crypto/ecc/bls12-381"
	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/cudrv"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
)

func TestChains(t *testing.T)    { chainSuite(t, onFake(t, 1), 20, 3) }
func TestPointwise(t *testing.T) { pointwiseSuite(t, onFake(t, 1), 300) }

func TestQuotient(t *testing.T) {
	e := onFake(t, 1)
	for _, logN := range []int{0, 1, 2, 3, 6, 11} {
		quotientSuite(t, e, logN)
	}
}
func TestArguments(t *testing.T) { argumentSuite(t, onFake(t, 1)) }

func TestNTT(t *testing.T) {
	e := onFake(t, 2)
	for _, logN := range []int{0, 1, 2, 3, 4, 5, 7, 10, 11, 12} {
		nttSuite(t, e, logN)
	}
}

// TestPassLogs checks the split of all transforms, also those the twins are too slow for.
func TestPassLogs(t *testing.T) {
	for logN := minPassLog; logN <= maxLogN; logN++ {
		sum := 0
		for _, r := range passLogs(logN) {
			if r < minPassLog || r > maxPassLog {
				t.Errorf("2^%d: pass of 2^%d", logN, r)
			}
			sum += r
		}
		if sum != logN {
			t.Errorf("2^%d: passes make 2^%d", logN, sum)
		}
	}
}

func TestMSM(t *testing.T) {
	e := onFake(t, 3)
	for _, n := range []int{1, 2, 3, 40} {
		msmSuite(t, e, n, MSMOptions{WindowBits: 8})
	}
	msmSuite(t, e, 33, MSMOptions{WindowBits: 9, Montgomery: true})
}

func TestBits(t *testing.T) {
	e := onFake(t, 4)
	for _, n := range []int{1, 31, 32, 33, 700} {
		bitsSuite(t, e, n)
	}
}

// TestHeavyBuckets has one bucket over many threads and segments.
func TestHeavyBuckets(t *testing.T) {
	e := onFake(t, 5)
	n := 6000
	p := g1Multiples(n)
	scalars := make([]fr.Element, n)
	for i := range scalars {
		scalars[i] = fr.Element{1}
	}
	w := &work{l: e.l, s: e.s, a: e.a, cv: curveG1}
	w.cv.resident = 1 << 20 // short runs: many threads
	w.pts = upload(t, e, p).Ptr()
	sums, _ := w.msm(upload(t, e, scalars), MSMOptions{})
	parts, err := download[G1Xyzz](w, sums)
	if err != nil {
		t.Fatal(err)
	}
	j := parts[0].Jac()
	_, _, gen, _ := bls12381.Generators()
	want := new(bls12381.G1Affine).ScalarMultiplication(&gen, weighted(scalars, func(i int) int64 { return int64(i + 1) }))
	if !new(bls12381.G1Affine).FromJacobian(&j).Equal(want) {
		t.Error("wrong sum")
	}
}

// TestGroups: any number of windows a pass gives the same sum.
func TestGroups(t *testing.T) {
	n := 64
	for _, room := range []uint64{1 << 20, 2 << 20, 8 << 20} {
		fake := fakedrv.New(fakedrv.Config{})
		registerTwins(fake)
		e := newEnv(t, fake, NTTBytes()+room)
		e.fake = fake
		scalars := peerScalars(n, false)
		got, err := e.l.G1MSM(e.s, e.a, upload(t, e, g1Multiples(n)), upload(t, e, scalars), MSMOptions{WindowBits: 10})
		if err != nil {
			t.Fatalf("%d bytes: %v", room, err)
		}
		_, _, gen, _ := bls12381.Generators()
		want := new(bls12381.G1Affine).ScalarMultiplication(&gen, weighted(scalars, func(i int) int64 { return int64(i + 1) }))
		if !new(bls12381.G1Affine).FromJacobian(&got).Equal(want) {
			t.Errorf("%d bytes: wrong sum", room)
		}
	}
}

func TestMSMMemory(t *testing.T) {
	fake := fakedrv.New(fakedrv.Config{})
	registerTwins(fake)
	e := newEnv(t, fake, NTTBytes()+100<<10)
	e.fake = fake
	n := 300
	_, err := e.l.G2MSM(e.s, e.a, upload(t, e, g2Multiples(n)[:n:n]), upload(t, e, peerScalars(n, false)), MSMOptions{WindowBits: 12})
	var ge *gpu.Error
	if !errors.Is(err, gpu.ErrMemory) || !errors.As(err, &ge) || ge.NeedBytes <= ge.FreeBytes {
		t.Fatal(err)
	}
}

// TestPlan: the working memory that a pass asks for is what it takes.
func TestPlan(t *testing.T) {
	for _, m := range []int{1, 1000, 1 << 16} {
		for _, c := range []int{8, 12} {
			fake := fakedrv.New(fakedrv.Config{Cards: []fakedrv.Card{{MemoryBytes: 1 << 36, SMs: 132}}, Accounting: true})
			registerTwins(fake)
			e := newEnv(t, fake, 1<<35)
			e.fake = fake
			w := &work{l: e.l, s: e.s, a: e.a, cv: curveG1, pts: 1}
			h := w.cv.shapeOf(c, windowCount(c))
			out := w.sums(windowCount(c) * h.outs())
			list, scalars := w.words(m), room[fr.Element](t, e, m)
			before := e.a.Used()
			w.dense(scalars, list, m, c, 0, h, out)
			if w.err != nil {
				t.Fatal(w.err)
			}
			group := curveG1.group(m, c, 132*curveG1.resident, counterRoom, 1<<34)
			used, plan := e.a.Peak()-before, curveG1.passBytes(m, group, c, 132*curveG1.resident)
			if used > plan || plan > 2*used+1<<20 {
				t.Errorf("m=%d c=%d: %d bytes used, %d planned", m, c, used, plan)
			}
		}
	}
}

// TestFaults fails the n-th driver call of a small MSM for every n: a typed error, nothing leaked.
func TestFaults(t *testing.T) {
	n := 20
	points, scalars := g1Multiples(n), peerScalars(n, false)
	for _, fault := range []struct {
		result cudrv.Result
		want   error
	}{{cudrv.OutOfMemory, gpu.ErrMemory}, {cudrv.IllegalAddress, gpu.ErrLost}} {
		failures := 0
		for after := 0; ; after++ {
			fake := fakedrv.New(fakedrv.Config{})
			registerTwins(fake)
			d, err := gpu.NewSystem(fake).Open(0)
			if err != nil {
				t.Fatal(err)
			}
			fake.Inject(fakedrv.Rule{Card: -1, After: after, Result: fault.result, Sticky: fault.want == gpu.ErrLost})
			err = smallMSM(d, points, scalars)
			if err == nil {
				if err := d.Close(); err == nil {
					break // the fault would have come after the last call
				}
				break
			}
			failures++
			var ge *gpu.Error
			if !errors.Is(err, fault.want) || !errors.As(err, &ge) || ge.Device.UUID == "" {
				t.Fatalf("call %d: %v", after, err)
			}
			st := d.Stats()
			if st.Arenas+st.Streams+st.Modules+st.Pinned+st.Events != 0 {
				t.Fatalf("call %d: %+v", after, st)
			}
		}
		if failures < 40 {
			t.Errorf("only %d calls failed", failures)
		}
	}
}

func smallMSM(d *gpu.Device, points []bls12381.G1Affine, scalars []fr.Element) (err error) {
	l, err := Load(d)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, l.Close()) }()
	s, err := d.NewStream()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, s.Close()) }()
	a, err := d.Reserve(8 << 20)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	p, err := gpu.Alloc[bls12381.G1Affine](a, len(points))
	if err != nil {
		return err
	}
	k, err := gpu.Alloc[fr.Element](a, len(scalars))
	if err != nil {
		return err
	}
	if err := errors.Join(gpu.UploadSlice(s, p, points), gpu.UploadSlice(s, k, scalars)); err != nil {
		return err
	}
	_, err = l.G1MSM(s, a, p, k, MSMOptions{})
	return err
}

func TestNoImage(t *testing.T) {
	fake := fakedrv.New(fakedrv.Config{Cards: []fakedrv.Card{{NoImage: true}}})
	registerTwins(fake)
	d, err := gpu.NewSystem(fake).Open(0)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Load(d); !errors.Is(err, gpu.ErrUnsupported) {
		t.Error(err)
	}
	if err := d.Close(); err != nil {
		t.Error(err)
	}
}

// TestParams compares the mirrored structs with what the compiler said, and the kernels with the
// registered twins.
func TestParams(t *testing.T) {
	m, err := ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	sizes := map[string]uintptr{
		"chain_": unsafe.Sizeof(chainParams{}), "ntt_": unsafe.Sizeof(nttPassParams{}),
		"fr_mul": unsafe.Sizeof(pointwiseParams{}), "fr_sub_scale": unsafe.Sizeof(pointwiseParams{}),
		"spmv_":     unsafe.Sizeof(spmvParams{}),
		"fr_gather": unsafe.Sizeof(gatherParams{}), "fr_first_unequal": unsafe.Sizeof(unequalParams{}),
		"msm_classify": unsafe.Sizeof(classifyParams{}),
		"msm_digits":   unsafe.Sizeof(digitsParams{}), "msm_scan": unsafe.Sizeof(scanParams{}),
		"msm_scatter": unsafe.Sizeof(scatterParams{}), "bits_list": unsafe.Sizeof(bitsParams{}),
		"msm_accumulate": unsafe.Sizeof(accumulateParams{}), "msm_merge": unsafe.Sizeof(mergeParams{}),
		"msm_segments": unsafe.Sizeof(mergeParams{}), "msm_items": unsafe.Sizeof(mergeParams{}),
		"msm_reduce": unsafe.Sizeof(reduceParams{}), "msm_fold": unsafe.Sizeof(foldParams{}),
		"points_decode": unsafe.Sizeof(decodeParams{}), "points_check": unsafe.Sizeof(checkParams{}),
		"points_encode": unsafe.Sizeof(encodeParams{}), "points_affine": unsafe.Sizeof(toAffineParams{}),
		"fixed_extend": unsafe.Sizeof(extendParams{}), "fixed_mul": unsafe.Sizeof(fixedParams{}),
		"fr_powers": unsafe.Sizeof(powersParams{}),
	}
	fake := fakedrv.New(fakedrv.Config{})
	registerTwins(fake)
	twins := map[string]bool{}
	for _, name := range fake.Kernels() {
		twins[name] = true
		if _, ok := m.Kernels[name]; !ok {
			t.Errorf("twin %s has no kernel", name)
		}
	}
	for name, k := range m.Kernels {
		if !twins[name] {
			t.Errorf("kernel %s has no twin", name)
		}
		found := false
		for prefix, size := range sizes {
			if len(name) >= len(prefix) && name[:len(prefix)] == prefix {
				found = true
				if int(size) != k.ParamBytes {
					t.Errorf("%s: %d bytes of parameters here, %d there", name, size, k.ParamBytes)
				}
			}
		}
		if !found {
			t.Errorf("kernel %s is not checked", name)
		}
	}
}
