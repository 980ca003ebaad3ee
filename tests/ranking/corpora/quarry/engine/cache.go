package engine

import (
	"container/list"
	"sync"
)

type blockKey struct {
	table  *Table
	offset int64
}

// BlockCache keeps the blocks that were used last.
type BlockCache struct {
	mu    sync.Mutex
	limit int
	used  int
	order *list.List
	items map[blockKey]*list.Element
}

type cached struct {
	key   blockKey
	block *Block
}

// NewBlockCache returns a cache for so many bytes.
func NewBlockCache(limit int) *BlockCache {
	return &BlockCache{limit: limit, order: list.New(), items: map[blockKey]*list.Element{}}
}

// Load returns a block from the cache, or reads it and drops the blocks that were not used for longest.
func (c *BlockCache) Load(table *Table, one indexEntry) (*Block, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	key := blockKey{table, one.offset}
	if element, ok := c.items[key]; ok {
		c.order.MoveToFront(element)
		return element.Value.(*cached).block, nil
	}
	raw := make([]byte, one.length)
	if _, err := table.file.ReadAt(raw, one.offset); err != nil {
		return nil, err
	}
	block, err := decodeBlock(raw)
	if err != nil {
		return nil, err
	}
	c.items[key] = c.order.PushFront(&cached{key, block})
	c.used += len(block.raw)
	c.evict()
	return block, nil
}

func (c *BlockCache) evict() {
	for c.used > c.limit && c.order.Len() > 1 {
		last := c.order.Back()
		oldest := last.Value.(*cached)
		c.used -= len(oldest.block.raw)
		delete(c.items, oldest.key)
		c.order.Remove(last)
	}
}
