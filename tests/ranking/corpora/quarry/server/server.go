// Package server answers clients over a line protocol.
package server

import (
	"bufio"
	"net"
	"time"

	"quarry.invalid/quarry/engine"
)

// IdleTimeout closes a connection that has sent nothing for so long.
const IdleTimeout = 5 * time.Minute

const maxConnections = 256

// Server serves one database.
type Server struct {
	db    *engine.DB
	slots chan struct{}
}

// New returns a server for a database.
func New(db *engine.DB) *Server {
	return &Server{db: db, slots: make(chan struct{}, maxConnections)}
}

// Serve accepts connections until the listener is closed; more than the limit wait for a free slot.
func (s *Server) Serve(listener net.Listener) error {
	for {
		s.slots <- struct{}{}
		connection, err := listener.Accept()
		if err != nil {
			return err
		}
		go func() {
			defer func() { <-s.slots }()
			s.handle(connection)
		}()
	}
}

func (s *Server) handle(connection net.Conn) {
	defer connection.Close()
	reader := bufio.NewReader(connection)
	for {
		_ = connection.SetReadDeadline(time.Now().Add(IdleTimeout))
		command, err := ReadCommand(reader)
		if err != nil {
			return
		}
		if _, err := connection.Write(Execute(s.db, command)); err != nil {
			return
		}
	}
}
