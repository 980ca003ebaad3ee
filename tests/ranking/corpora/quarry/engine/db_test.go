package engine

import "testing"

func TestAWriteIsRefusedWhileTheDatabaseIsFrozen(t *testing.T) {
	db, _ := Open(t.TempDir(), Options{})
	db.Freeze()
	if err := db.Put([]byte("colour"), []byte("green")); err != ErrFrozen {
		t.Fatal(err)
	}
}

func TestTheNewestValueOfAKeyIsReturned(t *testing.T) {
	db, _ := Open(t.TempDir(), Options{})
	_ = db.Put([]byte("colour"), []byte("green"))
	_ = db.Put([]byte("colour"), []byte("blue"))
	if value, _ := db.Get([]byte("colour")); string(value) != "blue" {
		t.Fatal(string(value))
	}
}
