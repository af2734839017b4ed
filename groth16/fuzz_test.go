package groth16

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"github.com/gocuzk/cuzk/internal/engine/enginetest"
)

// Whatever opens is written back the same, and nothing panics or allocates beyond the input.
func FuzzParams(f *testing.F) {
	cubic := enginetest.Small(f, "cubic").Params
	f.Add(cubic)
	f.Add(cubic[:len(cubic)/2])
	f.Add([]byte{})
	for _, at := range sectionAt(cubic) {
		if at < int64(len(cubic)) {
			f.Add(change(cubic, at, 0xff, 0xff, 0xff, 0xff))
			f.Add(change(cubic, at+4, 0x40))
		}
	}
	path := filepath.Join(f.TempDir(), "x.params")
	f.Fuzz(func(t *testing.T, b []byte) {
		if err := os.WriteFile(path, b, 0o600); err != nil {
			t.Fatal(err)
		}
		key, err := OpenProvingKey(path)
		if err != nil {
			var e *ParamsError
			if !errors.As(err, &e) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		defer key.Close()
		if err := key.Check(t.Context(), nil); err != nil && !errors.Is(err, ErrEncoding) {
			t.Fatalf("untyped error: %v", err)
		}
		var vk bytes.Buffer
		if _, err := key.VerifyingKey().WriteTo(&vk); err != nil || !bytes.HasPrefix(b, vk.Bytes()) {
			t.Fatalf("verifying key changed, %v", err)
		}
	})
}

func FuzzVerifyingKey(f *testing.F) {
	for _, name := range enginetest.SmallNames() {
		vk := enginetest.Small(f, name).VK
		f.Add(vk)
		f.Add(change(vk, 864, 0xff, 0xff))
		f.Add(change(vk, 0, 0x40))
	}
	f.Fuzz(func(t *testing.T, b []byte) {
		vk, err := ReadVerifyingKey(bytes.NewReader(b))
		if err != nil {
			if !errors.Is(err, ErrEncoding) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		var out bytes.Buffer
		if _, err := vk.WriteTo(&out); err != nil || !bytes.Equal(out.Bytes(), b) {
			t.Fatalf("decoded and encoded again: %x, want %x, %v", out.Bytes(), b, err)
		}
	})
}

// A proof has one encoding.
func FuzzProof(f *testing.F) {
	v := enginetest.Small(f, "feistel")
	vk, err := ReadVerifyingKey(bytes.NewReader(v.VK))
	if err != nil {
		f.Fatal(err)
	}
	f.Add(v.Proof)
	f.Add(v.Random)
	f.Add(make([]byte, ProofSize))
	f.Add(change(v.Proof, 0, v.Proof[0]^0x20))
	f.Add(change(v.Proof, 48, 0xc0))
	f.Add(bytes.Repeat([]byte{0xff}, ProofSize))
	f.Fuzz(func(t *testing.T, b []byte) {
		p, err := ParseProof(b)
		if err != nil {
			if !errors.Is(err, ErrEncoding) {
				t.Fatalf("untyped error: %v", err)
			}
			return
		}
		if out := p.Bytes(); !bytes.Equal(out[:], b) {
			t.Fatalf("decoded and encoded again: %x, want %x", out, b)
		}
		if err := Verify(vk, p, v.Circuit.Inputs); err == nil && !bytes.Equal(b, v.Proof) && !bytes.Equal(b, v.Random) {
			t.Fatalf("a third proof holds: %x", b)
		}
	})
}
