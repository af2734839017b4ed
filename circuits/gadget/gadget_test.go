package gadget

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/internal/poseidon"
	"github.com/gocuzk/cuzk/pce"
)

// digests are the reference's, by gadget name.
func digests(t *testing.T) map[string]r1cs {
	t.Helper()
	data, err := os.ReadFile("../../testdata/r1cs-digests.json")
	require.NoError(t, err)
	var list []r1cs
	require.NoError(t, json.Unmarshal(data, &list))
	out := make(map[string]r1cs)
	for _, d := range list {
		out[d.Circuit] = d
	}
	return out
}

type r1cs struct {
	Circuit    string `json:"circuit"`
	Rows       int    `json:"rows"`
	Inputs     int    `json:"inputs"`
	Aux        int    `json:"aux"`
	SHA256     string `json:"sha256"`
	SHA256Full string `json:"sha256_full"`
	NNZA       uint64 `json:"nnz_a"`
	NNZB       uint64 `json:"nnz_b"`
	NNZC       uint64 `json:"nnz_c"`
	DensityA   int    `json:"density_a_aux"`
	DensityB   int    `json:"density_b_aux"`
	DensityBIn int    `json:"density_b_inputs"`
}

func measure(t *testing.T, name string, s func(pce.Builder) error) r1cs {
	t.Helper()
	sys, err := pce.Record(t.Context(), name, s, &pce.RecordOptions{VerifyBlocks: true})
	require.NoError(t, err)
	d, err := sys.R1CSDigest(t.Context())
	require.NoError(t, err)
	c, l := sys.Counts(), sys.Layout()
	return r1cs{
		Circuit: name, Rows: c.Rows, Inputs: c.Inputs, Aux: c.Aux,
		SHA256: hex.EncodeToString(d.SHA256[:]), SHA256Full: hex.EncodeToString(d.SHA256Full[:]),
		NNZA: d.NonZero[0], NNZB: d.NonZero[1], NNZC: d.NonZero[2],
		DensityA: l.Densities.AAux.Count(), DensityB: l.Densities.BAux.Count(), DensityBIn: l.Densities.BInput.Count(),
	}
}

// TestRowsEqualReference compares every row of every gadget with the reference's digests.
func TestRowsEqualReference(t *testing.T) {
	want := digests(t)
	for name, s := range gadgets() {
		t.Run(name, func(t *testing.T) {
			w, ok := want["gadget:"+name]
			require.True(t, ok)
			got := measure(t, "gadget:"+name, s)
			require.Equal(t, w, got)
		})
	}
}

func gadgets() map[string]func(pce.Builder) error {
	g := map[string]func(pce.Builder) error{
		"abit":          func(b pce.Builder) error { b.AllocBit(false); return nil },
		"to_bits_le":    func(b pce.Builder) error { b.Unpack(b.Alloc(fr.Element{})); return nil },
		"poseidon2-gen": poseidonGadget(poseidon.WithTag(2, poseidon.GenRandomnessTag)),
		"sha256-block": func(b pce.Builder) error {
			Sha256Compress(b, Sha256Initial(), [16]pce.Word(words(b, 16)))
			return nil
		},
		"sha256-64": func(b pce.Builder) error { Sha256(b, words(b, 16)); return nil },
		"sha256-hash2": func(b pce.Builder) error {
			x := allocate(b, 2)
			Sha256Pair(b, x[0], x[1])
			return nil
		},
		"por-poseidon-800": publicInclusion(PoseidonTree(), 8, 8),
		"por-poseidon-880": publicInclusion(PoseidonTree(), 8, 8, 8),
		"por-poseidon-882": publicInclusion(PoseidonTree(), 8, 8, 8, 2),
		"por-sha256-200":   publicInclusion(Sha256Tree(), 2, 2, 2, 2, 2, 2),
	}
	for _, n := range []int{2, 4, 8, 11} {
		g[fmt.Sprintf("poseidon%d", n)] = poseidonGadget(poseidon.ForArity(n))
	}
	for k, n := range []int{2, 4, 8} {
		g[fmt.Sprintf("insert%d", n)] = func(b pce.Builder) error {
			x, siblings := b.Alloc(fr.Element{}), allocate(b, n-1)
			var index []pce.Bit
			for range k + 1 {
				index = append(index, b.AllocBit(false))
			}
			Insert(b, x, index, siblings)
			return nil
		}
	}
	return g
}

func allocate(b pce.Builder, n int) []pce.Num {
	out := make([]pce.Num, n)
	for i := range out {
		out[i] = b.Alloc(fr.Element{})
	}
	return out
}

