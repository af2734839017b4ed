// Package affine adds many points of BLS12-381 in affine coordinates.
//
// An affine addition costs 2 multiplications, a square and a division. A batch of additions that do not
// depend on each other shares one division at 3 multiplications an addition (Montgomery's trick), so that a sum
// takes 6 multiplications in place of 11 in mixed Jacobian coordinates. Everything here is arranged as such
// batches: plain sums ([Adder.Sum]), multiples of one point ([Table]) and sums of multiples ([MSM]).
//
// All functions are right for any points of the curve: equal ones, opposite ones and the point at infinity,
// which is (0, 0), take the exceptional cases of the group law. They run in variable time.
//
// The code is written once for both groups, over the field of the coordinates. Calls of that field's methods are
// indirect, a few nanoseconds beside a multiplication of 70; their operands would escape to the heap, so
// functions keep them in structs that live longer.
package affine
