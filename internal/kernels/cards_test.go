package kernels_test

import (
	"errors"
	"os"
	"os/exec"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gocuzk/cuzk/circuits"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/internal/cudrv/fakedrv"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/gputest"
)

// host is a machine with several cards.
type host struct {
	cards   int
	open    func(i int) (device.Device, error)
	real    bool   // and its monitor tells of memory
	circuit string // of the reference's small ones
	rounds  int    // of each test
}

// realHost is this machine, if it has several cards.
func realHost(t *testing.T) *host {
	t.Helper()
	realSystem(t)
	infos, err := device.List()
	require.NoError(t, err)
	if len(infos) < 2 {
		t.Skip("this machine has one GPU")
	}
	open := func(i int) (device.Device, error) { return device.Open(infos[i].UUID, nil) }
	return &host{len(infos), open, true, "feistel", 10}
}

// madeUpHost has cards that run the twins of the kernels. Nothing may be left on them.
func madeUpHost(t *testing.T) *host {
	t.Helper()
	drv, system := gputest.System(gputest.Options{Driver: fakedrv.Config{Cards: make([]fakedrv.Card, 3)}})
	t.Cleanup(func() {
		require.Empty(t, drv.Violations())
		require.Equal(t, fakedrv.Usage{}, drv.Usage())
	})
	open := func(i int) (device.Device, error) {
		d, err := system.Open(i)
		if err != nil {
			return nil, err
		}
		return device.Wrap(d), nil
	}
	return &host{3, open, false, "cubic", 2}
}

// TestCards shows on the cards of a host what TestMadeUpCards shows on made-up ones.
func TestCards(t *testing.T) { testCards(t, realHost) }

func TestMadeUpCards(t *testing.T) { testCards(t, madeUpHost) }

func testCards(t *testing.T, hostOf func(t *testing.T) *host) {
	t.Run("each on its own", func(t *testing.T) { hostOf(t).testOwnCard(t) })
	t.Run("at once", func(t *testing.T) { hostOf(t).testAtOnce(t) })
	t.Run("one is reopened", func(t *testing.T) { hostOf(t).testReopen(t) })
}

// prover is a prover of a small circuit on a card, and what it proves.
type prover struct {
	groth16.Prover
	device  device.Device
	circuit circuits.Circuit
}

func (h *host) prover(i int, v *enginetest.Vector, key *groth16.ProvingKey, t *testing.T) (*prover, error) {
	d, err := h.open(i)
	if err != nil {
		return nil, err
	}
	p, err := groth16.NewProver(t.Context(), key, v.System(t), &groth16.ProverOptions{Device: d})
	if err != nil {
		return nil, errors.Join(err, d.Close())
	}
	return &prover{p, d, v.Circuit}, nil
}

// prove makes a proof, which is verified, and says whether it was made on the right card.
func (p *prover) prove(t *testing.T) error {
	r, err := p.Prove(t.Context(), []circuits.Circuit{p.circuit}, nil)
	if err == nil && r.Partitions[0].Device != p.device.Info() {
		err = errors.New("made on " + r.Partitions[0].Device.UUID)
	}
	return err
}

func (p *prover) close() error { return errors.Join(p.Close(), p.device.Close()) }

// provers are one on each card, made at once.
func (h *host) provers(t *testing.T) []*prover {
	t.Helper()
	v := enginetest.Small(t, h.circuit)
	key, err := groth16.OpenProvingKey(v.ParamsFile(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, key.Close()) })
	all, errs := make([]*prover, h.cards), make([]error, h.cards)
	h.each(func(i int) { all[i], errs[i] = h.prover(i, v, key, t) })
	require.NoError(t, errors.Join(errs...))
	return all
}

// each calls f for all cards at once.
func (h *host) each(f func(i int)) {
	var wg sync.WaitGroup
	for i := range h.cards {
		wg.Go(func() { f(i) })
	}
	wg.Wait()
}

func statsOf(all []*prover) []device.Stats {
	stats := make([]device.Stats, len(all))
	for i, p := range all {
		stats[i] = p.device.Stats()
	}
	return stats
}

// testOwnCard: a proof starts kernels on its own card alone, and a prover that is closed gives back that card's memory
// alone. The monitor of a real card says the same of the process.
func (h *host) testOwnCard(t *testing.T) {
	all := h.provers(t)
	for i, p := range all {
		before := statsOf(all)
		require.NoError(t, p.prove(t))
		for k, after := range statsOf(all) {
			require.Equal(t, k == i, after.Launches > before[k].Launches, "a proof on card %d, kernels on card %d", i, k)
			require.Equal(t, h.real, after.ProcessBytes > 0)
			if k != i {
				require.Equal(t, before[k].ProcessBytes, after.ProcessBytes)
			}
		}
	}
	for i, p := range all {
		before := statsOf(all)
		require.Equal(t, p.Memory().LeasedBytes, before[i].LeasedBytes)
		require.NoError(t, p.Close())
		for k, after := range statsOf(all) {
			want := before[k].LeasedBytes
			if k == i {
				want = 0
			}
			require.Equal(t, want, after.LeasedBytes)
			t.Logf("prover %d closed: card %d: the process has %d bytes", i, k, after.ProcessBytes)
		}
	}
	for _, p := range all {
		require.NoError(t, p.close())
	}
}

