// Command listdevices prints the GPUs that cuzk can open, with the names under which it opens them.
//
//	listdevices [--json]
//
// It exits with 0 also where there is no CUDA driver or no GPU, which it says; with 1 if there is one that cannot be
// used, for instance since the driver is too old; and with 2 on wrong arguments.
package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/gocuzk/cuzk/device"
)

// Exit codes.
const (
	exitOK     = 0
	exitFailed = 1
	exitUsage  = 2
)

func main() { os.Exit(run(os.Args[1:], device.List, os.Stdout, os.Stderr)) }

// gpu is a device in the JSON output.
type gpu struct {
	Ordinal         int    `json:"ordinal"`
	UUID            string `json:"uuid"`
	PCI             string `json:"pci"`
	Name            string `json:"name"`
	MemoryBytes     int64  `json:"memory_bytes"`
	Capability      string `json:"capability"`
	Multiprocessors int    `json:"multiprocessors"`
	MIG             bool   `json:"mig"`
	CUDA            string `json:"cuda"`
	Driver          string `json:"driver,omitempty"`
}

// run is the program; it returns the exit code.
func run(args []string, list func() ([]device.Info, error), stdout, stderr io.Writer) int {
	flags := flag.NewFlagSet("listdevices", flag.ContinueOnError)
	flags.SetOutput(stderr)
	asJSON := flags.Bool("json", false, "print a JSON array")
	if err := flags.Parse(args); errors.Is(err, flag.ErrHelp) {
		return exitOK
	} else if err != nil {
		return exitUsage
	}
	if flags.NArg() > 0 {
		fmt.Fprintf(stderr, "listdevices: unexpected argument %q\n", flags.Arg(0))
		return exitUsage
	}
	infos, err := list()
	none := errors.Is(err, device.ErrNoDriver) || errors.Is(err, device.ErrNoDevice)
	if err != nil && !none {
		fmt.Fprintf(stderr, "listdevices: %v\n", err)
		return exitFailed
	}
	switch {
	case *asJSON:
		if none {
			fmt.Fprintf(stderr, "listdevices: %v\n", err)
		}
		err = printJSON(stdout, infos)
	case none:
		_, err = fmt.Fprintf(stdout, "no GPU: %v\n", err)
	default:
		err = printTable(stdout, infos)
	}
	if err != nil {
		fmt.Fprintf(stderr, "listdevices: write standard output: %v\n", err)
		return exitFailed
	}
	return exitOK
}

func printJSON(w io.Writer, infos []device.Info) error {
	gpus := make([]gpu, len(infos))
	for i, d := range infos {
		gpus[i] = gpu{d.Ordinal, d.UUID, d.PCI, d.Name, d.MemoryBytes, capability(d), d.Multiprocessors, d.MIG, d.CUDA, d.Driver}
	}
	e := json.NewEncoder(w)
	e.SetIndent("", "  ")
	return e.Encode(gpus)
}

func printTable(w io.Writer, infos []device.Info) error {
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "ordinal\tname\tUUID\tPCI\tmemory\tcapability\tCUDA\tdriver")
	for _, d := range infos {
		driver := d.Driver
		if driver == "" {
			driver = "unknown"
		}
		fmt.Fprintf(t, "%d\t%s\t%s\t%s\t%.1f GiB\t%s\t%s\t%s\n",
			d.Ordinal, d.Name, d.UUID, d.PCI, float64(d.MemoryBytes)/(1<<30), capability(d), d.CUDA, driver)
	}
	return t.Flush()
}

func capability(d device.Info) string { return fmt.Sprintf("%d.%d", d.Capability[0], d.Capability[1]) }
