package kernels

import (
	"embed"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"

	"github.com/gocuzk/cuzk/internal/gpu"
)

//go:embed fatbin/*.fatbin fatbin/manifest.json
var embedded embed.FS

// Manifest says what the embedded kernels were built from; cuda/build.py writes it.
type Manifest struct {
	SourcesSHA256 string            `json:"sources_sha256"`
	NVCC          string            `json:"nvcc"`
	Flags         []string          `json:"flags"`
	Architectures []int             `json:"architectures"`
	Fatbins       map[string]Fatbin `json:"fatbins"`
	Kernels       map[string]Kernel `json:"kernels"`
}

// Fatbin is one embedded image.
type Fatbin struct {
	SHA256 string `json:"sha256"`
	Bytes  int    `json:"bytes"`
}

// Kernel is one kernel of an image.
type Kernel struct {
	Fatbin     string `json:"fatbin"`
	ParamBytes int    `json:"param_bytes"`
	Threads    int    `json:"threads"` // of a block, at most
}

// ReadManifest gives the embedded manifest.
func ReadManifest() (*Manifest, error) {
	b, err := embedded.ReadFile("fatbin/manifest.json")
	if err != nil {
		return nil, fmt.Errorf("kernels: manifest: %w", err)
	}
	m := new(Manifest)
	if err := json.Unmarshal(b, m); err != nil {
		return nil, fmt.Errorf("kernels: manifest: %w", err)
	}
	return m, nil
}

// image is an embedded fatbin.
func image(unit string) ([]byte, error) {
	b, err := embedded.ReadFile(path.Join("fatbin", unit+".fatbin"))
	if err != nil {
		return nil, fmt.Errorf("kernels: fatbin %s: %w", unit, err)
	}
	return b, nil
}

// Library is the kernels loaded on one card. It is safe for concurrent use.
type Library struct {
	d       *gpu.Device
	modules []*gpu.Module
	funcs   map[string]*gpu.Function
}

// Load loads all kernels. The error is one of package gpu: ErrUnsupported where no image has code
// for the card.
func Load(d *gpu.Device) (*Library, error) {
	m, err := ReadManifest()
	if err != nil {
		return nil, err
	}
	l := &Library{d: d, funcs: map[string]*gpu.Function{}}
	for unit := range m.Fatbins {
		if err := l.loadUnit(m, unit); err != nil {
			return nil, errors.Join(err, l.Close())
		}
	}
	return l, nil
}

func (l *Library) loadUnit(m *Manifest, unit string) error {
	img, err := image(unit)
	if err != nil {
		return err
	}
	mod, err := l.d.Load(img)
	if err != nil {
		return fmt.Errorf("kernels: load %s: %w", unit, err)
	}
	l.modules = append(l.modules, mod)
	for name, k := range m.Kernels {
		if k.Fatbin != unit {
			continue
		}
		if l.funcs[name], err = mod.Function(name); err != nil {
			return fmt.Errorf("kernels: load %s: %w", unit, err)
		}
	}
	return nil
}

// Close unloads the kernels.
func (l *Library) Close() error {
	var err error
	for _, m := range slices.Backward(l.modules) {
		err = errors.Join(err, m.Close())
	}
	l.modules = nil
	return err
}

// Device is the card.
func (l *Library) Device() *gpu.Device { return l.d }

// launch starts a kernel by name.
func launch[P any](l *Library, s *gpu.Stream, name string, g gpu.Grid, p *P) error {
	return gpu.Launch(s, l.funcs[name], g, p)
}

// blocks is how many blocks of `threads` cover n.
func blocks(n, threads int) int { return (n + threads - 1) / threads }
