package main

import (
	"context"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"slices"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"

	"github.com/gocuzk/cuzk/device"
	"github.com/gocuzk/cuzk/groth16"
)

// setupJob is one run of setup.
type setupJob struct {
	e          *env
	out, cache string
	deviceName string
	options    groth16.TestKeyOptions
	target     *target
}

func setup(ctx context.Context, e *env, args []string) error {
	f := newFlags(e, "setup")
	j := setupJob{e: e}
	which := f.addTarget()
	f.StringVar(&j.out, "out", "", "folder for the files; by default the cache folder, where single looks for them")
	f.StringVar(&j.cache, "cache", "", "folder for constraint systems; by default cuzk in the user's cache folder")
	secretsPath := f.String("secrets", "", "JSON file with the secrets to use: alpha_le, beta_le, gamma_le, delta_le, tau_le")
	backend := f.String("backend", "auto", "where to make the points: auto, cpu, gpu")
	f.addDevice(&j.deviceName, oneDevice)
	if err := f.parse(args, 0); err != nil {
		return err
	}
	var err error
	if j.target, err = which.target(); err != nil {
		return err
	}
	if j.options.Backend, err = parseBackend(f, *backend); err != nil {
		return err
	}
	if *secretsPath != "" {
		if j.options.Secrets, err = readSecrets(*secretsPath); err != nil {
			return err
		}
	}
	if j.cache, err = cacheFolder(j.cache); err != nil {
		return err
	}
	if j.out == "" {
		j.out = j.cache
	}
	if j.deviceName != "" {
		if j.options.Device, err = device.Open(j.deviceName, nil); err != nil {
			return err
		}
		defer j.options.Device.Close()
	}
	return j.run(ctx)
}

func (j *setupJob) run(ctx context.Context) error {
	phases := newPhases(j.e, false)
	system, err := openSystem(ctx, j.e, j.cache, j.target.blank)
	if err != nil {
		return err
	}
	var files *keyFiles
	err = phases.run("make test parameters", func() (err error) {
		files, err = makeKey(ctx, j.e, j.out, system, j.options)
		return err
	})
	if err != nil {
		return err
	}
	for _, path := range []string{files.params, files.vk} {
		info, err := os.Stat(path)
		if err != nil {
			return err
		}
		j.e.printf("%s  %d bytes\n", path, info.Size())
	}
	j.e.printf("backend              %s\n", files.backend)
	j.e.printf("peak memory          %s\n", mebibytes(peakRSS()))
	return nil
}

// scalar is a canonical field element.
type scalar fr.Element

func (s *scalar) UnmarshalText(text []byte) error {
	b, err := hex.DecodeString(string(text))
	if err != nil {
		return err
	}
	slices.Reverse(b)
	if err := (*fr.Element)(s).SetBytesCanonical(b); err != nil {
		return fmt.Errorf("not a canonical field element: %w", err)
	}
	return nil
}

// readSecrets reads the secrets of a setup as the project's test vectors have them.
func readSecrets(path string) (*groth16.Secrets, error) {
	b, err := readSmall(path)
	if err != nil {
		return nil, err
	}
	type object struct { // scalars are 32 bytes little-endian as hex
		Alpha *scalar `json:"alpha_le"`
		Beta  *scalar `json:"beta_le"`
		Gamma *scalar `json:"gamma_le"`
		Delta *scalar `json:"delta_le"`
		Tau   *scalar `json:"tau_le"`
		G1    string  `json:"g1"`
		G2    string  `json:"g2"`
	}
	var file struct {
		object
		Params struct{ Setup *object } // the file params.json of the vectors as it is
	}
	if err := json.Unmarshal(b, &file); err != nil {
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	o := &file.object
	if file.Params.Setup != nil {
		o = file.Params.Setup
	}
	const standard = "standard generator"
	if o.G1 != "" && o.G1 != standard || o.G2 != "" && o.G2 != standard {
		return nil, fmt.Errorf("%s: generators %q and %q, want %q", path, o.G1, o.G2, standard)
	}
	var s groth16.Secrets
	for _, x := range []struct {
		name string
		from *scalar
		to   *fr.Element
	}{
		{"alpha_le", o.Alpha, &s.Alpha}, {"beta_le", o.Beta, &s.Beta}, {"gamma_le", o.Gamma, &s.Gamma},
		{"delta_le", o.Delta, &s.Delta}, {"tau_le", o.Tau, &s.Tau},
	} {
		if x.from == nil {
			return nil, fmt.Errorf("%s: %s is missing", path, x.name)
		}
		*x.to = fr.Element(*x.from)
	}
	return &s, nil
}
