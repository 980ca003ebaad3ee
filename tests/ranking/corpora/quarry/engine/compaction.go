package engine

import "bytes"

// Compactor merges tables in the background.
type Compactor struct {
	levels *Levels
	slow   func(delay int)
}

// Pick returns the level that is most above its limit, -1 if none is.
func (c *Compactor) Pick() int {
	if c.levels.Count(0) >= startTables {
		return 0
	}
	best, score := -1, 1.0
	for level := 1; level < len(c.levels.tables); level++ {
		var size int64
		for _, table := range c.levels.tables[level] {
			size += table.size
		}
		if share := float64(size) / float64(Limit(level)); share > score {
			best, score = level, share
		}
	}
	return best
}

// Run merges a level into the next one. Tombstones are dropped in the last level only: a table below may still have
// the key that they hide.
func (c *Compactor) Run(level int) error {
	if c.levels.Count(0) >= slowTables {
		c.slow(c.levels.Count(0) - slowTables + 1)
	}
	last := level+1 == len(c.levels.tables)-1
	merged := newMerge(c.levels.tables[level], c.levels.tables[level+1])
	writer := newTableWriter(c.levels.folder)
	var before []byte
	for merged.Next() {
		if bytes.Equal(merged.Key(), before) {
			continue
		}
		before = append(before[:0], merged.Key()...)
		if merged.IsTombstone() && last {
			continue
		}
		if err := writer.Add(merged.Key(), merged.Value()); err != nil {
			return err
		}
	}
	return writer.Close()
}
