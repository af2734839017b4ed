package main

import "testing"

func TestSetupUsage(t *testing.T) {
	args := []string{"setup", "--type", "porep", "--size", "2KiB"}
	requireError(t, exitUsage, append(args, "--backend", "tpu"), `--backend is "tpu", want auto, cpu, gpu`)
	requireError(t, exitUsage, append(args, "more"), `unexpected argument "more"`)
	requireError(t, exitFailed, append(args, "--secrets", tempFile(t, []byte("{}"))), "alpha_le is missing")
}
