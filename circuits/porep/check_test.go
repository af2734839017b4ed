package porep

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"
	"testing"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/circuits/gadget"
	"github.com/gocuzk/cuzk/internal/circuittest"
	"github.com/stretchr/testify/require"
)

// The relations between fields: each one broken with all the paths in order, so that nothing but the
// relation gives it away.
func TestCheckRelations(t *testing.T) {
	var one fr.Element
	one.SetOne()
	bump := func(e *fr.Element) { e.Add(e, &one) }
	rebuild := func(m *MerklePath, hash func([]fr.Element) fr.Element) { m.Root = m.Climb(hash) }
	for name, c := range map[string]struct {
		change    func(c *C1, p *Challenge)
		challenge int
		field     string
		err       error
	}{
		"another node":          {func(c *C1, p *Challenge) { p.Node ^= 1 }, 1, "labeling_proofs[0].node", ErrChallenge},
		"data of another node":  {func(c *C1, p *Challenge) { p.DPath = c.Partitions[0][0].DPath }, 1, "comm_d_proofs", ErrChallenge},
		"replica of another":    {func(c *C1, p *Challenge) { p.RPath = c.Partitions[0][0].RPath }, 1, "comm_r_last_proof", ErrChallenge},
		"column of another":     {func(c *C1, p *Challenge) { p.CPath = c.Partitions[0][0].CPath }, 1, "replica_column_proofs.c_x.inclusion_proof", ErrChallenge},
		"parents exchanged":     {func(c *C1, p *Challenge) { p.Drg[1], p.Drg[2] = p.Drg[2], p.Drg[1] }, 1, "replica_column_proofs.drg_parents[1].column.index", ErrParent},
		"exp parents exchanged": {func(c *C1, p *Challenge) { p.Exp[6], p.Exp[7] = p.Exp[7], p.Exp[6] }, 1, "replica_column_proofs.exp_parents[6].column.index", ErrParent},
		"path of another":       {func(c *C1, p *Challenge) { p.Exp[3].Path = p.Exp[2].Path }, 1, "replica_column_proofs.exp_parents[3].inclusion_proof", ErrParent},
		"sibling":               {func(c *C1, p *Challenge) { bump(&p.Drg[3].Path.Levels[1].Siblings[2]) }, 1, "replica_column_proofs.drg_parents[3].inclusion_proof", ErrPath},
		"parent's label":        {func(c *C1, p *Challenge) { bump(&p.Exp[5].Rows[0]) }, 1, "replica_column_proofs.exp_parents[5].column.rows", ErrColumn},
		"other data": {func(c *C1, p *Challenge) { bump(&p.DPath.Leaf); rebuild(&p.DPath, gadget.HashData) }, 1,
			"comm_d_proofs.data.Single.root", ErrRoot},
		"other replica": {func(c *C1, p *Challenge) { bump(&p.RPath.Leaf); rebuild(&p.RPath, gadget.HashSealed) }, 1,
			"comm_r_last_proof.data.Single.root", ErrRoot},
		"other column": {func(c *C1, p *Challenge) { bump(&p.CPath.Leaf); rebuild(&p.CPath, gadget.HashSealed) }, 1,
			"replica_column_proofs.c_x.inclusion_proof.data.Single.root", ErrRoot},
		"label":  {func(c *C1, p *Challenge) { bump(&p.Labels[1]) }, 1, "replica_column_proofs.c_x.column.rows", ErrLabel},
		"comm_r": {func(c *C1, _ *Challenge) { c.CommR[0] ^= 1 }, -1, "comm_r", ErrCommR},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, _ := decodeVector(t, "porep")
			c.change(d, &d.Partitions[0][1])
			err := d.Check(context.Background(), 0)
			var got *CheckError
			require.ErrorAs(t, err, &got)
			require.Equal(t, 0, got.Partition)
			require.Equal(t, c.challenge, got.Challenge)
			require.Equal(t, c.field, got.Field)
			require.ErrorIs(t, err, c.err)
			require.ErrorContains(t, err, c.field)
		})
	}
}

