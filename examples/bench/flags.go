package main

import (
	"errors"
	"flag"
	"fmt"
	"io"
	"strings"
)

// flags are a command's flags. Errors and help are the caller's.
type flags struct {
	*flag.FlagSet
	e *env
}

func newFlags(e *env, name string) *flags {
	f := flag.NewFlagSet(name, flag.ContinueOnError)
	f.SetOutput(io.Discard)
	f.Usage = func() {}
	return &flags{f, e}
}

// parse reads args, which must have exactly the given number of positional arguments.
func (f *flags) parse(args []string, positional int) error {
	if err := f.Parse(args); err != nil {
		if errors.Is(err, flag.ErrHelp) {
			f.help()
			return err
		}
		return usagef("%s: %w", f.Name(), err)
	}
	if f.NArg() > positional {
		return usagef("%s: unexpected argument %q", f.Name(), f.Arg(positional))
	}
	if f.NArg() < positional {
		return usagef("%s: file name missing", f.Name())
	}
	return nil
}

func (f *flags) help() {
	for _, c := range commands() {
		if c.name == f.Name() {
			fmt.Fprintf(f.e.stdout, "usage: bench %s %s\n%s\n\n", c.name, c.args, c.about)
		}
	}
	f.SetOutput(f.e.stdout)
	f.PrintDefaults()
	f.SetOutput(io.Discard)
}

// given tells whether the flag was on the command line.
func (f *flags) given(name string) (given bool) {
	f.Visit(func(v *flag.Flag) { given = given || v.Name == name })
	return given
}

// rule says whether a command looks at a flag, and if not, because of which other flag.
type rule struct {
	flag string
	used bool
	with string // for instance "--type update"
}

// deviceName names one GPU, or several with commas between.
type deviceName string

func (d *deviceName) String() string { return string(*d) }

// Set refuses nothing at all, which a variable of the shell that is not set would give: it would mean another GPU.
func (d *deviceName) Set(s string) error {
	if s == "" {
		return errors.New("it names no GPU")
	}
	*d = deviceName(s)
	return nil
}

// addDevice declares --device, whose value is what name is at present unless another one is given.
func (f *flags) addDevice(name *string, usage string) { f.Var((*deviceName)(name), "device", usage) }

// oneDevice is the usage of --device where it may be left out.
const oneDevice = "the GPU to use: its ordinal, UUID or bus address; by default the first"

// refuseUnused returns an error for the first flag on the command line that the command would not look at.
func (f *flags) refuseUnused(rules ...rule) error {
	for _, r := range rules {
		if !r.used && f.given(r.flag) {
			return usagef("%s: --%s is not used with %s", f.Name(), r.flag, r.with)
		}
	}
	return nil
}

// require returns an error for the first flag that was not given a value.
func (f *flags) require(names ...string) error {
	for _, name := range names {
		if f.Lookup(name).Value.String() == "" {
			return usagef("%s: --%s is missing", f.Name(), name)
		}
	}
	return nil
}

// oneOf returns an error unless the flag has one of the values.
func (f *flags) oneOf(name string, values ...string) error {
	got := f.Lookup(name).Value.String()
	for _, v := range values {
		if v == got {
			return nil
		}
	}
	return usagef("%s: --%s is %q, want %s", f.Name(), name, got, strings.Join(values, ", "))
}
