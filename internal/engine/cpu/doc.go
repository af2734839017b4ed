// Package cpu is the engine that runs on the processor, on gnark-crypto's field arithmetic.
//
// Memory is bounded: three vectors of the domain's size, and stretches of the key that are decoded when they are
// needed. Variables that are known to be bits never become field elements; their points are added up by the set bits
// of the packed witness.
package cpu