// Column and encoding of the challenged node: with a partition of one challenge the whole tree can be
// made to fit, down to comm_r, and only the label tells.
func TestCheckLabelRelations(t *testing.T) {
	for name, c := range map[string]struct {
		change func(p *Challenge)
		field  string
		err    error
	}{
		"encoding": {func(p *Challenge) {
			p.RPath.Leaf.Double(&p.RPath.Leaf)
			p.RPath.Root = p.RPath.Climb(gadget.HashSealed)
		}, "comm_r_last_proof.data.Single.leaf", ErrEncoding},
		"column": {func(p *Challenge) {
			p.CPath.Leaf = p.RPath.Leaf
			p.CPath.Root = p.CPath.Climb(gadget.HashSealed)
		}, "replica_column_proofs.c_x.inclusion_proof.data.Single.leaf", ErrColumn},
	} {
		t.Run(name, func(t *testing.T) {
			d, _, _ := decodeVector(t, "porep")
			cl, err := d.claim()
			require.NoError(t, err)
			p := &d.Partitions[0][0]
			c.change(p)
			check := checker{roots: &roots{claim: cl, commC: p.CPath.Root, commRLast: p.RPath.Root}, proof: p, want: cl.expect(0)[0]}
			cl.commR = gadget.HashSealed([]fr.Element{p.CPath.Root, p.RPath.Root})
			require.NoError(t, check.ownPaths())
			require.NoError(t, check.commitments())
			var got *CheckError
			require.ErrorAs(t, check.labels(), &got)
			require.Equal(t, c.field, got.Field)
			require.ErrorIs(t, got, c.err)
		})
	}
}

// The answer is the first failure in order, whatever the number of workers.
func TestCheckOrder(t *testing.T) {
	d, _, _ := decodeVector(t, "porep-16KiB")
	for i := range d.Partitions[0] {
		d.Partitions[0][i].Node = 0
	}
	for _, workers := range []int{-1, 0, 1, 2, 64} {
		var got *CheckError
		require.ErrorAs(t, d.Check(context.Background(), workers), &got)
		require.Equal(t, 0, got.Challenge)
	}
}

func TestCheckPartition(t *testing.T) {
	d, _, _ := decodeVector(t, "porep")
	require.NoError(t, d.CheckPartition(context.Background(), 0, 1))
	require.ErrorIs(t, d.CheckPartition(context.Background(), 1, 1), ErrCount)
	require.ErrorIs(t, d.CheckPartition(context.Background(), -1, 1), ErrCount)
}

func TestCheckCancelled(t *testing.T) {
	d, _, _ := decodeVector(t, "porep")
	cause := errors.New("enough")
	ctx, cancel := context.WithCancelCause(context.Background())
	cancel(cause)
	require.ErrorIs(t, d.Check(ctx, 2), cause)
}

// A C1 that was put together by hand wrongly is an error, not a panic.
func TestCheckShape(t *testing.T) {
	for name, change := range map[string]func(c *C1){
		"zero":          func(c *C1) { *c = C1{} },
		"no partitions": func(c *C1) { c.Partitions = nil },
		"no challenges": func(c *C1) { c.Partitions[0] = nil },
		"no levels":     func(c *C1) { c.Partitions[0][1].DPath.Levels = nil },
		"no siblings":   func(c *C1) { c.Partitions[0][1].Exp[7].Path.Levels[0].Siblings = nil },
		"bad index":     func(c *C1) { c.Partitions[0][1].RPath.Levels[1].Index = 8 },
		"no rows":       func(c *C1) { c.Partitions[0][0].Drg[0].Rows = nil },
		"more labels":   func(c *C1) { c.Partitions[0][0].Labels = make([]fr.Element, 3) },
		"bad params":    func(c *C1) { c.Params.Layers = 5 },
		"bad proof":     func(c *C1) { c.Proof = 99 },
	} {
		t.Run(name, func(t *testing.T) {
			d, _, _ := decodeVector(t, "porep")
			change(d)
			require.Error(t, d.Check(context.Background(), 1))
			_, err := d.Circuits()
			require.Error(t, err)
		})
	}
}

