package engine

// Iterator walks over keys in order.
type Iterator interface {
	Next() bool
	Key() []byte
	Value() []byte
}

// merge walks over several tables at once; of equal keys the one of the newest table comes first.
type merge struct {
	sources []Iterator
	current int
}

func newMerge(newer, older []*Table) *merge {
	made := &merge{current: -1}
	for _, table := range append(append([]*Table{}, newer...), older...) {
		made.sources = append(made.sources, table.Iterate())
	}
	return made
}

func (m *merge) Next() bool {
	m.current = -1
	for place, source := range m.sources {
		if source.Key() == nil && !source.Next() {
			continue
		}
		if m.current < 0 || string(source.Key()) < string(m.sources[m.current].Key()) {
			m.current = place
		}
	}
	return m.current >= 0
}

func (m *merge) Key() []byte   { return m.sources[m.current].Key() }
func (m *merge) Value() []byte { return m.sources[m.current].Value() }

// IsTombstone tells whether the current key was deleted.
func (m *merge) IsTombstone() bool { return m.Value() == nil }
