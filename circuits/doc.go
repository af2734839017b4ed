// Package circuits defines what a provable statement is. The statements themselves are in its
// sub-packages: gadget has the building blocks, porep the proof of replication, post the proofs of
// spacetime, update the empty sector update.
//
// The package knows neither a proof system nor a device.
package circuits
