package cuzk

import (
	"flag"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/gputest"
	"github.com/gocuzk/cuzk/internal/queue"
	"github.com/gocuzk/cuzk/internal/synth"
	"github.com/gocuzk/cuzk/pce"
)

var slow = flag.Bool("slow", false, "run the checks that take minutes")

// addPoSt makes keys for the circuits of 2 KiB.
func (f *fleet) addPoSt(t *testing.T, kinds ...post.Kind) {
	t.Helper()
	for _, kind := range kinds {
		p, err := post.ParamsFor(kind, 2<<10)
		require.NoError(t, err)
		system, err := pce.Record(t.Context(), p.Name(), post.Blank(p).Synthesize, nil)
		require.NoError(t, err)
		_, err = groth16.WriteTestKey(t.Context(), f.cache, system, &groth16.TestKeyOptions{Backend: groth16.BackendCPU})
		require.NoError(t, err)
	}
}

// verdict is what the root package's verification says about a result.
func (f *fleet) verdict(t *testing.T, s *post.Statement, r *Result) bool {
	t.Helper()
	p, err := s.Proof.Params()
	require.NoError(t, err)
	vk, err := f.params.VerifyingKey(t.Context(), p.Name())
	require.NoError(t, err)
	verify := VerifyWindowPoSt
	if p.Kind == post.Winning {
		verify = VerifyWinningPoSt
	}
	ok, err := verify(t.Context(), vk, s, r.Bytes())
	require.NoError(t, err)
	return ok
}

// TestWindowPoSt: the calls that a node makes before a deadline, and what it hears about damaged sectors.
func TestWindowPoSt(t *testing.T) {
	if testing.Short() || raceDetector {
		t.Skip("takes half a minute; runs without -short and the race detector")
	}
	f := newFleet(t)
	f.addPoSt(t, post.Window)
	e := f.open(t, nil, Options{Backend: groth16.BackendCPU})
	require.NoError(t, e.Preload(t.Context(), "", "window-post-2KiB"))
	statement, vanilla, err := synth.PoSt(t.Context(), post.Window2KiBV1_2, nil, 3, 1)
	require.NoError(t, err)
	r, err := e.WindowPoSt(t.Context(), statement, vanilla, nil)
	require.NoError(t, err)
	require.Len(t, r.Proofs, 2)
	require.True(t, f.verdict(t, statement, r))

	one := *statement
	one.Sectors = statement.Sectors[2:]
	r, err = e.WindowPoStPartition(t.Context(), &one, vanilla[2:], 1, nil)
	require.NoError(t, err)
	require.True(t, f.verdict(t, &one, r))

	_, err = e.WinningPoSt(t.Context(), statement, vanilla, nil)
	require.ErrorIs(t, err, post.ErrProofType)

	// One node of a path is damaged: the error names the sector and the path, and the other partition is good.
	vanilla[2].Paths[0].Levels[0].Siblings[0].SetOne()
	r, err = e.WindowPoSt(t.Context(), statement, vanilla, nil)
	var damaged *post.CheckError
	require.ErrorAs(t, err, &damaged)
	require.Equal(t, statement.Sectors[2].ID, damaged.SectorID)
	require.ErrorIs(t, err, post.ErrPath)
	require.ErrorIs(t, err, groth16.ErrUnsatisfied)
	var partition *PartitionError
	require.ErrorAs(t, err, &partition)
	require.Equal(t, 1, partition.Partition)
	require.NoError(t, r.Partitions[0].Err)
	first := *statement
	first.Sectors = statement.Sectors[:2]
	require.True(t, f.verdict(t, &first, &Result{Proofs: r.Proofs[:1], Partitions: r.Partitions[:1]}))
}

// TestPoStAmongOthers: a WinningPoSt and a WindowPoSt of 2 KiB among other jobs, on made-up cards.
func TestPoStAmongOthers(t *testing.T) {
	if !*slow {
		t.Skip("takes minutes; run with -slow")
	}
	f := newFleet(t, 1<<8, 1<<12)
	f.addPoSt(t, post.Winning, post.Window)
	card := fakedrv.Card{MemoryBytes: 2 << 30}
	_, devices := gputest.Cards(t, nil, card, card, card, card)
	e := f.open(t, devices, Options{})
	var jobs []*Job
	var of []circuits.Circuit
	for i := range 16 {
		of = append(of, f.list[i%2])
		jobs = append(jobs, submit(t, e, taskOf(queue.Rest, of[i], 1+i%3), nil))
	}
	winning, vanilla, err := synth.PoSt(t.Context(), post.Winning2KiBV1, nil, 1, 1)
	require.NoError(t, err)
	window, proofs, err := synth.PoSt(t.Context(), post.Window2KiBV1_2, nil, 3, 1)
	require.NoError(t, err)
	inWindow := submit(t, e, WindowPoSt(window, proofs), nil)
	r, err := e.WinningPoSt(t.Context(), winning, vanilla, nil)
	require.NoError(t, err)
	require.True(t, f.verdict(t, winning, r))
	require.Equal(t, groth16.BackendGPU, r.Partitions[0].Backend)
	r, err = inWindow.Wait(t.Context())
	require.NoError(t, err)
	require.True(t, f.verdict(t, window, r))
	for i, j := range jobs {
		r, err := j.Wait(t.Context())
		require.NoError(t, err)
		f.verify(t, of[i], r)
	}
}
