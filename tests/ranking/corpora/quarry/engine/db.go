// Package engine keeps sorted keys and values on disk.
package engine

import (
	"errors"
	"sync"

	"quarry.invalid/quarry/engine/wal"
)

// ErrFrozen is returned by writes while the database is frozen for a backup.
var ErrFrozen = errors.New("the database is frozen")

// ErrNotFound is returned for a key without a value.
var ErrNotFound = errors.New("no such key")

const tableBytes = 4 << 20

// Options of a database; zero values mean the defaults.
type Options struct {
	CacheBytes  int
	SyncWrites  bool
	MaxOpenFile int
}

// DB is an open database. Its methods may be called from several goroutines.
type DB struct {
	mu       sync.RWMutex
	options  Options
	log      *wal.Log
	active   *MemTable
	full     []*MemTable
	levels   *Levels
	cache    *BlockCache
	frozen   bool
	stalled  *sync.Cond
	sequence uint64
}

// Open opens the database in a folder, and replays the log of a process that crashed.
func Open(folder string, options Options) (*DB, error) {
	log, err := wal.Open(folder)
	if err != nil {
		return nil, err
	}
	db := &DB{options: options, log: log, active: NewMemTable(), levels: NewLevels(folder), cache: NewBlockCache(options.CacheBytes)}
	db.stalled = sync.NewCond(&db.mu)
	err = log.Replay(func(record wal.Record) {
		db.active.Set(record.Key, record.Value, record.Sequence)
		db.sequence = record.Sequence
	})
	return db, err
}

// Put sets the value of a key.
func (db *DB) Put(key, value []byte) error {
	return db.write(key, value, false)
}

// Delete writes a tombstone for a key.
func (db *DB) Delete(key []byte) error {
	return db.write(key, nil, true)
}

func (db *DB) write(key, value []byte, tombstone bool) error {
	db.mu.Lock()
	defer db.mu.Unlock()
	if db.frozen {
		return ErrFrozen
	}
	db.waitForRoom()
	db.sequence++
	record := wal.Record{Key: key, Value: value, Sequence: db.sequence, Tombstone: tombstone}
	if err := db.log.Append(record, db.options.SyncWrites); err != nil {
		return err
	}
	db.active.Set(key, value, db.sequence)
	if db.active.Bytes() >= tableBytes {
		db.full = append(db.full, db.active)
		db.active = NewMemTable()
	}
	return nil
}

// waitForRoom holds a writer back while level 0 has too many tables.
func (db *DB) waitForRoom() {
	for db.levels.Count(0) >= stopTables {
		db.stalled.Wait()
	}
}

// Get returns the value of a key: from memory, else from the newest table that has it.
func (db *DB) Get(key []byte) ([]byte, error) {
	db.mu.RLock()
	defer db.mu.RUnlock()
	if value, ok := db.active.Find(key); ok {
		return value, nil
	}
	for place := len(db.full) - 1; place >= 0; place-- {
		if value, ok := db.full[place].Find(key); ok {
			return value, nil
		}
	}
	return db.levels.Find(key, db.cache)
}

// Freeze refuses writes until Thaw, for a backup.
func (db *DB) Freeze() {
	db.mu.Lock()
	db.frozen = true
	db.mu.Unlock()
}

// Thaw accepts writes again.
func (db *DB) Thaw() {
	db.mu.Lock()
	db.frozen = false
	db.mu.Unlock()
}
