package poseidon

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// matrix is a dense matrix, rows first. Its methods allocate their results; they run only while
// constants are computed.
type matrix [][]fr.Element

func newMatrix(rows, cols int) matrix {
	cells := make([]fr.Element, rows*cols)
	m := make(matrix, rows)
	for i := range m {
		m[i] = cells[i*cols : (i+1)*cols : (i+1)*cols]
	}
	return m
}

// cauchy is the t × t MDS matrix M[i][j] = 1/(i + t + j).
func cauchy(t int) matrix {
	m := newMatrix(t, t)
	for i := range m {
		for j := range m[i] {
			m[i][j].SetUint64(uint64(i + t + j))
			m[i][j].Inverse(&m[i][j])
		}
	}
	return m
}

// columns are the matrix column by column.
func (m matrix) columns() [][]fr.Element {
	out := newMatrix(len(m[0]), len(m))
	for i := range m {
		for j := range m[i] {
			out[j][i] = m[i][j]
		}
	}
	return out
}

// rowTimes is the row vector v·m; v has as many elements as m has rows.
func (m matrix) rowTimes(v []fr.Element) []fr.Element {
	out := make([]fr.Element, len(m[0]))
	var p fr.Element
	for i := range m {
		for j := range out {
			p.Mul(&v[i], &m[i][j])
			out[j].Add(&out[j], &p)
		}
	}
	return out
}

// times is the matrix product m·n.
func (m matrix) times(n matrix) matrix {
	out := make(matrix, len(m))
	for i := range m {
		out[i] = n.rowTimes(m[i])
	}
	return out
}

// inverse is m⁻¹.
func (m matrix) inverse() matrix {
	n := len(m)
	a := newMatrix(n, 2*n)
	for i := range m {
		copy(a[i], m[i])
		a[i][n+i].SetOne()
	}
	a.reduce()
	out := make(matrix, n)
	for i := range out {
		out[i] = a[i][n:]
	}
	return out
}

// solve is the row vector x with x·m = w.
func (m matrix) solve(w []fr.Element) []fr.Element {
	n := len(m)
	a := newMatrix(n, n+1)
	for i := range a {
		for j := range n {
			a[i][j] = m[j][i]
		}
		a[i][n] = w[i]
	}
	a.reduce()
	x := make([]fr.Element, n)
	for i := range x {
		x[i] = a[i][n]
	}
	return x
}

// reduce turns the left square part of m into the identity by Gauss-Jordan elimination, and the rest
// along with it. Every matrix reduced here comes from Cauchy matrices and is regular, so a pivot is
// always found.
func (m matrix) reduce() {
	for c := range m {
		p := c
		for m[p][c].IsZero() {
			p++
		}
		m[c], m[p] = m[p], m[c]
		divide(m[c][c:], m[c][c])
		for r := range m {
			if r != c {
				subtract(m[r][c:], m[c][c:], m[r][c])
			}
		}
	}
}

// divide is row ← row/pivot.
func divide(row []fr.Element, pivot fr.Element) {
	pivot.Inverse(&pivot)
	for j := range row {
		row[j].Mul(&row[j], &pivot)
	}
}

// subtract is row ← row − k·by.
func subtract(row, by []fr.Element, k fr.Element) {
	var p fr.Element
	for j := range row {
		p.Mul(&k, &by[j])
		row[j].Sub(&row[j], &p)
	}
}
