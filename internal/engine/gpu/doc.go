// Package gpu is the engine that works on one card.
//
// Loading a key decides by a [plan] what stays on the card: as many of the key's sections as fit, the constraint system, and
// room for one assignment. What does not fit is streamed from the key's file in every proof. After loading, proofs
// allocate nothing on the card.
//
// On the card the points of a section stand in an order of their own: those of variables known to be bits first. Sums over
// them read the packed bits of the witness; only the rest goes through windowed multiplication.
package gpu
