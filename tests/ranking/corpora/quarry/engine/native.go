package engine

// #include "../clib/quarry.h"
import "C"

import (
	"errors"
	"unsafe"
)

var errDamaged = errors.New("a compressed block is damaged")

func checksum(body []byte) uint32 {
	return uint32(C.quarry_checksum((*C.uint8_t)(unsafe.Pointer(&body[0])), C.size_t(len(body))))
}

func decompress(body []byte) ([]byte, error) {
	plain := make([]byte, blockBytes)
	size := C.quarry_decompress((*C.uint8_t)(unsafe.Pointer(&body[0])), C.size_t(len(body)), (*C.uint8_t)(unsafe.Pointer(&plain[0])), blockBytes)
	if size == 0 {
		return nil, errDamaged
	}
	return plain[:size], nil
}
