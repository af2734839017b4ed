package kernels

import (
	"errors"
	"fmt"
	"slices"
	"testing"
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/porep"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/synth"
	"github.com/gocuzk/cuzk/pce"
)

func TestSpMV(t *testing.T) {
	e := onFake(t, 6)
	for name, s := range spmvCircuits() {
		t.Run(name, func(t *testing.T) { spmvSuite(t, e, s) })
	}
}

// TestSpMVPoRep2KiB evaluates a whole circuit of Filecoin.
func TestSpMVPoRep2KiB(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	fake := fakedrv.New(fakedrv.Config{Seed: 7})
	registerTwins(fake)
	e := newEnv(t, fake, 384<<20)
	e.fake = fake
	sys, w := porepSystem(t, porep.StackedDrg2KiBV1_1)
	spmvCompare(t, e, sys, w)
}

// TestSpMVArguments: lengths that do not fit are errors.
func TestSpMVArguments(t *testing.T) {
	e := onFake(t, 8)
	sys, w := recorded(t, spmvCircuits()["words"])
	y, err := e.l.LoadSystem(e.s, e.a, TablesOf(sys))
	if err != nil {
		t.Fatal(err)
	}
	good, out := uploadWitness(t, e, w), room[fr.Element](t, e, sys.FullRows())
	short := room[fr.Element](t, e, sys.FullRows()-1)
	for name, c := range map[string]struct {
		change  func(w *Assignment)
		a, b, c gpu.View[fr.Element]
	}{
		"inputs":  {func(w *Assignment) { w.Inputs = short }, out, out, out},
		"dense":   {func(w *Assignment) { w.Dense = short }, out, out, out},
		"bits":    {func(w *Assignment) { w.Bits = w.Bits.Slice(0, w.Bits.Len()-1) }, out, out, out},
		"no bits": {func(w *Assignment) { w.Bits = gpu.View[uint32]{} }, out, out, out},
		"a":       {func(*Assignment) {}, short, out, out},
		"b":       {func(*Assignment) {}, out, short, out},
		"c":       {func(*Assignment) {}, out, out, gpu.View[fr.Element]{}},
	} {
		bad := good
		c.change(&bad)
		if err := y.Eval(e.s, bad, c.a, c.b, c.c); !errors.Is(err, gpu.ErrArgument) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestSpMVMemory: a system that does not fit the arena is an error.
func TestSpMVMemory(t *testing.T) {
	sys, _ := recorded(t, spmvCircuits()["words"])
	for _, room := range []uint64{0, TablesOf(sys).Bytes() / 2, TablesOf(sys).Bytes() - 512} {
		fake := fakedrv.New(fakedrv.Config{})
		registerTwins(fake)
		e := newEnv(t, fake, NTTBytes()+room)
		e.fake = fake
		if _, err := e.l.LoadSystem(e.s, e.a, TablesOf(sys)); !errors.Is(err, gpu.ErrMemory) {
			t.Errorf("%d bytes: %v", room, err)
		}
	}
}

// TestSpMVPlan: equal lists are evaluated once, runs of bits are one term, and small lists are found.
func TestSpMVPlan(t *testing.T) {
	sys, _ := recorded(t, func(b pce.Builder) error {
		x := b.Alloc(fr.NewElement(5))
		b.SBox(x, nil, nil) // x·x = x², x²·x² = x⁴, x·x⁴ = x⁵: five lists would be nine
		b.Unpack(x)         // 255 bits and x: eight runs and one
		return nil
	})
	p := newSpmvPlan(sys)
	if got, want := len(p.small.heads), 255+1+1; got != want { // bits, the row of Unpack, the input's
		t.Errorf("%d rows with small lists, want %d", got, want)
	}
	var terms []uint32
	for _, h := range p.short.heads {
		terms = append(terms, h[1])
	}
	if want := []uint32{1, 1, 1, 1, 9, 1}; !slices.Equal(terms, want) { // x, x², x⁴, x⁵, Unpack's, the input
		t.Errorf("short lists of %d terms, want %d", terms, want)
	}
	if len(p.long.heads) != 0 {
		t.Errorf("long lists %v, want none", p.long.heads)
	}
}

func recorded(t testing.TB, s func(pce.Builder) error) (*pce.System, *pce.Witness) {
	t.Helper()
	sys, err := pce.Record(t.Context(), "test", s, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := pce.MakeWitness(t.Context(), s, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sys, w
}

// porepSystem is a registered proof's circuit with the witness of a made-up sector.
func porepSystem(t testing.TB, proof porep.RegisteredProof) (*pce.System, *pce.Witness) {
	t.Helper()
	c1, err := synth.PoRep(t.Context(), proof, nil, 1)
	if err != nil {
		t.Fatal(err)
	}
	blank := porep.Blank(c1.Params)
	sys, err := pce.Record(t.Context(), blank.Name(), blank.Synthesize, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := c1.Witness(t.Context(), 0, nil)
	if err != nil {
		t.Fatal(err)
	}
	return sys, w
}

// postSystem is the same for a proof of spacetime over some sectors.
func postSystem(t testing.TB, proof post.RegisteredProof, sectors int) (*pce.System, *pce.Witness) {
	t.Helper()
	params, err := proof.Params()
	if err != nil {
		t.Fatal(err)
	}
	params.Sectors = sectors
	st, proofs, err := synth.PoSt(t.Context(), proof, &params, sectors, 1)
	if err != nil {
		t.Fatal(err)
	}
	parts, err := st.Circuits(proofs)
	if err != nil {
		t.Fatal(err)
	}
	blank := post.Blank(params)
	sys, err := pce.Record(t.Context(), blank.Name(), blank.Synthesize, nil)
	if err != nil {
		t.Fatal(err)
	}
	w, err := parts[0].Witness(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sys, w
}

func uploadWitness(t testing.TB, e *env, w *pce.Witness) Assignment {
	t.Helper()
	var a Assignment
	a.Inputs = upload(t, e, w.Inputs)
	if len(w.Dense) > 0 {
		a.Dense = upload(t, e, w.Dense)
	}
	if len(w.Bits) > 0 {
		a.Bits = upload(t, e, unsafe.Slice((*uint32)(unsafe.Pointer(unsafe.SliceData(w.Bits))), 2*len(w.Bits)))
	}
	return a
}

// spmvSuite compares a circuit's values with those of package pce.
func spmvSuite(t *testing.T, e *env, s func(pce.Builder) error) {
	t.Helper()
	sys, w := recorded(t, s)
	spmvCompare(t, e, sys, w)
}

// spmvCompare evaluates on the card, into poisoned memory, and compares every row.
func spmvCompare(t testing.TB, e *env, sys *pce.System, w *pce.Witness) {
	t.Helper()
	mark := e.a.Mark()
	defer e.a.Rewind(mark)
	y, err := e.l.LoadSystem(e.s, e.a, TablesOf(sys))
	if err != nil {
		t.Fatal(err)
	}
	if got, want := e.a.Used()-mark, TablesOf(sys).Bytes(); got > want || want > got+512 {
		t.Errorf("%d bytes taken, Bytes says %d", got, want)
	}
	in := uploadWitness(t, e, w)
	var out [3]gpu.View[fr.Element]
	for m := range out {
		out[m] = room[fr.Element](t, e, sys.FullRows())
		if err := gpu.Fill(e.s, out[m], 0xff); err != nil {
			t.Fatal(err)
		}
	}
	if err := y.Eval(e.s, in, out[0], out[1], out[2]); err != nil {
		t.Fatal(err)
	}
	compareRows(t, sys, w, [3][]fr.Element{fetch(t, e, out[0]), fetch(t, e, out[1]), fetch(t, e, out[2])})
}

// compareRows compares rows with those of package pce.
func compareRows(t testing.TB, sys *pce.System, w *pce.Witness, got [3][]fr.Element) {
	t.Helper()
	err := sys.EvalTiles(t.Context(), w, func(first int, a, b, c []fr.Element) error {
		for m, want := range [3][]fr.Element{a, b, c} {
			if i := firstDifference(got[m][first:first+len(want)], want); i >= 0 {
				return fmt.Errorf("%c of row %d is %v, want %v", "ABC"[m], first+i, got[m][first+i], want[i])
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	rows := sys.Counts().Rows
	if i := firstDifference(got[0][rows:], w.Inputs); i >= 0 {
		t.Errorf("A of input %d is %v", i, got[0][rows+i])
	}
	for i := rows; i < sys.FullRows(); i++ {
		if !got[1][i].IsZero() || !got[2][i].IsZero() {
			t.Errorf("B and C of input %d are %v and %v", i-rows, got[1][i], got[2][i])
		}
	}
}

// TestSpMVCircuits: the random circuit is what it says.
func TestSpMVCircuits(t *testing.T) {
	sys, _ := recorded(t, randomCircuit)
	kinds := map[pce.RefKind]bool{}
	mixed := false
	for _, tpl := range sys.Structure().Templates {
		n := len(tpl.Slots) / len(tpl.Instances)
		for i := range n {
			first, _ := pce.SplitRef(tpl.Slots[i])
			for k := i; k < len(tpl.Slots); k += n {
				kind, _ := pce.SplitRef(tpl.Slots[k])
				kinds[kind] = true
				mixed = mixed || kind != first
			}
		}
	}
	if !kinds[pce.RefInput] || !kinds[pce.RefBit] || !kinds[pce.RefDense] || !mixed {
		t.Errorf("slots stand for %v, for different kinds by turns: %v", kinds, mixed)
	}
	p := newSpmvPlan(sys)
	long := slices.ContainsFunc(p.long.heads, func(h [4]uint32) bool { return h[1] > 8*spmvLanes })
	if len(p.small.heads) == 0 || len(p.short.heads) == 0 || !long {
		t.Errorf("%d, %d and %d lists", len(p.small.heads), len(p.short.heads), len(p.long.heads))
	}
}
