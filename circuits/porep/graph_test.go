package porep

import (
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"testing"

	"github.com/stretchr/testify/require"
)

// SHA-256 over the parents of all nodes as little-endian u32: the reference's parent cache of 2 KiB
// sectors (storage-proofs-porep/parent_cache.json; digests in full as spec/oracle/graph_check.py
// prints them).
func TestParentCache(t *testing.T) {
	for p, want := range map[RegisteredProof]string{
		StackedDrg2KiBV1:   "3da49221e2ed55371b86d0bf3d6526fcf128af61bed904f966428db1b531750d",
		StackedDrg2KiBV1_1: "840057702eea7652cf97e04306c30fe57174714d90de156a25eddd6075c25b97",
	} {
		g := newGraph(p, p.SectorSize()/32)
		h := sha256.New()
		for v := range g.nodes {
			for _, parent := range g.parents(v) {
				h.Write(binary.LittleEndian.AppendUint32(nil, uint32(parent)))
			}
		}
		require.Equal(t, want, hex.EncodeToString(h.Sum(nil)), "%v", p)
	}
}

// Parents lie in the sector, drg parents before their child, and the permutation is one.
func TestGraphProperties(t *testing.T) {
	for _, p := range []RegisteredProof{StackedDrg2KiBV1, StackedDrg2KiBV1_1, StackedDrg2KiBV1 + 1, StackedDrg2KiBV1_1 + 1} {
		g := newGraph(p, 1<<8)
		for v := range g.nodes {
			for i, parent := range g.parents(v) {
				require.Less(t, parent, g.nodes)
				if i < drgDegree && v > 0 {
					require.Less(t, parent, v)
				}
			}
		}
		seen := make([]bool, expDegree*g.nodes)
		for x := range uint64(len(seen)) {
			y := g.permute(x)
			require.False(t, seen[y])
			seen[y] = true
		}
	}
}

// RFC 7539 does not have 8 rounds; this is block 0 of the ChaCha8 test vector with an all-zero key
// and stream (draft-strombergson-chacha-test-vectors, TC1).
func TestChaCha8(t *testing.T) {
	c := newChaCha8(new([32]byte))
	var got []byte
	for range 8 {
		got = binary.LittleEndian.AppendUint64(got, c.uint64())
	}
	require.Equal(t, "3e00ef2f895f40d67f5bb8e81f09a5a12c840ec3ce9a7f3b181be188ef711a1e"+
		"984ce172b9216f419f445367456d5619314a42a3da86b001387bfdb80e0cfe42", hex.EncodeToString(got))
}

// The vectors of the reference's challenges.rs (spec appendix A): 1,024 nodes, replica id 55, comm_r
// 101, randomness [1; 32]; the set has 21 members there.
func TestSyntheticReferenceVectors(t *testing.T) {
	replicaID, commR := [32]byte{55}, [32]byte{101}
	var seed [32]byte
	for i := range seed {
		seed[i] = 1
	}
	c := newSynthetic(1<<10, &replicaID, &commR, &seed)
	require.EqualValues(t, 1<<10, c.number)
	c.number = 21
	var set []uint64
	for i := range c.number {
		set = append(set, c.member(i))
	}
	require.Equal(t, []uint64{178, 297, 869, 211, 875, 477, 94, 781, 124, 332, 856, 801, 176, 692, 429, 691, 290, 204, 986, 210, 973}, set)
	want := []uint64{176, 781, 801, 986, 290, 211, 692, 856, 986, 332}
	require.Equal(t, want, c.challenges(0, 10))
	require.Equal(t, want[5:], c.challenges(1, 5), "partition 1 of five challenges goes on where partition 0 ends")
	require.EqualValues(t, maxSynthetic, newSynthetic(1<<30, &replicaID, &commR, &seed).number)
}

func TestChallengeReduction(t *testing.T) {
	var n [32]byte
	require.EqualValues(t, 1, challenge(n[:], 64))
	n[0] = 62
	require.EqualValues(t, 63, challenge(n[:], 64))
	n[0] = 63
	require.EqualValues(t, 1, challenge(n[:], 64))
	for i := range n {
		n[i] = 0xff
	}
	// 2^256 − 1 mod 63: 2^6 = 1 (mod 63) and 256 = 4 (mod 6).
	require.EqualValues(t, 1+15, challenge(n[:], 64))
	require.EqualValues(t, 1, challenge(n[:], 2))
}
