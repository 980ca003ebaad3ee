// Package wal is the log that every write goes to first.
package wal

import (
	"bufio"
	"encoding/binary"
	"io"
	"os"
	"path/filepath"
)

// Record is one write.
type Record struct {
	Key, Value []byte
	Sequence   uint64
	Tombstone  bool
}

// Log is the file of records since the last table was written.
type Log struct {
	file *os.File
}

// Open opens the log of a folder, or creates it.
func Open(folder string) (*Log, error) {
	file, err := os.OpenFile(filepath.Join(folder, "LOG"), os.O_RDWR|os.O_CREATE|os.O_APPEND, 0o644)
	return &Log{file}, err
}

// Append writes a record; with sync it is on disk when this returns.
func (l *Log) Append(record Record, sync bool) error {
	head := make([]byte, 16)
	binary.LittleEndian.PutUint64(head, record.Sequence)
	binary.LittleEndian.PutUint32(head[8:], uint32(len(record.Key)))
	binary.LittleEndian.PutUint32(head[12:], uint32(len(record.Value)))
	for _, part := range [][]byte{head, record.Key, record.Value} {
		if _, err := l.file.Write(part); err != nil {
			return err
		}
	}
	if sync {
		return l.file.Sync()
	}
	return nil
}

// Replay reads all records after a crash; a torn record at the end is ignored.
func (l *Log) Replay(each func(Record)) error {
	if _, err := l.file.Seek(0, io.SeekStart); err != nil {
		return err
	}
	reader := bufio.NewReader(l.file)
	head := make([]byte, 16)
	for {
		if _, err := io.ReadFull(reader, head); err != nil {
			return nil
		}
		record := Record{Sequence: binary.LittleEndian.Uint64(head)}
		record.Key = make([]byte, binary.LittleEndian.Uint32(head[8:]))
		record.Value = make([]byte, binary.LittleEndian.Uint32(head[12:]))
		if _, err := io.ReadFull(reader, record.Key); err != nil {
			return nil
		}
		if _, err := io.ReadFull(reader, record.Value); err != nil {
			return nil
		}
		each(record)
	}
}
