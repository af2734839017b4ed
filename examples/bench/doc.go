// Command bench proves, verifies and measures with this module from the command line, and looks into its files:
//
//	bench single --type T (--c1 FILE | --input FILE | --synthetic S) [--params DIR] [--backend B] [--device D] [--json]
//	bench setup --type T --size S [--out DIR] [--secrets FILE] [--backend B] [--device D]
//	bench record --type T --size S [--out FILE] [--verify-blocks]
//	bench r1cs-digest --type T --size S
//	bench witness --type T (--c1 FILE | --input FILE | --synthetic S) [--hash] [--json]
//	bench eval --type T (--c1 FILE | --input FILE | --synthetic S) [--keep] [--json]
//	bench synth --type T --size S [--sectors N] [--seed N] [--out FILE]
//	bench verify --type T (--c1 FILE | --statement FILE) --vk FILE --proof FILE
//	bench inspect FILE
//	bench fleet (--types T,… | --log N) [--jobs N | --minutes M] [--workers N,…] [--winning-every D] [--trace FILE] [flags]
//	bench gpu mul|ntt|msm|bits|quotient|spmv|decode|fixed|key|prove [--log N] [--device NAME] [--runs N] [flags]
//
// T is porep, winning-post, window-post, update or update-poseidon. The input of a porep is a phase-1 output. That of the
// others is JSON, which synth writes: what the chain knows, as hex, and the vanilla proofs that the reference's API returns,
// as base64. For winning-post and window-post
//
//	{"registered_proof": "StackedDrgWindow32GiBV1_2", "randomness": "…",
//	 "sectors": [{"sector_id": 7, "comm_r": "…", "vanilla": "…"}, …]}
//
// with first_partition and partitions for a part of a WindowPoSt, and for update and update-poseidon, with a vanilla proof
// for each partition,
//
//	{"registered_proof": "StackedDrg32GiBV1", "comm_r_old": "…", "comm_r_new": "…", "comm_d_new": "…", "vanilla": ["…", …]}
//
// Results go to the standard output; remarks, progress and errors go to the standard error. An error is one line that
// begins with "bench:", and the exit code is 1, or 2 if the arguments were wrong. Interrupting the program ends it within a
// second and leaves no half-written file.
//
// Parameters that bench makes itself are for tests: whoever made them can prove anything under them.
package main
