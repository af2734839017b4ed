//go:build race

package cuzk

// raceDetector tells that the race detector makes arithmetic some ten times slower.
const raceDetector = true
