package pce

import (
	"fmt"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
)

// Function is a block of numbers whose values can be had without its rows, and faster: a witness is made from
// Values, everything else from Body. [Check] and [Direct] make sure that the two agree.
type Function struct {
	Name string
	// Variables is how many private variables Body allocates. None of them is a bit, no public input is
	// among them, and the last is the result.
	Variables int
	// Body is the inside of the block.
	Body func(b Builder, in []Num) Num
	// Values fills out, of length Variables, with the values that Body gives its variables, in order of
	// allocation, for arguments with the values in. It must keep neither slice.
	Values func(in, out []fr.Element)
}

// block is Body for a Builder's Block.
func (f *Function) block(b Builder, in []Arg) []Arg {
	args := make([]Num, len(in))
	for i, a := range in {
		args[i] = a.(Num)
	}
	return []Arg{f.Body(b, args)}
}

// allocated checks what Body has allocated: numbers, bits and inputs, the last number being the result.
func (f *Function) allocated(numbers, bits, inputs int, last, result ref) error {
	if numbers == f.Variables && bits == 0 && inputs == 0 && result == last {
		return nil
	}
	return fmt.Errorf("%w: %s: %d numbers, %d bits and %d inputs, want %d numbers of which the last is the result",
		ErrFunction, f.Name, numbers, bits, inputs, f.Variables)
}

// args is a list of numbers as block arguments.
func args(ns []Num) []Arg {
	out := make([]Arg, len(ns))
	for i, n := range ns {
		out[i] = n
	}
	return out
}

func (r *recorder) Apply(f *Function, in []Num) Num {
	out := r.Block(f.Name, args(in), func(b Builder, in []Arg) []Arg {
		r := b.(*recorder) // a fork compares later instances
		out, t := f.block(b, in), r.frame.tpl
		last := makeRef(r.frame.id, kindDense, t.dense-1)
		if err := f.allocated(int(t.dense), int(t.bits), int(t.inputs), last, out[0].(Num).ref); err != nil {
			r.fail(err)
		}
		return out
	})
	return out[0].(Num)
}

func (c *checker) Apply(f *Function, in []Num) Num {
	numbers, bits, inputs := len(c.dense), c.numBits, len(c.inputs)
	out := c.Block(f.Name, args(in), f.block)[0].(Num)
	last := makeRef(checkFrame, kindDense, uint32(len(c.dense)-1))
	err := f.allocated(len(c.dense)-numbers, c.numBits-bits, len(c.inputs)-inputs, last, out.ref)
	if err == nil && c.override == nil {
		err = f.compare(in, c.dense[numbers:])
	}
	if err != nil {
		c.fail(err)
	}
	return out
}

// compare makes sure that Values are those that Body has allocated.
func (f *Function) compare(in []Num, allocated []fr.Element) error {
	x, values := make([]fr.Element, len(in)), make([]fr.Element, len(allocated))
	for i := range in {
		x[i] = in[i].value
	}
	f.Values(x, values)
	for i := range values {
		if values[i] != allocated[i] {
			return fmt.Errorf("%w: %s: number %d is %s by its rows, %s by its values",
				ErrFunction, f.Name, i, allocated[i].Text(16), values[i].Text(16))
		}
	}
	return nil
}

func (t *tracer) Apply(f *Function, in []Num) Num {
	t.arguments = t.arguments[:0]
	for i := range in {
		t.arguments = append(t.arguments, in[i].value)
	}
	if t.runBits > 0 {
		t.closeRun()
	}
	t.runNums += f.Variables
	values := t.dense.extend(f.Variables)
	f.Values(t.arguments, values)
	return Num{value: values[f.Variables-1]}
}
