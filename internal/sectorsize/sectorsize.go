// Package sectorsize spells sector sizes as Filecoin does: "2KiB", "512MiB", "32GiB".
package sectorsize

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrSyntax is the error of a size that is not a positive decimal number followed by B, KiB, MiB or GiB.
var ErrSyntax = errors.New("sectorsize: malformed size")

// unit is one suffix and its bytes.
type unit struct {
	suffix string
	bytes  uint64
}

// units are all suffixes, the largest first. "B" is last because the others end in it.
func units() [4]unit {
	return [4]unit{{"GiB", 1 << 30}, {"MiB", 1 << 20}, {"KiB", 1 << 10}, {"B", 1}}
}

// Parse reads a size in bytes, for instance 34359738368 from "32GiB". The spelling is exact: no
// space, no sign, no leading zero, no fraction. Errors wrap [ErrSyntax] and hold the text.
func Parse(s string) (bytes uint64, err error) {
	for _, u := range units() {
		digits, ok := strings.CutSuffix(s, u.suffix)
		if !ok {
			continue
		}
		n, err := strconv.ParseUint(digits, 10, 64)
		if err != nil || n == 0 || digits[0] == '0' || digits[0] == '+' || n > math.MaxUint64/u.bytes {
			break
		}
		return n * u.bytes, nil
	}
	return 0, fmt.Errorf("%w %q, want for instance 2KiB, 512MiB or 32GiB", ErrSyntax, s)
}

// Format spells a size with the largest unit that divides it: Parse(Format(n)) = n for n > 0.
func Format(bytes uint64) string {
	for _, u := range units() {
		if bytes >= u.bytes && bytes%u.bytes == 0 {
			return strconv.FormatUint(bytes/u.bytes, 10) + u.suffix
		}
	}
	return "0B"
}
