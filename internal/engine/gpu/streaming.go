package gpu

import (
	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/gpu"
)

// NewStreaming returns an engine that lets nothing of a key stay on the card, however small it is, and streams it in
// segments of so many bytes. It is for tests.
func NewStreaming(d *gpu.Device, segmentBytes int) (engine.Engine, error) {
	return newEngine(d, options{segmentBytes: segmentBytes, stream: true})
}
