package kernels

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// maxFatbinBytes is the budget of all images together.
const maxFatbinBytes = 12 << 20

// TestManifest fails where a source was changed and the fatbins were not rebuilt, on a machine
// without CUDA too.
func TestManifest(t *testing.T) {
	m, err := ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	got, err := sourceDigest("../../cuda", m.Flags)
	if err != nil {
		t.Fatal(err)
	}
	if got != m.SourcesSHA256 {
		t.Errorf("the sources in cuda/ are not those of the fatbins: run cuda/build.py (digest %s, manifest %s)", got, m.SourcesSHA256)
	}
	if want := []int{80, 86, 89, 90, 100, 120}; !slices.Equal(m.Architectures, want) {
		t.Errorf("architectures %v, want %v", m.Architectures, want)
	}
	if !strings.HasPrefix(m.NVCC, "13.0.") {
		t.Errorf("built with nvcc %s", m.NVCC)
	}
	total := 0
	for unit, f := range m.Fatbins {
		b, err := image(unit)
		if err != nil {
			t.Fatal(err)
		}
		sum := sha256.Sum256(b)
		if len(b) != f.Bytes || hex.EncodeToString(sum[:]) != f.SHA256 {
			t.Errorf("fatbin %s is not the manifest's", unit)
		}
		total += len(b)
	}
	if total > maxFatbinBytes {
		t.Errorf("the fatbins have %d bytes, the budget is %d", total, maxFatbinBytes)
	}
}

// sourceDigest is the digest that cuda/build.py puts into the manifest.
func sourceDigest(root string, flags []string) (string, error) {
	var paths []string
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if ext := filepath.Ext(path); err == nil && !d.IsDir() && (ext == ".cu" || ext == ".cuh" || ext == ".hpp") {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		return "", err
	}
	names := make(map[string]string, len(paths))
	for _, p := range paths {
		rel, err := filepath.Rel(root, p)
		if err != nil {
			return "", err
		}
		names[filepath.ToSlash(rel)] = p
	}
	sorted := make([]string, 0, len(names))
	for name := range names {
		sorted = append(sorted, name)
	}
	slices.Sort(sorted)
	h := sha256.New()
	for _, name := range sorted {
		b, err := os.ReadFile(names[name])
		if err != nil {
			return "", err
		}
		fmt.Fprintf(h, "%s\x00%d\x00", name, len(b))
		h.Write(b)
	}
	h.Write([]byte(strings.Join(flags, " ")))
	return hex.EncodeToString(h.Sum(nil)), nil
}

// TestResources: resources.txt has a line for each kernel and architecture, so that registers and
// spills show in review.
func TestResources(t *testing.T) {
	m, err := ReadManifest()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile("fatbin/resources.txt")
	if err != nil {
		t.Fatal(err)
	}
	for name := range m.Kernels {
		for _, arch := range m.Architectures {
			if !strings.Contains(string(b), fmt.Sprintf("%s sm_%d: ", name, arch)) {
				t.Errorf("no line for %s on sm_%d", name, arch)
			}
		}
	}
}
