package main

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"regexp"

	"golang.org/x/crypto/blake2b"

	"github.com/gocuzk/cuzk/circuits/post"
	"github.com/gocuzk/cuzk/circuits/update"
	"github.com/gocuzk/cuzk/groth16"
	"github.com/gocuzk/cuzk/pce"
)

// fileKind is what a file seems to be, judged by its content alone.
type fileKind string

const (
	kindSystem  fileKind = "constraint system"
	kindC1      fileKind = "phase-1 output"
	inWinning   fileKind = "WinningPoSt input"
	inWindow    fileKind = "WindowPoSt input"
	inUpdate    fileKind = "update input"
	kindProof   fileKind = "proof"
	kindVK      fileKind = "verifying key"
	kindParams  fileKind = "parameter file"
	kindForeign fileKind = ""
)

const (
	systemMagic = "cuzkPCE\x00"

	// A verifying key is six points, a u32 count and as many points of G1. A parameter file is a verifying key and more.
	vkFixedSize = 3*96 + 3*192
	vkPointSize = 96
)

func inspect(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "inspect")
	check := f.Bool("check", false, "test every point of a parameter file, which takes minutes")
	if err := f.parse(args, 1); err != nil {
		return err
	}
	path := f.Arg(0)
	kind, err := detect(path)
	if err != nil {
		return err
	}
	if kind == kindForeign {
		return fmt.Errorf("%s: neither parameters nor verifying key, constraint system, input of a proof or proof", path)
	}
	e.printf("%-20s %s\n", string(kind), path)
	if err := printDigests(ctx, e, path); err != nil {
		return err
	}
	switch kind {
	case kindSystem:
		return inspectSystem(e, path)
	case kindC1:
		return inspectC1(ctx, e, path)
	case inWinning, inWindow, inUpdate:
		return inspectInput(ctx, e, path, kind)
	case kindProof:
		return inspectProof(e, path)
	case kindVK:
		return inspectVK(e, path)
	default:
		return inspectParams(ctx, e, path, *check)
	}
}

// detect looks at the beginning and the size of a file.
func detect(path string) (fileKind, error) {
	f, err := openRegular(path)
	if err != nil {
		return kindForeign, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return kindForeign, err
	}
	head := make([]byte, vkFixedSize+4)
	n, err := io.ReadFull(f, head)
	if err != nil && !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
		return kindForeign, err
	}
	return classify(head[:n], info.Size()), nil
}

// classify judges a file by its first bytes, all that a verifying key has before its list.
func classify(head []byte, size int64) fileKind {
	switch {
	case bytes.HasPrefix(head, []byte(systemMagic)):
		return kindSystem
	case bytes.HasPrefix(bytes.TrimLeft(head, " \t\r\n"), []byte("{")):
		return classifyInput(head)
	case len(head) > 0 && size%groth16.ProofSize == 0 && size <= maxSmallFile && head[0]&0x80 != 0: // compressed point
		return kindProof
	case len(head) < vkFixedSize+4 || head[0]&0xe0 != 0: // uncompressed point
		return kindForeign
	}
	points := int64(binary.BigEndian.Uint32(head[vkFixedSize:]))
	switch end := vkFixedSize + 4 + vkPointSize*points; {
	case size == end:
		return kindVK
	case size > end:
		return kindParams
	}
	return kindForeign
}

// classifyInput judges the input of a proof by the registered proof at its beginning.
func classifyInput(head []byte) fileKind {
	if m := regexp.MustCompile(`"registered_proof"\s*:\s*"(\w*)"`).FindSubmatch(head); m != nil {
		if p, err := post.ParseRegisteredProof(string(m[1])); err == nil && p.Kind() == post.Winning {
			return inWinning
		} else if err == nil {
			return inWindow
		}
		if _, err := update.ParseRegisteredProof(string(m[1])); err == nil {
			return inUpdate
		}
	}
	return kindC1
}

