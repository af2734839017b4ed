package gpu

import (
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// NewStreaming returns an engine that lets nothing of a key stay on the card, however small it is, and streams it in
// segments of so many bytes, but none larger than usual. It is for tests and benchmarks.
func NewStreaming(d *gpu.Device, segment int) (engine.Engine, error) {
	return newEngine(d, options{segmentBytes: min(segment, segmentBytes), stream: true})
}
