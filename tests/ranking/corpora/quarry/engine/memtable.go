package engine

import "sort"

type entry struct {
	key      string
	value    []byte
	sequence uint64
}

// MemTable is a sorted table in memory.
type MemTable struct {
	entries []entry
	bytes   int
}

// NewMemTable returns an empty table.
func NewMemTable() *MemTable {
	return &MemTable{}
}

// Set adds a key or replaces its value; an older sequence changes nothing.
func (t *MemTable) Set(key, value []byte, sequence uint64) {
	name := string(key)
	at := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].key >= name })
	if at < len(t.entries) && t.entries[at].key == name {
		if t.entries[at].sequence < sequence {
			t.entries[at] = entry{name, value, sequence}
		}
		return
	}
	t.entries = append(t.entries, entry{})
	copy(t.entries[at+1:], t.entries[at:])
	t.entries[at] = entry{name, value, sequence}
	t.bytes += len(key) + len(value)
}

// Find returns the value of a key.
func (t *MemTable) Find(key []byte) ([]byte, bool) {
	name := string(key)
	at := sort.Search(len(t.entries), func(i int) bool { return t.entries[i].key >= name })
	if at < len(t.entries) && t.entries[at].key == name {
		return t.entries[at].value, true
	}
	return nil, false
}

// Bytes returns the size of all keys and values.
func (t *MemTable) Bytes() int {
	return t.bytes
}
