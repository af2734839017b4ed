package pce

import (
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"
)

// addCaller adds a template with nothing but n calls of another one. All outside variables of these are its own
// first one.
func addCaller(list []*template, callee uint32, n int) []*template {
	sub := list[callee]
	t := &template{slots: min(sub.slots, 1)}
	for range n {
		t.calls = append(t.calls, call{template: callee, bits: t.bits, dense: t.dense, binds: uint32(len(t.binds))})
		for range sub.slots {
			t.binds = append(t.binds, uint32(kindSlot)<<kindShift)
		}
		t.bits += sub.bits
		t.dense += sub.dense
	}
	return append(list, t)
}

// nested is a circuit that calls a template within levels of blocks, times at each level.
func nested(inner *template, levels, times int) *System {
	list := []*template{nil, inner}
	for range levels {
		list = addCaller(list, uint32(len(list)-1), times)
	}
	list = addCaller(list, uint32(len(list)-1), 1)
	root := list[len(list)-1]
	list[0], list = root, list[:len(list)-1]
	if root.inputs = 1; root.slots > 0 {
		root.slots, root.inputs = 0, 2
		for i := range root.binds {
			root.binds[i] = uint32(kindInput)<<kindShift | 1
		}
	}
	return newSystem("nested", []fr.Element{one(), minusOne()}, list)
}

// A small file must not unfold to more than memory and stack hold.
func TestHostileExtent(t *testing.T) {
	alternating := &template{}
	for i := range uint32(1 << 10) {
		alternating.runs = append(alternating.runs, makeRun(1, i%2 == 0))
	}
	alternating.bits, alternating.dense = 1<<9, 1<<9
	unused := nested(&template{}, 1, 1)
	for range maxVariables/maxIndex + 1 {
		unused.templates = append(unused.templates, &template{bits: maxIndex, runs: []classRun{makeRun(maxIndex, true)}})
	}
	for name, s := range map[string]*System{
		"blocks":                      nested(&template{}, 24, 2),
		"outside variables of blocks": nested(&template{slots: 1 << 13}, 13, 2),
		"blocks within one another":   nested(&template{}, maxDepth, 1),
		"variables in templates":      unused,
	} {
		t.Run(name, func(t *testing.T) {
			data := encode(t, s)
			require.Less(t, len(data), 1<<20)
			_, err := decode(data, "x.pce", "")
			require.ErrorIs(t, err, ErrFormat)
			require.ErrorIs(t, err, ErrTooLarge)
			require.ErrorContains(t, err, name)
		})
	}
	err := nested(alternating, 14, 2).checkExtent() // there is no file, which would need the digest of the layout
	require.ErrorIs(t, err, ErrTooLarge)
	require.ErrorContains(t, err, "runs of private variables")
	for _, s := range []*System{
		nested(&template{}, 10, 2), nested(&template{slots: 7}, 5, 3), nested(alternating, 2, 2),
		nested(&template{}, maxDepth-1, 1),
	} {
		got, err := decode(encode(t, s), "x.pce", "")
		require.NoError(t, err)
		require.Equal(t, s.Stats(), got.Stats())
		exercise(t, got)
	}
}

// What is recorded can be opened: both have the same bounds.
func TestRecordTooDeep(t *testing.T) {
	deep := func(levels int) synthesis {
		var level func(b Builder, n int)
		level = func(b Builder, n int) {
			if n > 0 {
				b.Block("level", nil, func(b Builder, _ []Arg) []Arg {
					b.AllocBit(true)
					level(b, n-1)
					return nil
				})
			}
		}
		return func(b Builder) error {
			level(b, levels)
			return nil
		}
	}
	s := record(t, deep(maxDepth))
	_, err := decode(encode(t, s), "x.pce", "")
	require.NoError(t, err)
	_, err = Record(t.Context(), "deep", deep(maxDepth+1), nil)
	require.ErrorIs(t, err, ErrTooLarge)
}
