package pce

// This file has the rules by which Boolean operations fold constants and negations (circuits.md
// §2.1). Each function says what the result is and which variable, if any, has to be allocated
// for it; it is the interpreters' business to allocate it and to emit its row.

// conjunction is what a ∧ b comes down to.
type conjunction struct {
	result Bit  // if !alloc
	alloc  bool // a variable of value a ∧ b is allocated, with the row x * y = v
	x, y   Bit  // the factors in the order in which the row has them
}

func and(a, b Bit) conjunction {
	switch {
	case a.isConst(false), b.isConst(false):
		return conjunction{result: ConstBit(false)}
	case a.isConst(true):
		return conjunction{result: b}
	case b.isConst(true):
		return conjunction{result: a}
	case a.negated && !b.negated:
		// The reference puts the plain operand of a mixed pair into A.
		return conjunction{alloc: true, x: b, y: a}
	}
	return conjunction{alloc: true, x: a, y: b}
}

// exclusive is what a ⊕ b comes down to.
type exclusive struct {
	result  Bit // if !alloc
	alloc   bool
	x, y    Bit  // the variables in row order, negations stripped: (2·x) * y = x + y − v
	negated bool // the result is the negation of the allocated variable
}

func xor(a, b Bit) exclusive {
	switch {
	case a.isConst(false):
		return exclusive{result: b}
	case b.isConst(false):
		return exclusive{result: a}
	case a.isConst(true):
		return exclusive{result: b.Not()}
	case b.isConst(true):
		return exclusive{result: a.Not()}
	case a.negated != b.negated:
		if a.negated {
			a, b = b, a
		}
		return exclusive{alloc: true, x: a, y: b.Not(), negated: true}
	}
	return exclusive{alloc: true, x: a.plain(), y: b.plain()}
}

// choice is what (a ∧ b) ⊕ (¬a ∧ c) comes down to.
type choice struct {
	form    form
	x, y    Bit  // operands of the conjunction, if form is formAnd
	result  Bit  // if form is formFolded
	negated bool // the result is the negation of the conjunction
}

// form says how a three-operand operation is made.
type form uint8

const (
	formFolded form = iota // no operation at all
	formAnd                // one conjunction
	formFull               // the row of its own
)

func ch(a, b, c Bit) choice {
	switch {
	case a.constant && b.constant && c.constant:
		return choice{result: ConstBit(chValue(a, b, c))}
	case a.isConst(false):
		return choice{result: c}
	case b.isConst(false):
		return choice{form: formAnd, x: a.Not(), y: c}
	case c.isConst(false):
		return choice{form: formAnd, x: a, y: b}
	case c.isConst(true):
		return choice{form: formAnd, x: a, y: b.Not(), negated: true}
	case b.isConst(true):
		return choice{form: formAnd, x: a.Not(), y: c.Not(), negated: true}
	}
	return choice{form: formFull}
}

func chValue(a, b, c Bit) bool {
	if a.value {
		return b.value
	}
	return c.value
}

// maj is what the majority of three comes down to. The full form allocates the majority first, then
// b ∧ c.
func maj(a, b, c Bit) choice {
	switch {
	case a.constant && b.constant && c.constant:
		return choice{result: ConstBit(majValue(a, b, c))}
	case a.isConst(false):
		return choice{form: formAnd, x: b, y: c}
	case b.isConst(false):
		return choice{form: formAnd, x: a, y: c}
	case c.isConst(false):
		return choice{form: formAnd, x: a, y: b}
	case c.isConst(true):
		return choice{form: formAnd, x: a.Not(), y: b.Not(), negated: true}
	case b.isConst(true):
		return choice{form: formAnd, x: a.Not(), y: c.Not(), negated: true}
	case a.isConst(true):
		return choice{form: formAnd, x: b.Not(), y: c.Not(), negated: true}
	}
	return choice{form: formFull}
}

func majValue(a, b, c Bit) bool {
	return a.value && b.value || c.value && (a.value || b.value)
}

func (b Bit) isConst(v bool) bool { return b.constant && b.value == v }

// plain is the variable behind a Bit that is not constant.
func (b Bit) plain() Bit {
	if b.negated {
		return b.Not()
	}
	return b
}
