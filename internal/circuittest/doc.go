// Package circuittest has what the tests of all circuits share: what the reference says of rows and witnesses, readers of
// test vectors, and checks that hold for every circuit.
package circuittest
