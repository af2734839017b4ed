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

// loader brings points from a key's file to the card: encoded points go there as they are in the file, and the card decodes, checks
// and places them.
type loader struct {
	lib    *kernels.Library
	stream *gpu.Stream
	key    *srs.Key
	raw    gpu.View[byte]
	place  gpu.View[uint32]
	fault  gpu.View[uint64]
	places []uint32 // of a chunk
}

// loaderBytes is what a loader takes of an arena if no section has more than n points.
func loaderBytes(n int) uint64 {
	n = min(n, chunkPoints)
	return gpu.Aligned[byte](n*wire.G2Size) + gpu.Aligned[uint32](n) + gpu.Aligned[uint64](1)
}

func newLoader(lib *kernels.Library, s *gpu.Stream, a *gpu.Arena, key *srs.Key, n int) (*loader, error) {
	n = min(n, chunkPoints)
	l := &loader{lib: lib, stream: s, key: key, places: make([]uint32, n)}
	var err error
	if l.raw, err = gpu.Alloc[byte](a, n*wire.G2Size); err != nil {
		return nil, err
	}
	if l.place, err = gpu.Alloc[uint32](a, n); err != nil {
		return nil, err
	}
	l.fault, err = gpu.Alloc[uint64](a, 1)
	return l, err
}

// load brings a segment to dst and waits for it, also after an error. A malformed point gives an *srs.Error.
func (l *loader) load(s *segment, dst points) error {
	if s.lo == s.hi {
		return nil
	}
	// The file's pages are read here and not in the driver, where a fault of a file cut short would end the process. Of
	// page-locked memory the card may read until the stream has passed.
	err := l.key.View(s.query.section, s.lo, s.hi, func(b []byte) error {
		err := l.chunks(s, b, dst)
		if e := l.stream.Wait(); err == nil {
			err = e
		}
		return err
	})
	if err != nil {
		return err
	}
	l.key.Forget(s.query.section, s.lo, s.hi)
	return l.verdict(s.query.section)
}

// chunks enqueues the copies of a segment's encoded points and what makes them the points at dst.
func (l *loader) chunks(s *segment, encoded []byte, dst points) error {
	if err := gpu.Fill(l.stream, l.fault, 0xff); err != nil {
		return err
	}
	size := encodedSize(s.query.section)
	at := s.start
	var bits, dense uint32
	for lo := s.lo; lo < s.hi; lo += len(l.places) {
		hi := min(lo+len(l.places), s.hi)
		to, place := dst, gpu.View[uint32]{}
		if s.query.layout == nil {
			to = dst.slice(s.query.section, lo-s.lo, hi-s.lo) // as in the file
		} else {
			s.places(&at, l.places[:hi-lo], &bits, &dense)
			place = l.place.Slice(0, hi-lo)
			if err := gpu.Stage(l.stream, place, l.places[:hi-lo]); err != nil {
				return err
			}
		}
		b := encoded[(lo-s.lo)*size : (hi-s.lo)*size]
		if err := l.chunk(s.query.section, lo, b, to, place); err != nil {
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

// chunk brings points of a section, from number lo on, to their places.
func (l *loader) chunk(section srs.Section, lo int, encoded []byte, dst points, place gpu.View[uint32]) error {
	raw := l.raw.Slice(0, len(encoded))
	if err := gpu.StageBytes(l.stream, raw, encoded); err != nil {
		return err
	}
	if section == srs.BG2 {
		return l.lib.DecodeG2(l.stream, dst.g2, raw, place, uint32(lo), l.fault)
	}
	return l.lib.DecodeG1(l.stream, dst.g1, raw, place, uint32(lo), l.fault)
}

// verdict waits and reports the first malformed point.
func (l *loader) verdict(section srs.Section) error {
	found := make([]uint64, 1)
	if err := gpu.DownloadSlice(l.stream, found, l.fault); err != nil {
		return err
	}
	if index, why, bad := kernels.ReadFault(found[0]); bad {
		return l.key.PointError(section, int(index), reasonOf(why))
	}
	return nil
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
