// Command bench proves, verifies and measures with this module from the command line, and looks into its files:
//
//	bench single --type porep --c1 FILE [--params DIR] [--disable-pce] [--json]
//	bench setup --type T --size S [--out DIR] [--secrets FILE]
//	bench record --type T --size S [--out FILE] [--verify-blocks]
//	bench r1cs-digest --type T --size S
//	bench witness --type porep --c1 FILE [--json]
//	bench verify --type porep (--c1 FILE | --statement FILE) --vk FILE --proof FILE
//	bench inspect FILE
//
// Results go to the standard output; remarks, progress and errors go to the standard error. An error is one line that
// begins with "bench:", and the exit code is 1, or 2 if the arguments were wrong. Interrupting the program ends it within a
// second and leaves no half-written file.
//
// Parameters that bench makes itself are for tests: whoever made them can prove anything under them.
package main
