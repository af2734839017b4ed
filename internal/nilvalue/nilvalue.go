// Package nilvalue tells whether what a caller gave for an interface is nothing.
package nilvalue

import "reflect"

// Is tells whether v is nil, or an interface that holds a nil pointer, function, map or the like, whose methods would fail.
func Is(v any) bool {
	switch x := reflect.ValueOf(v); x.Kind() {
	case reflect.Invalid:
		return true
	case reflect.Pointer, reflect.Func, reflect.Map, reflect.Slice, reflect.Chan, reflect.UnsafePointer:
		return x.IsNil()
	}
	return false
}
