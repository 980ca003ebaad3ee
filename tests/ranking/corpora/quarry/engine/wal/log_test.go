package wal

import "testing"

func TestATornRecordAtTheEndIsIgnored(t *testing.T) {
	log, _ := Open(t.TempDir())
	_ = log.Append(Record{Key: []byte("colour"), Value: []byte("green"), Sequence: 1}, true)
	_, _ = log.file.Write([]byte{7, 0, 0})
	count := 0
	_ = log.Replay(func(Record) { count++ })
	if count != 1 {
		t.Fatalf("%d records were replayed", count)
	}
}
