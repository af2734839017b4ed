package pce

import (
	"unsafe"

	"github.com/consensys/gnark-crypto/ecc/bls12-381/fr"
	"golang.org/x/sys/unix"
)

// adviseLarge asks for large pages behind a list that is about to be filled: four gigabytes in pages of 4 KiB take
// several seconds to be mapped, in large pages less than one. It is advice, on which nothing else depends.
func adviseLarge(list []fr.Element) {
	const page = 2 << 20
	bytes := unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*fr.Bytes)
	skip := -uintptr(unsafe.Pointer(unsafe.SliceData(list))) % page
	if uintptr(len(bytes)) < skip+page {
		return
	}
	whole := (uintptr(len(bytes)) - skip) / page * page
	_ = unix.Madvise(bytes[skip:skip+whole], unix.MADV_HUGEPAGE)
}