// words allocates message words bit by bit in the order of the message, most significant first.
func words(b pce.Builder, n int) []pce.Word {
	out := make([]pce.Word, n)
	for i := range out {
		bits := make([]pce.Bit, 32)
		for k := range bits {
			bits[31-k] = b.AllocBit(false)
		}
		out[i] = pce.WordOf(bits)
	}
	return out
}

func poseidonGadget(p *poseidon.Params) func(pce.Builder) error {
	return func(b pce.Builder) error { Poseidon(b, p, allocate(b, p.Arity)); return nil }
}

// publicInclusion is PoRCircuit with a public root, which the reference's tests use: the root is
// allocated after the hashes and becomes an input.
func publicInclusion(hash TreeHash, arities ...int) func(pce.Builder) error {
	return func(b pce.Builder) error {
		path := make([]PathElement, len(arities))
		for i, a := range arities {
			path[i].Siblings = make([]fr.Element, a-1)
		}
		computed, index := MerkleRoot(b, hash, b.Alloc(fr.Element{}), path)
		b.PackInput(index)
		root := b.Alloc(fr.Element{})
		b.Equal(computed, root)
		b.Inputize(root)
		return nil
	}
}

func randomElement(r *rand.Rand) fr.Element {
	var b [32]byte
	for i := range b {
		b[i] = byte(r.Uint32())
	}
	var e fr.Element
	e.SetBytes(b[:])
	return e
}

// satisfied runs a circuit with values through the interpreters: rows hold, and the packed witness
// equals the one made bit by bit.
func satisfied(t *testing.T, s func(pce.Builder) error) {
	t.Helper()
	require.NoError(t, pce.Check(t.Context(), s))
	w, err := pce.MakeWitness(t.Context(), s, nil)
	require.NoError(t, err)
	slow, _, err := pce.Direct(t.Context(), s)
	require.NoError(t, err)
	require.Equal(t, slow, w)
}

func TestPoseidonValues(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 2))
	for _, p := range []*poseidon.Params{
		poseidon.ForArity(2), poseidon.ForArity(4), poseidon.ForArity(8), poseidon.ForArity(11),
		poseidon.WithTag(2, poseidon.GenRandomnessTag),
	} {
		in := make([]fr.Element, p.Arity)
		for i := range in {
			in[i] = randomElement(r)
		}
		satisfied(t, func(b pce.Builder) error {
			x := make([]pce.Num, len(in))
			for i := range x {
				x[i] = b.Alloc(in[i])
			}
			got, want := Poseidon(b, p, x).Value(), p.Hash(in)
			if !got.Equal(&want) {
				return fmt.Errorf("arity %d: %s, want %s", p.Arity, got.String(), want.String())
			}
			return nil
		})
	}
}

func TestSha256Values(t *testing.T) {
	r := rand.New(rand.NewPCG(3, 4))
	for _, n := range []int{0, 1, 13, 14, 16, 31} {
		message := make([]byte, 4*n)
		for i := range message {
			message[i] = byte(r.Uint32())
		}
		satisfied(t, func(b pce.Builder) error {
			in := make([]pce.Word, n)
			for i := range in {
				v := binary.BigEndian.Uint32(message[4*i:])
				if in[i] = b.AllocWord(v); i%5 == 3 {
					in[i] = pce.ConstWord(v)
				}
			}
			var got [32]byte
			for i, w := range Sha256(b, in) {
				binary.BigEndian.PutUint32(got[4*i:], w.Value())
			}
			if want := sha256.Sum256(message); got != want {
				return fmt.Errorf("%d words: %x, want %x", n, got, want)
			}
			return nil
		})
	}
}

func TestSha256PairValues(t *testing.T) {
	r := rand.New(rand.NewPCG(5, 6))
	x, y := randomElement(r), randomElement(r)
	var message [64]byte
	fr.LittleEndian.PutElement((*[32]byte)(message[:32]), x)
	fr.LittleEndian.PutElement((*[32]byte)(message[32:]), y)
	sum := sha256.Sum256(message[:])
	sum[31] &= 0x3f
	want, err := fr.LittleEndian.Element(&sum)
	require.NoError(t, err)
	satisfied(t, func(b pce.Builder) error {
		if got := Sha256Pair(b, b.Alloc(x), b.Alloc(y)).Value(); !got.Equal(&want) {
			return fmt.Errorf("%s, want %s", got.String(), want.String())
		}
		return nil
	})
}

