// Package bloom tells which keys a table certainly does not have.
package bloom

import "hash/fnv"

// Filter is a set of bits. Ten bits a key give one wrong yes in a hundred.
type Filter struct {
	bits   []uint64
	hashes int
}

// New returns a filter for so many keys.
func New(keys int) *Filter {
	return &Filter{bits: make([]uint64, keys*10/64+1), hashes: 7}
}

// Add marks a key as present.
func (f *Filter) Add(key []byte) {
	first, second := hash(key)
	for number := 0; number < f.hashes; number++ {
		bit := (first + uint64(number)*second) % uint64(len(f.bits)*64)
		f.bits[bit/64] |= 1 << (bit % 64)
	}
}

// MayContain returns false only for keys that were never added.
func (f *Filter) MayContain(key []byte) bool {
	first, second := hash(key)
	for number := 0; number < f.hashes; number++ {
		bit := (first + uint64(number)*second) % uint64(len(f.bits)*64)
		if f.bits[bit/64]&(1<<(bit%64)) == 0 {
			return false
		}
	}
	return true
}

func hash(key []byte) (uint64, uint64) {
	one := fnv.New64a()
	_, _ = one.Write(key)
	sum := one.Sum64()
	return sum, sum>>33 | 1
}
