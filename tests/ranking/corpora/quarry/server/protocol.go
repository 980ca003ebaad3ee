package server

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"

	"quarry.invalid/quarry/engine"
)

// ErrTooLong is returned for a command line that is longer than a client may send.
var ErrTooLong = errors.New("the command is too long")

const longestCommand = 1 << 20

// Command is one line of a client, split at spaces.
type Command struct {
	Name      string
	Arguments [][]byte
}

// ReadCommand reads one line.
func ReadCommand(reader *bufio.Reader) (Command, error) {
	line, err := reader.ReadBytes('\n')
	if err != nil {
		return Command{}, err
	}
	if len(line) > longestCommand {
		return Command{}, ErrTooLong
	}
	parts := bytes.Fields(line)
	if len(parts) == 0 {
		return Command{}, nil
	}
	return Command{string(bytes.ToLower(parts[0])), parts[1:]}, nil
}

// Execute runs a command and returns the answer for the client.
func Execute(db *engine.DB, command Command) []byte {
	switch {
	case command.Name == "put" && len(command.Arguments) == 2:
		return answer(nil, db.Put(command.Arguments[0], command.Arguments[1]))
	case command.Name == "get" && len(command.Arguments) == 1:
		value, err := db.Get(command.Arguments[0])
		return answer(value, err)
	case command.Name == "delete" && len(command.Arguments) == 1:
		return answer(nil, db.Delete(command.Arguments[0]))
	case command.Name == "freeze":
		db.Freeze()
		return answer(nil, nil)
	case command.Name == "thaw":
		db.Thaw()
		return answer(nil, nil)
	}
	return []byte("error unknown command\n")
}

func answer(value []byte, err error) []byte {
	if err != nil {
		return []byte(fmt.Sprintf("error %s\n", err))
	}
	return append(append([]byte("ok "), value...), '\n')
}
