package circuittest

import (
	"context"
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"
)

// RequireZerosRefused calls functions, and all methods of other values, with zero arguments. None may panic, and whoever
// returns an error must return one, except those in allowed: "name" of a function, "name.Method" of a value.
func RequireZerosRefused(t *testing.T, entries map[string]any, allowed ...string) {
	t.Helper()
	for name, entry := range entries {
		v := reflect.ValueOf(entry)
		if v.Kind() == reflect.Func {
			requireRefused(t, name, v, slices.Contains(allowed, name))
			continue
		}
		require.NotZero(t, v.NumMethod(), name)
		for i := range v.NumMethod() {
			method := v.Type().Method(i).Name
			full := name + "." + method
			requireRefused(t, full, v.Method(i), method == "Unwrap" || slices.Contains(allowed, full))
		}
	}
}

// requireRefused calls f with a context where it takes one, and zeros.
func requireRefused(t *testing.T, name string, f reflect.Value, passes bool) {
	t.Helper()
	args := make([]reflect.Value, f.Type().NumIn())
	if f.Type().IsVariadic() {
		args = args[:len(args)-1]
	}
	for i := range args {
		args[i] = reflect.Zero(f.Type().In(i))
		if args[i].Type() == reflect.TypeFor[context.Context]() {
			args[i] = reflect.ValueOf(t.Context())
		}
	}
	var out []reflect.Value
	require.NotPanics(t, func() { out = f.Call(args) }, name)
	if n := len(out); n > 0 && out[n-1].Type() == reflect.TypeFor[error]() {
		require.Equal(t, passes, out[n-1].IsNil(), "%s: %v", name, out[n-1])
	}
}
