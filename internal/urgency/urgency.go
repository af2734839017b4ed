// Package urgency carries, in a context, how urgent work on a GPU is. Being internal, it is set from other modules
// through the options of the packages that do such work.
package urgency

import "context"

type key struct{}

// With returns a context whose work has the given level. Work of a higher level goes first.
func With(ctx context.Context, level int) context.Context {
	return context.WithValue(ctx, key{}, level)
}

// Of is the level of a context's work, 0 if none was given.
func Of(ctx context.Context) int {
	level, _ := ctx.Value(key{}).(int)
	return level
}
