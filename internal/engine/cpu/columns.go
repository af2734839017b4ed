package cpu

import (
	"context"
	"math/big"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/internal/parallel"
)

// direction is one of the two ways through the levels of a transform.
type direction bool

const (
	decimate  direction = false // from the whole to its parts: butterfly, then twiddle
	recombine direction = true  // from the parts to the whole: twiddle, then butterfly
)

// columns does the top levels of the transforms of all stretches of 2^logSize elements of v; root is of that order.
//
// A stretch is a matrix of 2^levels rows. Elements of different columns don't meet in these levels, so a few neighbouring
// columns at a time are copied out, taken through all levels, and put back.
func (d *domain) columns(ctx context.Context, v []fr.Element, logSize, levels int, root fr.Element, dir direction) error {
	rows, width := 1<<levels, 1<<(logSize-levels)
	step := min(tile, width)
	var rowRoot fr.Element
	rowRoot.Exp(root, big.NewInt(int64(width))) // of order rows
	rowTwiddle := make([]fr.Element, rows)
	rowTwiddle[0].SetOne()
	for i := 1; i < rows; i++ {
		rowTwiddle[i].Mul(&rowTwiddle[i-1], &rowRoot)
	}
	tiles := make([]*columnTile, parallel.Workers())
	perStretch := width / step
	return parallel.Ranges(ctx, perStretch<<(d.logN-logSize), 1, func(worker, i, _ int) error {
		if tiles[worker] == nil {
			tiles[worker] = &columnTile{
				step: step, levels: levels, rowTwiddle: rowTwiddle,
				cells: make([]fr.Element, rows*step), twiddle: make([]fr.Element, levels*step), mixed: make([]fr.Element, step),
			}
		}
		column := i % perStretch * step
		first := v[i/perStretch<<logSize+column:]
		tiles[worker].transform(first, width, column, &root, dir)
		return nil
	})
}

// columnTile is the scratch memory of one goroutine.
type columnTile struct {
	step, levels int
	rowTwiddle   []fr.Element // powers of the root of order 2^levels
	cells        []fr.Element // 2^levels rows of step elements
	twiddle      []fr.Element // by level: root^(2^level·column), step columns each
	mixed        []fr.Element
}

// transform works on the columns whose top row begins at v[0]; rows are width apart.
func (t *columnTile) transform(v []fr.Element, width, column int, root *fr.Element, dir direction) {
	rows := 1 << t.levels
	for r := range rows {
		copy(t.row(r), v[r*width:])
	}
	t.setTwiddles(column, root)
	for i := range t.levels {
		level := i
		if dir == recombine {
			level = t.levels - 1 - i
		}
		half := rows >> (level + 1)
		for r := range half {
			twiddle := t.twiddles(level, r)
			for top := r; top < rows; top += 2 * half {
				butterflies(t.row(top), t.row(top+half), twiddle, dir)
			}
		}
	}
	for r := range rows {
		copy(v[r*width:r*width+t.step], t.row(r))
	}
}

func (t *columnTile) row(r int) []fr.Element { return t.cells[r*t.step : (r+1)*t.step] }

func (t *columnTile) setTwiddles(column int, root *fr.Element) {
	var p fr.Element
	p.Exp(*root, big.NewInt(int64(column)))
	for j := range t.step {
		t.twiddle[j] = p
		p.Mul(&p, root)
	}
	for j := t.step; j < len(t.twiddle); j++ {
		t.twiddle[j].Square(&t.twiddle[j-t.step])
	}
}

// twiddles returns root^(2^level·(column + r·width)) for the tile's columns.
func (t *columnTile) twiddles(level, r int) []fr.Element {
	base := t.twiddle[level*t.step : (level+1)*t.step]
	if r == 0 {
		return base
	}
	factor := &t.rowTwiddle[r<<level]
	for j := range t.mixed {
		t.mixed[j].Mul(&base[j], factor)
	}
	return t.mixed
}

func butterflies(x, y, twiddle []fr.Element, dir direction) {
	if dir == recombine {
		for j := range x {
			y[j].Mul(&y[j], &twiddle[j])
			fr.Butterfly(&x[j], &y[j])
		}
		return
	}
	for j := range x {
		fr.Butterfly(&x[j], &y[j])
		y[j].Mul(&y[j], &twiddle[j])
	}
}
