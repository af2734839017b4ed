//go:build !race

package cuzk

const raceDetector = false
