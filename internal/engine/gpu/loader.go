package gpu

import (
	"fmt"

	"github.com/gocuzk/cuzk/internal/gpu"
	"github.com/gocuzk/cuzk/internal/kernels"
	"github.com/gocuzk/cuzk/internal/srs"
	"github.com/gocuzk/cuzk/internal/wire"
)

// chunkPoints is how many points are copied and decoded at a time: 25 MB in G2.
const chunkPoints = 1 << 17

// inbox is room on the card for encoded points, for where each of them belongs, and for what is wrong with one.
type inbox struct {
	raw   gpu.View[byte]
	place gpu.View[uint32]
	fault gpu.View[uint64]
}

// inboxBytes is what an inbox for n points in so many bytes takes of an arena.
func inboxBytes(bytes, n int) uint64 {
	return gpu.Aligned[byte](bytes) + gpu.Aligned[uint32](n) + gpu.Aligned[uint64](1)
}

func newInbox(a *gpu.Arena, bytes, n int) (x inbox, err error) {
	if x.raw, err = gpu.Alloc[byte](a, bytes); err != nil {
		return x, err
	}
	if x.place, err = gpu.Alloc[uint32](a, n); err != nil {
		return x, err
	}
	x.fault, err = gpu.Alloc[uint64](a, 1)
	return x, err
}

// stage enqueues the copy of encoded points and of their places, which may be none, to an inbox behind n others of the section.
func (x inbox) stage(s *gpu.Stream, section srs.Section, n int, encoded []byte, places []uint32) error {
	if places != nil {
		if err := gpu.Stage(s, x.place.Slice(n, n+len(places)), places); err != nil {
			return err
		}
	}
	n *= encodedSize(section)
	return gpu.StageBytes(s, x.raw.Slice(n, n+len(encoded)), encoded)
}

// decode enqueues what checks n points, numbered from first on in their section, and puts them to their places in dst or,
// if they have none, there in order.
func (x inbox) decode(
	lib *kernels.Library, s *gpu.Stream, section srs.Section, first, n int, placed bool, dst points,
) error {
	raw, place := x.raw.Slice(0, n*encodedSize(section)), gpu.View[uint32]{}
	if placed {
		place = x.place.Slice(0, n)
	}
	if section == srs.BG2 {
		return lib.DecodeG2(s, dst.g2, raw, place, uint32(first), x.fault)
	}
	return lib.DecodeG1(s, dst.g1, raw, place, uint32(first), x.fault)
}

// forgive enqueues that no point is known to be wrong.
func (x inbox) forgive(s *gpu.Stream) error { return gpu.Fill(s, x.fault, 0xff) }

// verdict waits for the stream and reports the first malformed point that was decoded since forgive, as an *srs.Error.
func (x inbox) verdict(s *gpu.Stream, key *srs.Key, section srs.Section) error {
	found := make([]uint64, 1)
	if err := gpu.DownloadSlice(s, found, x.fault); err != nil {
		return err
	}
	if index, why, bad := kernels.ReadFault(found[0]); bad {
		return key.PointError(section, int(index), reasonOf(why))
	}
	return nil
}

// loader brings points from a key's file to the card: encoded points go there as they are in the file, and the card decodes, checks
// and places them.
type loader struct {
	lib    *kernels.Library
	stream *gpu.Stream
	key    *srs.Key
	box    inbox    // of a chunk
	places []uint32 // of a chunk
}

// loaderBytes is what a loader takes of an arena if no section has more than n points.
func loaderBytes(n int) uint64 {
	n = min(n, chunkPoints)
	return inboxBytes(n*wire.G2Size, n)
}

func newLoader(lib *kernels.Library, s *gpu.Stream, a *gpu.Arena, key *srs.Key, n int) (*loader, error) {
	n = min(n, chunkPoints)
	box, err := newInbox(a, n*wire.G2Size, n)
	return &loader{lib: lib, stream: s, key: key, box: box, places: make([]uint32, n)}, err
}

// load brings a segment to dst and waits for it, also after an error. A malformed point gives an *srs.Error.
func (l *loader) load(s *segment, dst points) error {
	if s.lo == s.hi {
		return nil
	}
	if err := l.box.forgive(l.stream); err != nil {
		return err
	}
	err := l.view(s, func(lo, hi int, encoded []byte, places []uint32) error {
		if err := l.box.stage(l.stream, s.query.section, 0, encoded, places); err != nil {
			return err
		}
		to := dst
		if places == nil {
			to = dst.slice(s.query.section, lo-s.lo, hi-s.lo) // as in the file
		}
		return l.box.decode(l.lib, l.stream, s.query.section, lo, hi-lo, places != nil, to)
	})
	if err != nil {
		return err
	}
	return l.box.verdict(l.stream, l.key, s.query.section)
}

// bring copies a segment to an inbox of its size and waits for it, also after an error.
func (l *loader) bring(s *segment, to inbox) error {
	return l.view(s, func(lo, _ int, encoded []byte, places []uint32) error {
		return to.stage(l.stream, s.query.section, lo-s.lo, encoded, places)
	})
}

// view enqueues a segment's points chunk by chunk and waits for the stream, also after an error. Points of a query without a
// layout have no places.
func (l *loader) view(s *segment, enqueue func(lo, hi int, encoded []byte, places []uint32) error) error {
	size := encodedSize(s.query.section)
	// The file's pages are read here and not in the driver, where a fault of a file cut short would end the process. Of
	// page-locked memory the card may read until the stream has passed.
	err := l.key.View(s.query.section, s.lo, s.hi, func(b []byte) error {
		err := l.chunks(s, func(lo, hi int, places []uint32) error {
			return enqueue(lo, hi, b[(lo-s.lo)*size:(hi-s.lo)*size], places)
		})
		if e := l.stream.Wait(); err == nil {
			err = e
		}
		return err
	})
	if err == nil {
		l.key.Forget(s.query.section, s.lo, s.hi)
	}
	return err
}

// chunks calls f for a segment's chunks with the places of their points.
func (l *loader) chunks(s *segment, f func(lo, hi int, places []uint32) error) error {
	at := s.placer()
	for lo := s.lo; lo < s.hi; lo += len(l.places) {
		hi := min(lo+len(l.places), s.hi)
		var places []uint32
		if s.query.layout != nil {
			places = l.places[:hi-lo]
			at.fill(places)
		}
		if err := f(lo, hi, places); err != nil {
			return err
		}
	}
	return nil
}

// encodedSize is the size of a section's points in the file.
func encodedSize(s srs.Section) int {
	if s == srs.BG2 {
		return wire.G2Size
	}
	return wire.G1Size
}

// reasonOf says it in the words of the decoder on the host.
func reasonOf(why kernels.Refusal) error {
	switch why {
	case kernels.BadFlags:
		return wire.Flags
	case kernels.NotReduced:
		return wire.NotReduced
	case kernels.NotOnCurve:
		return wire.NotOnCurve
	case kernels.NotInSubgroup:
		return wire.NotInSubgroup
	case kernels.Infinity:
		return wire.Infinity
	}
	panic(fmt.Sprintf("gpu: point refused for reason %d", why))
}
