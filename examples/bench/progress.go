package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"time"
)

// progress shows how far a long step is: as a bar on a terminal, elsewhere as a line every ten percent.
type progress struct {
	w        io.Writer
	what     string
	terminal bool
	start    time.Time
	drawn    time.Time // the bar, last
	tenths   int64     // lines written
}

func newProgress(w io.Writer, what string) *progress {
	return &progress{w: w, what: what, terminal: isTerminal(w), start: time.Now()}
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	if !ok {
		return false
	}
	info, err := f.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// set says that done of total units are done.
func (p *progress) set(done, total int64) {
	if total <= 0 {
		return
	}
	if p.terminal {
		p.draw(float64(done)/float64(total), done == total)
		return
	}
	if tenths := done * 10 / total; tenths > p.tenths {
		p.tenths = tenths
		fmt.Fprintf(p.w, "%s: %d %%\n", p.what, tenths*10)
	}
}

func (p *progress) draw(part float64, last bool) {
	now := time.Now()
	if !last && now.Sub(p.drawn) < 100*time.Millisecond {
		return
	}
	p.drawn = now
	const width = 30
	full := int(part * width)
	left := ""
	if elapsed := now.Sub(p.start); !last && elapsed > 2*time.Second && part > 0.01 {
		left = fmt.Sprintf("  %.0f s left", elapsed.Seconds()*(1-part)/part)
	}
	fmt.Fprintf(p.w, "\r%s [%s%s] %3.0f %%%s\x1b[K", p.what, strings.Repeat("#", full), strings.Repeat(".", width-full), part*100, left)
}

// end finishes the line of a bar.
func (p *progress) end() {
	if p.terminal && !p.drawn.IsZero() {
		fmt.Fprintln(p.w)
	}
}
