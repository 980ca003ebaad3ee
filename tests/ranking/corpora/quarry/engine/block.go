package engine

import (
	"bytes"
	"encoding/binary"
	"fmt"
)

// Block is one block of a table, decompressed.
type Block struct {
	raw      []byte
	restarts []int
}

// decodeBlock checks the checksum of a block and decompresses it.
func decodeBlock(raw []byte) (*Block, error) {
	body, sum := raw[:len(raw)-4], binary.LittleEndian.Uint32(raw[len(raw)-4:])
	if checksum(body) != sum {
		return nil, fmt.Errorf("wrong checksum of a block of %d bytes", len(body))
	}
	plain, err := decompress(body)
	if err != nil {
		return nil, err
	}
	return &Block{raw: plain, restarts: restartsOf(plain)}, nil
}

// Find starts at the last full entry before the key and reads on: the entries after it share prefixes.
func (b *Block) Find(key []byte) ([]byte, error) {
	low, high := 0, len(b.restarts)-1
	for low < high {
		middle := (low + high + 1) / 2
		if bytes.Compare(b.keyAt(b.restarts[middle]), key) <= 0 {
			low = middle
		} else {
			high = middle - 1
		}
	}
	var current []byte
	for at := b.restarts[low]; at < len(b.raw); {
		shared, own, length := int(b.raw[at]), int(b.raw[at+1]), int(b.raw[at+2])
		current = append(current[:shared], b.raw[at+3:at+3+own]...)
		if bytes.Equal(current, key) {
			return b.raw[at+3+own : at+3+own+length], nil
		}
		at += 3 + own + length
	}
	return nil, ErrNotFound
}

func (b *Block) keyAt(at int) []byte {
	own := int(b.raw[at+1])
	return b.raw[at+3 : at+3+own]
}

func restartsOf(plain []byte) []int {
	restarts := []int{}
	for at, number := 0, 0; at < len(plain); number++ {
		if number%restartGap == 0 {
			restarts = append(restarts, at)
		}
		at += 3 + int(plain[at+1]) + int(plain[at+2])
	}
	return restarts
}
