package cpu

import (
	"testing"

	"github.com/gocuzk/cuzk/internal/engine"
	"github.com/gocuzk/cuzk/internal/engine/enginetest"
)

func TestConformance(t *testing.T) {
	enginetest.Run(t, func(testing.TB) engine.Engine { return New() })
}
