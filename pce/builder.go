package pce

import "github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

// Builder is what a circuit is written against. Three interpreters implement it: one records
// structure ([Record]), one makes a witness ([MakeWitness]), one does both and checks every row
// ([Check]). All read the same fields of the circuit, and circuit code cannot ask which one it talks
// to, so that recorded rows and witness cannot disagree.
//
// Rows are numbered in the order in which operations emit them, private variables ("aux") and public
// inputs in the order in which they are allocated, each kind by itself; input 0 is the constant ONE.
// Row shapes are written a * b = c. Section numbers refer to the circuit specification that
// the reference's rows follow bit for bit.
//
// Operations do not return errors: a fault unwinds the circuit, and the function that runs it returns
// the fault.
type Builder interface {
	// Alloc allocates a private variable. No row.
	Alloc(v fr.Element) Num
	// AllocInput allocates a public input. No row.
	AllocInput(v fr.Element) Num
	// AllocBit allocates a private variable x and emits (ONE − x) * x = 0 (§2.1).
	AllocBit(v bool) Bit
	// AllocWord is AllocBit for each bit of v, least significant first.
	AllocWord(v uint32) Word
	// Enforce emits the row a * b = c.
	Enforce(a, b, c LC)

	// Mul allocates p = x·y; row x * y = p.
	Mul(x, y Num) Num
	// Equal emits x * ONE = y.
	Equal(x, y Num)
	// Inputize allocates a public input i of x's value; row i * ONE = x (§2.4).
	Inputize(x Num) Num
	// Pick allocates c = a if cond, else b; row (b − a) * cond = b − c (§2.5).
	Pick(cond Bit, a, b Num) Num
	// And is Boolean::and, Nor is ¬a ∧ ¬b; both allocate a variable unless a constant decides (§2.1).
	And(a, b Bit) Bit
	Nor(a, b Bit) Bit
	// Allocated allocates a variable for the combination l; row l * ONE = v.
	Allocated(l LC) Num
	// SBox raises l (a variable, or a combination that Allocated made one) plus pre to the fifth power
	// and adds post. It allocates x², x⁴, x⁵ + post; rows x * x = x², x² * x² = x⁴,
	// x * x⁴ = (x⁵ + post) − post·ONE with x = l + pre·ONE. A nil pre or post is left out of the rows (§3.2).
	SBox(l Num, pre, post *fr.Element) Num

	// Unpack allocates the 255 bits of x, least significant first, then emits
	// 0 * 0 = Σ 2^i·b_i − x (§2.4). Bit 255 of the result is constant 0.
	Unpack(x Num) [8]Word
	// Pack allocates Σ 2^i·b_i over at most 254 Booleans; row Σ * ONE = v (§2.4).
	Pack(bits []Bit) Num
	// PackWords is Pack over the first n ≤ 254 Booleans of ws.
	PackWords(ws []Word, n int) Num
	// PackInput is Pack with a public input in place of the variable.
	PackInput(bits []Bit) Num

	// Xor, Ch and Maj work on each position in turn by the rules of §2.1, constants and negations
	// deciding what is allocated.
	Xor(a, b Word) Word
	Ch(a, b, c Word) Word
	Maj(a, b, c Word) Word
	// AddMany is the sum of 2 to 10 words modulo 2^32. Unless all are constant it allocates every bit of the
	// unreduced sum (33 to 36 bits, by the number of words) and hands the equality to eq (§2.2).
	AddMany(eq *MultiEq, words []Word) Word
	// CloseMultiEq emits what eq still holds.
	CloseMultiEq(eq *MultiEq)

	// Block runs body as a sub-circuit. Inside, everything from outside comes through in, and what
	// the outside needs comes back as the result; a body that touches any other outside variable is
	// an error. Blocks of the same name whose arguments have the same shape (kinds, constants,
	// negations, coefficients, coincidences) must emit the same rows: they are stored once.
	// A body may run more often than Block is called, so it must not keep state.
	Block(name string, in []Arg, body Body) []Arg
	// Blocks runs n blocks of one name, the i-th with arguments args(i), and returns their results.
	// While a witness is made, bodies and args run on several goroutines.
	Blocks(name string, n int, args func(i int) []Arg, body func(b Builder, i int, in []Arg) []Arg) [][]Arg

	// Apply runs f as a block with the arguments in and returns its result.
	Apply(f *Function, in []Num) Num

	// Fail ends the run with err; it does not return.
	Fail(err error)
	// Within names what f emits; it has no effect on rows.
	Within(name string, f func())
}

// Body is the inside of a block: in are the block's arguments as the inside sees them.
type Body func(b Builder, in []Arg) []Arg

// Arg is an argument or a result of a block: [Num], [Bit], [Word] or [LC].
type Arg interface{ arg() }

func (Num) arg()  {}
func (Bit) arg()  {}
func (Word) arg() {}
func (LC) arg()   {}

// MultiEq gathers equalities of narrow sums into few rows, 254 bits at a time (§2.2). It is used
// by one SHA-256 compression and belongs to the block that made it.
type MultiEq struct {
	used     int
	lhs, rhs termList
}
