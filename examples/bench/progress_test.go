package main

import (
	"bytes"
	"os"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestProgressLines(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "work")
	for done := range int64(301) {
		p.set(done, 300)
	}
	p.end()
	require.Equal(t, 10, bytes.Count(out.Bytes(), []byte("\n")), "a line every ten percent")
	require.True(t, bytes.HasSuffix(out.Bytes(), []byte("work: 90 %\nwork: 100 %\n")))

	out.Reset()
	p.set(1, 0) // nothing to divide by
	require.Empty(t, out.String())
}

func TestProgressBar(t *testing.T) {
	var out bytes.Buffer
	p := newProgress(&out, "work")
	p.terminal = true
	for done := range int64(301) {
		p.set(done, 300)
	}
	p.end()
	require.Contains(t, out.String(), "\rwork [..............................]   0 %")
	require.Contains(t, out.String(), "\rwork [##############################] 100 %\x1b[K\n")
	require.Less(t, out.Len(), 1000, "drawn now and then, not at every call")
}

func TestFilesAreNoTerminals(t *testing.T) {
	f, err := os.Create(t.TempDir() + "/file")
	require.NoError(t, err)
	defer f.Close()
	require.False(t, isTerminal(f))
	require.False(t, isTerminal(&bytes.Buffer{}))
}

func TestPeakRSS(t *testing.T) {
	require.Greater(t, peakRSS(), int64(1<<20))
	require.Less(t, peakRSS(), int64(1<<40))
}
