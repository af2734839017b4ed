// Package pce builds, stores and evaluates rank-1 constraint systems: pre-compiled constraint
// evaluation.
//
// A circuit is a function that describes itself to a [Builder], once. Interpreters of the Builder make
// of it what is wanted:
//
//	sys, err := pce.Record(ctx, "porep-2KiB", blank.Synthesize, nil) // structure: once, then kept in a file
//	w, err := pce.MakeWitness(ctx, circuit.Synthesize, nil)          // values: for each proof
//	err = sys.Eval(ctx, w, a, b, c)                                  // the values of all rows
//
// [Check] does both bit by bit and names the first row that does not hold; [Direct] evaluates rows
// during synthesis, for those who keep no System.
//
// Circuits repeat themselves, and a System keeps what repeats only once: the Recorder stores each block
// (see [Builder]) as a template, with variables numbered from the block's first, and a call of a
// template costs no more than the list of variables that it takes in. So the 130 million rows of
// PoRep-32GiB are 0.4 million stored ones. A witness is packed too: private variables that are known to
// be 0 or 1 when they are allocated take one bit.
//
// The package knows no proof system, no circuit and no device.
package pce
