package main

import (
	"errors"
	"strings"

	"github.com/gocuzk/cuzk"
	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
)

// fleetCase is what one measurement of fleet has: so many workers on each of some devices.
type fleetCase struct {
	workers int
	devices []cuzk.DeviceOptions // none: those that an Engine takes by itself
}

// parseDevices reads --device.
func (j *fleetJob) parseDevices() error {
	if j.deviceNames == "" {
		return nil
	}
	seen := map[string]bool{}
	for _, name := range strings.Split(j.deviceNames, ",") {
		if name == "" || seen[name] {
			return usagef("%s: --device has %q, want different GPUs with commas between", j.Name(), j.deviceNames)
		}
		seen[name] = true
		j.devices = append(j.devices, cuzk.DeviceOptions{Name: name, MemoryLimit: j.memoryMiB << 20})
	}
	return nil
}

// cases are the measurements, in order: for each number of workers and, with --each-device, first for each device alone.
func (j *fleetJob) cases() ([]fleetCase, error) {
	devices := j.devices
	if j.each && len(devices) == 0 {
		infos, err := device.List()
		if err != nil {
			return nil, err
		}
		for _, i := range infos {
			devices = append(devices, cuzk.DeviceOptions{Name: i.UUID})
		}
	}
	if j.each && len(devices) < 2 {
		return nil, errors.New("fleet: --each-device is to compare GPUs, and there is one")
	}
	var list []fleetCase
	for _, workers := range j.workers.logs {
		if j.each {
			for i := range devices {
				list = append(list, fleetCase{workers, devices[i : i+1]})
			}
		}
		list = append(list, fleetCase{workers, devices})
	}
	return list, nil
}

// fleetComparison is what fleet prints after the lines of several cases.
type fleetComparison struct {
	Workers []int `json:"workers"`
	Devices []int `json:"devices"` // how many
	// Ratios are of partitions per second: of several devices to the mean of single ones with as many workers, of others, and
	// where single ones were not measured, to the first line. 0 is none, since there is nothing to compare with.
	Ratios []float64 `json:"ratios"`
}

func compareFleets(lines []*fleetLine) *fleetComparison {
	c := new(fleetComparison)
	for _, l := range lines {
		base := lines[0].PerSecond
		if mean := meanOfSingles(lines, l.Workers); len(l.Devices) > 1 && mean > 0 {
			base = mean
		}
		ratio := 0.0
		if base > 0 {
			ratio = l.PerSecond / base
		}
		c.Workers = append(c.Workers, l.Workers)
		c.Devices = append(c.Devices, len(l.Devices))
		c.Ratios = append(c.Ratios, ratio)
	}
	return c
}

// meanOfSingles is the mean of partitions per second of single devices with so many workers, or 0.
func meanOfSingles(lines []*fleetLine, workers int) float64 {
	sum, n := 0.0, 0
	for _, l := range lines {
		if l.Workers == workers && len(l.Devices) == 1 {
			sum += l.PerSecond
			n++
		}
	}
	return sum / float64(max(n, 1))
}

// forKeys are options to make test keys with, on the first device, which done closes.
func (j *fleetJob) forKeys() (o groth16.TestKeyOptions, done func() error, err error) {
	o.Backend = j.backend
	if len(j.devices) == 0 {
		return o, func() error { return nil }, nil
	}
	first := j.devices[0]
	if first.Device != nil {
		o.Device = first.Device
		return o, func() error { return nil }, nil
	}
	o.Device, err = device.Open(first.Name, nil)
	if err != nil {
		return o, nil, err
	}
	return o, o.Device.Close, nil
}
