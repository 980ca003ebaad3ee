// Command write_bench measures how many writes a second a database takes.
package main

import (
	"fmt"
	"os"
	"time"

	"quarry.invalid/quarry/engine"
)

func main() {
	db, _ := engine.Open(os.TempDir(), engine.Options{})
	begun := time.Now()
	for number := 0; number < 100000; number++ {
		_ = db.Put([]byte(fmt.Sprint("key", number)), []byte("value"))
	}
	fmt.Println("writes a second:", 100000/time.Since(begun).Seconds())
}