// testAtOnce: keys are loaded and proofs made on all cards at once, again and again.
func (h *host) testAtOnce(t *testing.T) {
	for range h.rounds {
		all := h.provers(t)
		h.each(func(i int) {
			for range h.rounds {
				if err := all[i].prove(t); err != nil {
					t.Errorf("card %d: %v", i, err)
				}
			}
		})
		for _, p := range all {
			require.NoError(t, p.close())
		}
	}
}

// testReopen: a card is closed and opened again while the others prove.
func (h *host) testReopen(t *testing.T) {
	all := h.provers(t)
	v := enginetest.Small(t, h.circuit)
	key, err := groth16.OpenProvingKey(v.ParamsFile(t))
	require.NoError(t, err)
	end := make(chan struct{})
	proving := make(chan int, h.cards)
	h.each(func(i int) {
		if i > 0 {
			go func() {
				n := 0
				defer func() { proving <- n }()
				for ; ; n++ {
					select {
					case <-end:
						return
					default:
					}
					if err := all[i].prove(t); err != nil {
						t.Errorf("card %d: %v", i, err)
						return
					}
				}
			}()
			return
		}
		for range h.rounds {
			if err := all[0].close(); err != nil {
				t.Error(err)
			}
			p, err := h.prover(0, v, key, t)
			if err != nil {
				t.Error(err)
				return
			}
			all[0] = p
			if err := p.prove(t); err != nil {
				t.Error(err)
			}
		}
	})
	close(end)
	for range h.cards - 1 {
		n := <-proving
		t.Logf("%d proofs on another card meanwhile", n)
		require.Positive(t, n)
	}
	for _, p := range all {
		require.NoError(t, p.close())
	}
	require.NoError(t, key.Close())
}

// cardsChildEnv tells a process of its own what to do, and hands it a card's UUID.
const cardsChildEnv = "CUZK_CARDS_TEST_CHILD"

// cardsChild runs TestCardsChild in a process of its own.
func cardsChild(t *testing.T, what string, env ...string) string {
	t.Helper()
	cmd := exec.Command(os.Args[0], "-test.run=^TestCardsChild$", "-test.v")
	cmd.Env = append(append(os.Environ(), cardsChildEnv+"="+what), env...)
	out, err := cmd.CombinedOutput()
	require.NoError(t, err, "%s", out)
	return string(out)
}

// TestCardsVisible: when the driver is told to number the cards the other way round, a UUID still names the same card.
func TestCardsVisible(t *testing.T) {
	realHost(t)
	infos, err := device.List()
	require.NoError(t, err)
	for ordinal, order := range []string{infos[0].UUID + "," + infos[1].UUID, infos[1].UUID + "," + infos[0].UUID} {
		out := cardsChild(t, "prove "+infos[0].UUID, "CUDA_VISIBLE_DEVICES="+order)
		want := map[int]string{0: "ordinal 0", 1: "ordinal 1"}[ordinal]
		require.Contains(t, out, "proved on "+infos[0].UUID+" "+want)
	}
}

// TestCardsIllegalAddress: after an illegal address on one card that card is lost, the process lives, and what it says of
// the other card is no wrong proof. What the driver does with the other card is in the log.
func TestCardsIllegalAddress(t *testing.T) {
	realHost(t)
	t.Log(cardsChild(t, "fault"))
}

// TestCardsChild is what other tests start in a process of its own.
func TestCardsChild(t *testing.T) {
	what, uuid, _ := strings.Cut(os.Getenv(cardsChildEnv), " ")
	switch what {
	case "":
		t.Skip("this is what other tests start as a process of its own")
	case "prove":
		h := &host{1, func(int) (device.Device, error) { return device.Open(uuid, nil) }, true, "cubic", 1}
		p := h.provers(t)[0]
		require.NoError(t, p.prove(t))
		t.Logf("proved on %s ordinal %d", p.device.Info().UUID, p.device.Info().Ordinal)
		require.NoError(t, p.close())
	case "fault":
		h := realHost(t)
		all := h.provers(t)
		c := newChain(t, realSystem(t), nil)
		bad := struct {
			in, out   uint64
			n, rounds uint32
		}{16, c.out.Ptr(), uint32(c.out.Len()), 1}
		err := gpu.Launch(c.s, c.f, gpu.Grid{Blocks: c.out.Len() / 256, Threads: 256, Micros: 1}, &bad)
		err = device.Err(errors.Join(err, c.s.Wait()))
		t.Logf("card 0: %v", err)
		require.ErrorIs(t, err, device.ErrLost)
		for i, p := range all {
			err := p.prove(t)
			t.Logf("then a proof on card %d: %v", i, err)
			if i == 0 {
				require.Error(t, err)
			}
			if err != nil {
				var failed *device.Error
				require.ErrorAs(t, err, &failed)
			}
		}
	}
}
