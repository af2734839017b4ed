package porep

import (
	"context"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/pce"
)

// TestWitnessChecks: making the witness notices whatever the circuit would not be satisfied by, and the error
// names the field as the native check does.
func TestWitnessChecks(t *testing.T) {
	if testing.Short() {
		t.Skip("takes seconds; runs without -short")
	}
	good, _, _ := decodeVector(t, "porep")
	_, err := good.Witness(t.Context(), 0, nil)
	require.NoError(t, err)
	bump := func(e *fr.Element) { e.Double(e) }
	for name, alter := range map[string]func(c *C1, ch *Challenge){
		"data leaf":        func(_ *C1, ch *Challenge) { bump(&ch.DPath.Leaf) },
		"data sibling":     func(_ *C1, ch *Challenge) { bump(&ch.DPath.Levels[2].Siblings[0]) },
		"data index":       func(_ *C1, ch *Challenge) { ch.DPath.Levels[0].Index ^= 1 },
		"replica sibling":  func(_ *C1, ch *Challenge) { bump(&ch.RPath.Levels[1].Siblings[3]) },
		"replica root":     func(_ *C1, ch *Challenge) { bump(&ch.RPath.Root) },
		"column sibling":   func(_ *C1, ch *Challenge) { bump(&ch.CPath.Levels[0].Siblings[6]) },
		"column index":     func(_ *C1, ch *Challenge) { ch.CPath.Levels[1].Index ^= 1 },
		"column root":      func(_ *C1, ch *Challenge) { bump(&ch.CPath.Root) },
		"base label":       func(_ *C1, ch *Challenge) { bump(&ch.Drg[3].Rows[1]) },
		"expander label":   func(_ *C1, ch *Challenge) { bump(&ch.Exp[7].Rows[0]) },
		"expander sibling": func(_ *C1, ch *Challenge) { bump(&ch.Exp[0].Path.Levels[1].Siblings[0]) },
		"node":             func(_ *C1, ch *Challenge) { ch.Node ^= 1 },
		"parents":          func(_ *C1, ch *Challenge) { ch.Drg[1], ch.Drg[2] = ch.Drg[2], ch.Drg[1] },
		"challenges":       func(c *C1, ch *Challenge) { *ch = c.Partitions[0][1] },
		"comm_r":           func(c *C1, _ *Challenge) { c.CommR = c.CommD },
		"comm_d":           func(c *C1, _ *Challenge) { c.CommD = c.CommR },
		"replica id":       func(c *C1, _ *Challenge) { c.ReplicaID[0] ^= 1 },
		"seed":             func(c *C1, _ *Challenge) { c.Seed[0] ^= 1 },
	} {
		t.Run(name, func(t *testing.T) {
			c, _, _ := decodeVector(t, "porep")
			alter(c, &c.Partitions[0][0])
			_, err := c.Witness(t.Context(), 0, nil)
			var ce *CheckError
			require.ErrorAs(t, err, &ce)
			require.Equal(t, c.CheckPartition(t.Context(), 0, 1).Error(), err.Error())
		})
	}
	_, err = good.Witness(t.Context(), 1, nil)
	require.ErrorIs(t, err, ErrParams)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	_, err = good.Witness(ctx, 0, &pce.WitnessOptions{Workers: 1})
	require.ErrorIs(t, err, context.Canceled)
}