// printDigests prints the size of a file and the digests by which others name it.
func printDigests(ctx context.Context, e *env, path string) error {
	f, err := openRegular(path)
	if err != nil {
		return err
	}
	defer f.Close()
	sha := sha256.New()
	blake, err := blake2b.New512(nil)
	if err != nil {
		return err
	}
	info, err := f.Stat()
	if err != nil {
		return err
	}
	bar := newProgress(e.stderr, "digests")
	counter := &countingWriter{report: func(n int64) {
		if info.Size() >= 1<<30 {
			bar.set(n, info.Size())
		}
	}}
	n, err := io.CopyBuffer(io.MultiWriter(sha, blake, counter), contextReader{ctx, f}, make([]byte, 1<<20))
	bar.end()
	if err != nil {
		return err
	}
	e.printf("size                 %d bytes\n", n)
	e.printf("sha256               %s\n", hex.EncodeToString(sha.Sum(nil)))
	e.printf("blake2b-512          %s\n", hex.EncodeToString(blake.Sum(nil)))
	return nil
}

// countingWriter reports how many bytes were written to it.
type countingWriter struct {
	n      int64
	report func(n int64)
}

func (w *countingWriter) Write(p []byte) (int, error) {
	w.n += int64(len(p))
	w.report(w.n)
	return len(p), nil
}

func inspectSystem(e *env, path string) error {
	s, err := pce.Open(path, "")
	if err != nil {
		return err
	}
	printSystem(e, s)
	return nil
}

func inspectC1(ctx context.Context, e *env, path string) error {
	c1, err := decodeC1(ctx, path)
	if err != nil {
		return err
	}
	p := c1.Params
	e.printf("registered proof     %v (%d), API %v, %v\n", c1.Proof, uint8(c1.Proof), c1.Proof.APIVersion(), c1.Proof.Feature())
	e.printf("circuit              %s, trees %v, %d layers\n", p.Name(), p.Shape, p.Layers)
	e.printf("partitions           %d of %d challenges\n", len(c1.Partitions), p.Challenges)
	if c1.Lotus != nil {
		e.printf("lotus                sector %d of %d bytes\n", c1.Lotus.SectorNumber, c1.Lotus.SectorSize)
	}
	for _, x := range []struct {
		name  string
		value [32]byte
	}{{"replica id", c1.ReplicaID}, {"comm_r", c1.CommR}, {"comm_d", c1.CommD}, {"ticket", c1.Ticket}, {"seed", c1.Seed}} {
		e.printf("%-20s %x\n", x.name, x.value)
	}
	if err := c1.Proof.Supported(); err != nil {
		e.printf("native check         none: %v\n", err)
		return nil
	}
	if err := c1.Check(ctx, 0); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	e.printf("native check         ok\n")
	return nil
}

// inspectInput reads the input of a PoSt or of an update, and checks it natively.
func inspectInput(ctx context.Context, e *env, path string, kind fileKind) error {
	of := kindUpdate // the files of both variants are the same
	switch kind {
	case inWinning:
		of = kindWinningPoSt
	case inWindow:
		of = kindWindowPoSt
	}
	in, err := readOther(ctx, path, of)
	if err != nil {
		return err
	}
	e.printf("registered proof     %s\n", in.proofName())
	e.printf("circuit              %s\n", in.circuit().Name())
	e.printf("partitions           %d\n", in.partitions())
	if err := in.check(ctx); err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	e.printf("native check         ok\n")
	return nil
}

func inspectProof(e *env, path string) error {
	b, err := readProof(path)
	if err != nil {
		return err
	}
	proofs, err := groth16.ParseProofs(b)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	e.printf("proofs               %d, all points on the curve and in the subgroup\n", len(proofs))
	return nil
}

func inspectVK(e *env, path string) error {
	vk, err := groth16.OpenVerifyingKey(path)
	if err != nil {
		return err
	}
	e.printf("public inputs        %d and ONE, all points on the curve and in the subgroup\n", vk.Inputs())
	return nil
}

func inspectParams(ctx context.Context, e *env, path string, check bool) error {
	key, err := groth16.OpenProvingKey(path)
	if err != nil {
		return err
	}
	defer key.Close()
	n := key.Counts()
	e.printf("public inputs        %d and ONE\n", key.VerifyingKey().Inputs())
	e.printf("points               h %d, l %d, a %d, b_g1 %d, b_g2 %d\n", n.H, n.L, n.A, n.B, n.B)
	if !check {
		return nil
	}
	bar := newProgress(e.stderr, "points checked")
	err = key.Check(ctx, bar.set)
	bar.end()
	if err != nil {
		return err
	}
	e.printf("points checked       all on the curve and in the subgroup\n")
	return nil
}
