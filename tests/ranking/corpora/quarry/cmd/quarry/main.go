// Command quarry serves a folder, or talks to a server.
package main

import (
	"flag"
	"fmt"
	"net"
	"os"

	"quarry.invalid/quarry/client"
	"quarry.invalid/quarry/engine"
	"quarry.invalid/quarry/server"
)

func main() {
	folder := flag.String("folder", "data", "where the tables are")
	address := flag.String("address", "127.0.0.1:7070", "address of the server")
	cache := flag.Int("cache", 64<<20, "bytes of the block cache")
	flag.Parse()
	if err := run(*folder, *address, *cache, flag.Args()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(folder, address string, cache int, arguments []string) error {
	if len(arguments) == 0 {
		return fmt.Errorf("name a command: serve, get or put")
	}
	switch arguments[0] {
	case "serve":
		db, err := engine.Open(folder, engine.Options{CacheBytes: cache, SyncWrites: true})
		if err != nil {
			return err
		}
		listener, err := net.Listen("tcp", address)
		if err != nil {
			return err
		}
		return server.New(db).Serve(listener)
	case "get":
		value, err := client.Dial(address).Get(arguments[1])
		fmt.Println(value)
		return err
	}
	return client.Dial(address).Put(arguments[1], arguments[2])
}