func TestInsertValues(t *testing.T) {
	for k, n := range []int{2, 4, 8} {
		for pos := range n {
			satisfied(t, func(b pce.Builder) error {
				var siblings []pce.Num
				for i := range n - 1 {
					siblings = append(siblings, b.Alloc(fr.NewElement(uint64(i))))
				}
				var index []pce.Bit
				for i := range k + 1 {
					index = append(index, b.AllocBit(pos>>i&1 == 1))
				}
				out := Insert(b, b.Alloc(fr.NewElement(99)), index, siblings)
				want := make([]uint64, 0, n)
				for i := range n - 1 {
					want = append(want, uint64(i))
				}
				want = append(want[:pos], append([]uint64{99}, want[pos:]...)...)
				for i, w := range want {
					if v := out[i].Value(); v.Uint64() != w {
						return fmt.Errorf("arity %d position %d: child %d is %d, want %d", n, pos, i, v.Uint64(), w)
					}
				}
				return nil
			})
		}
	}
}

func TestInclusion(t *testing.T) {
	r := rand.New(rand.NewPCG(7, 8))
	leaf := randomElement(r)
	path := []PathElement{{make([]fr.Element, 7), 5}, {make([]fr.Element, 1), 1}}
	for _, l := range path {
		for i := range l.Siblings {
			l.Siblings[i] = randomElement(r)
		}
	}
	root := leaf
	for _, l := range path {
		children := append([]fr.Element(nil), l.Siblings[:l.Index]...)
		children = append(append(children, root), l.Siblings[l.Index:]...)
		root = poseidon.ForArity(len(children)).Hash(children)
	}
	circuit := func(root fr.Element) func(pce.Builder) error {
		return func(b pce.Builder) error {
			Inclusion(b, PoseidonTree(), b.Alloc(leaf), path, b.Alloc(root))
			return nil
		}
	}
	satisfied(t, circuit(root))
	w, err := pce.MakeWitness(t.Context(), circuit(root), nil)
	require.NoError(t, err)
	require.Equal(t, []fr.Element{fr.One(), fr.NewElement(5 + 8*1)}, w.Inputs)
	require.ErrorIs(t, pce.Check(t.Context(), circuit(leaf)), pce.ErrUnsatisfied)
	_, err = pce.MakeWitness(t.Context(), circuit(leaf), nil)
	require.ErrorIs(t, err, pce.ErrUnsatisfied)
}

func TestMisuse(t *testing.T) {
	for name, s := range map[string]func(pce.Builder) error{
		"poseidon preimage": func(b pce.Builder) error { Poseidon(b, poseidon.ForArity(2), allocate(b, 3)); return nil },
		"poseidon arity":    func(b pce.Builder) error { PoseidonTree().Sum(b, allocate(b, 3)); return nil },
		"sha256 arity":      func(b pce.Builder) error { Sha256Tree().Sum(b, allocate(b, 3)); return nil },
		"insert bits":       func(b pce.Builder) error { Insert(b, b.Alloc(fr.Element{}), nil, allocate(b, 1)); return nil },
		"insert siblings": func(b pce.Builder) error {
			Insert(b, b.Alloc(fr.Element{}), []pce.Bit{b.AllocBit(false)}[:0], nil)
			return nil
		},
	} {
		t.Run(name, func(t *testing.T) {
			_, err := pce.Record(t.Context(), name, s, nil)
			require.ErrorContains(t, err, "gadget: ")
			require.NotErrorIs(t, err, pce.ErrPanic)
		})
	}
}

func BenchmarkSha256Compress(b *testing.B) {
	for b.Loop() {
		_, err := pce.MakeWitness(b.Context(), func(b pce.Builder) error {
			in := [16]pce.Word{}
			for i := range in {
				in[i] = b.AllocWord(uint32(i) * 0x9e3779b9)
			}
			var state [8]pce.Word
			for i := range state {
				state[i] = b.AllocWord(uint32(i) * 0x85ebca6b)
			}
			for range 100 {
				state = Sha256Compress(b, state, in)
			}
			return nil
		}, nil)
		require.NoError(b, err)
	}
}

func BenchmarkPoseidon(b *testing.B) {
	p := poseidon.ForArity(8)
	for b.Loop() {
		_, err := pce.MakeWitness(b.Context(), func(b pce.Builder) error {
			in := allocate(b, 8)
			for range 100 {
				in[3] = Poseidon(b, p, in)
			}
			return nil
		}, nil)
		require.NoError(b, err)
	}
}
