// Package srs reads and writes Groth16 keys in bellperson's file formats (circuits.md §9.6).
//
// A verifying key (.vk) is six points and a list of points:
//
//	alpha_g1 beta_g1 beta_g2 gamma_g2 delta_g1 delta_g2 count ic…
//
// A parameter file (.params) is a verifying key and five lists:
//
//	vk, count h…, count l…, count a…, count b_g1…, count b_g2…
//
// Counts are u32 big-endian, points are uncompressed (package wire). A parameter file has up to 60 GB. It is
// mapped, and points are decoded where and when they are needed.
//
// Opening checks the verifying key completely and that the counts account for every byte of the file.
// Decoding a point checks that it is on the curve and not at infinity, which costs little beside any use of the point.
// Membership in the subgroup costs more than the proof itself: [Key.Check] tests it on request, and a proof that is
// verified before it is used does not depend on it.
package srs
