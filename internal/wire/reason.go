package wire

import "errors"

// ErrEncoding is what every [Reason] is.
var ErrEncoding = errors.New("malformed encoding")

// Reason says why bytes do not encode what they were read as. It is comparable, so that errors.Is tells
// reasons apart.
type Reason string

// The reasons there are.
const (
	Length        Reason = "wrong length"
	Flags         Reason = "invalid flag bits"
	NotReduced    Reason = "field element not reduced"
	NotOnCurve    Reason = "point not on the curve"
	NotInSubgroup Reason = "point not in the subgroup"
	Infinity      Reason = "point at infinity"
)

func (r Reason) Error() string { return string(r) }

// Is reports that every Reason is an ErrEncoding.
func (r Reason) Is(target error) bool { return target == ErrEncoding }
