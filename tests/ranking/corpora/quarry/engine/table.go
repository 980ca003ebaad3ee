package engine

import (
	"encoding/binary"
	"fmt"
	"os"

	"quarry.invalid/quarry/internal/bloom"
)

const (
	blockBytes  = 4096
	footerBytes = 48
	restartGap  = 16
	magic       = 0x5175617272790001
)

// Table is a sorted file.
type Table struct {
	file   *os.File
	size   int64
	index  []indexEntry
	filter *bloom.Filter
}

type indexEntry struct {
	last   string
	offset int64
	length int
}

// OpenTable reads the footer, the index and the filter of a sorted file.
func OpenTable(path string) (*Table, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	footer := make([]byte, footerBytes)
	info, err := file.Stat()
	if err != nil {
		return nil, err
	}
	if _, err := file.ReadAt(footer, info.Size()-footerBytes); err != nil {
		return nil, err
	}
	if binary.LittleEndian.Uint64(footer[40:]) != magic {
		return nil, fmt.Errorf("%s is not a table: its magic number is wrong", path)
	}
	table := &Table{file: file, size: info.Size()}
	return table, table.readIndex(footer)
}

func (t *Table) readIndex(footer []byte) error {
	offset := int64(binary.LittleEndian.Uint64(footer))
	length := int(binary.LittleEndian.Uint64(footer[8:]))
	raw := make([]byte, length)
	if _, err := t.file.ReadAt(raw, offset); err != nil {
		return err
	}
	for len(raw) > 0 {
		size := int(raw[0])
		t.index = append(t.index, indexEntry{
			last:   string(raw[1 : 1+size]),
			offset: int64(binary.LittleEndian.Uint64(raw[1+size:])),
			length: blockBytes,
		})
		raw = raw[9+size:]
	}
	return nil
}

// MayContain asks the filter; a wrong yes costs one read, a no is always right.
func (t *Table) MayContain(key []byte) bool {
	return t.filter == nil || t.filter.MayContain(key)
}

// Find returns the value of a key.
func (t *Table) Find(key []byte, cache *BlockCache) ([]byte, error) {
	for _, one := range t.index {
		if string(key) > one.last {
			continue
		}
		block, err := cache.Load(t, one)
		if err != nil {
			return nil, err
		}
		return block.Find(key)
	}
	return nil, ErrNotFound
}
