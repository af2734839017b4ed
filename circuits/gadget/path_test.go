package gadget

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

func TestSealedShape(t *testing.T) {
	for size, want := range map[uint64]string{
		1 << 10: "8-4-0", 2 << 10: "8-0-0", 4 << 10: "8-2-0", 8 << 10: "8-4-0", 16 << 10: "8-8-0", 32 << 10: "8-8-2",
		8 << 20: "8-0-0", 16 << 20: "8-2-0", 512 << 20: "8-0-0", 1 << 30: "8-2-0", 32 << 30: "8-8-0", 64 << 30: "8-8-2",
	} {
		s, ok := SealedShape(size)
		require.True(t, ok)
		require.Equal(t, want, s.String())
		logLeaves := log2(int(size / 32))
		require.True(t, s.Fits(logLeaves))
		leaves := 1
		for _, arity := range s.Levels(logLeaves) {
			leaves *= arity
		}
		require.Equal(t, 1<<logLeaves, leaves)
		require.False(t, s.Fits(logLeaves+1))
	}
	_, ok := SealedShape(3 << 10)
	require.False(t, ok)
	for _, s := range []Shape{{}, {Base: 3}, {Base: 8, Top: 2}, {Base: 8, Sub: 3}, {Base: 16}, {Base: -2}} {
		require.False(t, s.Fits(6), s)
	}
	require.False(t, Shape{Base: 8, Sub: 8, Top: 8}.Fits(6)) // no base level
}

// TestParts: the parts of a path cover it, and their names belong to the variant.
func TestParts(t *testing.T) {
	for shape, want := range map[Shape]string{{Base: 8}: "Single", {Base: 8, Sub: 2}: "Sub", {Base: 8, Sub: 8, Top: 2}: "Top"} {
		require.Equal(t, want, shape.Variant())
		at := 0
		for _, p := range shape.Parts(5) {
			require.Equal(t, at, p.From)
			require.NotEmpty(t, p.Name)
			at = p.To
		}
		require.Equal(t, 5, at)
	}
}

func TestMerklePath(t *testing.T) {
	levels := []int{8, 4, 2}
	m := BlankPath(levels)
	require.NoError(t, m.Validate(levels))
	m.Levels[0].Index, m.Levels[1].Index, m.Levels[2].Index = 5, 2, 1
	require.Equal(t, uint64(5+8*2+32), m.Index())
	m.Leaf.SetOne()
	children := make([]fr.Element, 8)
	children[5].SetOne()
	require.Equal(t, m.Leaf, m.Node(0, HashSealed))
	require.Equal(t, HashSealed(children), m.Node(1, HashSealed))
	require.Equal(t, m.Climb(HashSealed), m.Node(3, HashSealed))

	for name, alter := range map[string]func(m *MerklePath){
		"levels":   func(m *MerklePath) { m.Levels = m.Levels[1:] },
		"siblings": func(m *MerklePath) { m.Levels[1].Siblings = m.Levels[0].Siblings },
		"index":    func(m *MerklePath) { m.Levels[2].Index = 2 },
		"negative": func(m *MerklePath) { m.Levels[2].Index = -1 },
	} {
		bad := BlankPath(levels)
		alter(&bad)
		require.Error(t, bad.Validate(levels), name)
	}
}
