package engine

const (
	slowTables  = 8
	stopTables  = 12
	startTables = 4
	growth      = 10
)

// Levels are the sorted files of a database, the newest first.
type Levels struct {
	folder string
	tables [][]*Table
}

// NewLevels reads the manifest of a folder.
func NewLevels(folder string) *Levels {
	return &Levels{folder: folder, tables: make([][]*Table, 7)}
}

// Count returns the number of tables of a level.
func (l *Levels) Count(level int) int {
	return len(l.tables[level])
}

// Find looks in every level; of level 0, whose tables overlap, the newest table counts.
func (l *Levels) Find(key []byte, cache *BlockCache) ([]byte, error) {
	for _, tables := range l.tables {
		for place := len(tables) - 1; place >= 0; place-- {
			if !tables[place].MayContain(key) {
				continue
			}
			value, err := tables[place].Find(key, cache)
			if err == nil || err != ErrNotFound {
				return value, err
			}
		}
	}
	return nil, ErrNotFound
}

// Limit returns the largest size of a level in bytes: each is ten times as large as the one above.
func Limit(level int) int64 {
	limit := int64(10 << 20)
	for ; level > 1; level-- {
		limit *= growth
	}
	return limit
}