// A circuit for each partition, with the values of the document.
func TestCircuits(t *testing.T) {
	for _, name := range c1Vectors() {
		d, _, _ := decodeVector(t, name)
		v := loadVector(t, name)
		circuits, err := d.Circuits()
		require.NoError(t, err)
		require.Len(t, circuits, v.Partitions)
		for k, c := range circuits {
			require.Equal(t, d.Params, c.Params)
			require.Equal(t, v.PublicInputs[k], circuittest.HexesLE([][]fr.Element{c.Public})[0])
			require.Equal(t, c.Public[:3], []fr.Element{c.ReplicaID, c.CommD, c.CommR})
			require.Equal(t, c.CommR, gadget.HashSealed([]fr.Element{c.CommC, c.CommRLast}))
			require.Len(t, c.Challenges, d.Params.Challenges)
		}
	}
}

// The damaged prover inputs of invalid/porep.json: what the reference refuses is refused here, before
// anything is proved.
func TestInvalidWitnesses(t *testing.T) {
	cases := circuittest.LoadJSON[struct {
		Witnesses []struct {
			Name    string
			Verdict any
			Change  map[string]any
		}
	}](t, "invalid.json").Witnesses
	require.Len(t, cases, 9)
	for _, c := range cases {
		t.Run(c.Name, func(t *testing.T) {
			_, raw, _ := decodeVector(t, "porep")
			err := verdict(damage(t, raw, c.Change), nil)
			if c.Verdict == true {
				require.NoError(t, err)
				return
			}
			require.Equal(t, "error", c.Verdict)
			var d *DecodeError
			var check *CheckError
			switch {
			case c.Change["xor_1"] != nil:
				require.ErrorAs(t, err, &check)
				require.Equal(t, 1, check.Challenge)
				require.Equal(t, "comm_r_last_proof", check.Field)
			case c.Change["truncate_to"] != nil:
				require.ErrorIs(t, err, io.ErrUnexpectedEOF)
			default:
				require.ErrorAs(t, err, &d)
				for field, value := range c.Change {
					if field == "remove" {
						field = value.(string)
					}
					require.Contains(t, d.Path, field)
				}
			}
		})
	}
}

// damage applies a change of invalid/porep.json to a raw document.
func damage(t *testing.T, raw []byte, change map[string]any) []byte {
	t.Helper()
	if n, ok := change["truncate_to"]; ok {
		return raw[:int(n.(float64))]
	}
	doc := parse(raw, 0, "")
	for field, value := range change {
		switch value {
		case "31 bytes of 1":
			value = json.RawMessage(strings.ReplaceAll(zeros(31), "0", "1"))
		case "32 zero bytes":
			value = json.RawMessage(zeros(32))
		}
		text, err := json.Marshal(value)
		require.NoError(t, err)
		switch field {
		case "remove":
			return bytes.Replace(raw, []byte(`"`+value.(string)+`"`), []byte(`"removed"`), 1)
		case "xor_1":
			path := strings.ReplaceAll(strings.TrimPrefix(value.(string), "/"), "/", ".")
			path = path[:strings.LastIndex(path, ".")] // the first byte of the element
			var out []byte
			doc.walk(raw, func(n node) {
				if strings.NewReplacer("[", ".", "]", "").Replace(n.path) == path {
					out = change1(raw, n.parts[0])
				}
			})
			require.NotNil(t, out)
			return out
		case "extra":
			return splice(raw, 1, 1, `"extra":`+string(text)+",")
		}
		for _, p := range doc.parts {
			if p.path == field {
				return splice(raw, p.start, p.end, string(text))
			}
		}
	}
	t.Fatalf("change %v not understood", change)
	return nil
}

// change1 is raw with the lowest bit of the number n turned.
func change1(raw []byte, n node) []byte {
	v, _ := strconv.Atoi(string(raw[n.start:n.end]))
	return splice(raw, n.start, n.end, strconv.Itoa(v^1))
}

func BenchmarkCheck(b *testing.B) {
	for _, name := range []string{"porep", "porep-32KiB-11layers"} {
		b.Run("sector="+name, func(b *testing.B) {
			d, _, _ := decodeVector(b, name)
			for b.Loop() {
				if err := d.Check(context.Background(), 1); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
