package main

import (
	"bytes"
	"strconv"
	"strings"
	"time"
)

// contentType is that of Prometheus's text format.
const contentType = "text/plain; version=0.0.4; charset=utf-8"

// Kinds of metrics.
const (
	counter = "counter" // only grows; its name ends in _total
	gauge   = "gauge"
	summary = "summary" // here without quantiles: its samples end in _sum and _count
)

// page is a page in Prometheus's text format.
type page struct{ text bytes.Buffer }

// label is a name, of letters and underscores, and a value, of anything.
type label struct{ name, value string }

// family begins a metric. Its samples must follow.
func (p *page) family(name, kind, help string) {
	p.text.WriteString("# HELP " + name + " " + strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(help) + "\n")
	p.text.WriteString("# TYPE " + name + " " + kind + "\n")
}

// sample adds a value to the metric that was begun last.
func (p *page) sample(name string, value float64, labels ...label) {
	escape := strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)
	p.text.WriteString(name)
	for i, l := range labels {
		p.text.WriteByte("{,"[min(i, 1)])
		p.text.WriteString(l.name + `="` + escape.Replace(strings.ToValidUTF8(l.value, "\ufffd")) + `"`)
	}
	if len(labels) > 0 {
		p.text.WriteByte('}')
	}
	p.text.WriteString(" " + strconv.FormatFloat(value, 'g', -1, 64) + "\n")
}

// unix is a time in seconds, 0 for the zero time.
func unix(t time.Time) float64 {
	if t.IsZero() {
		return 0
	}
	return float64(t.UnixMicro()) / 1e6
}

func truth(b bool) float64 {
	if b {
		return 1
	}
	return 0
}
