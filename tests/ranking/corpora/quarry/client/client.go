// Package client talks to a server.
package client

import (
	"bufio"
	"errors"
	"fmt"
	"net"
	"strings"
	"time"
)

// Client is one connection; a broken one is opened again at the next call.
type Client struct {
	address    string
	connection net.Conn
	reader     *bufio.Reader
	Timeout    time.Duration
}

// Dial returns a client for an address. It connects at the first call.
func Dial(address string) *Client {
	return &Client{address: address, Timeout: 10 * time.Second}
}

// Get asks for the value of a key.
func (c *Client) Get(key string) (string, error) {
	return c.call("get " + key)
}

// Put sets the value of a key.
func (c *Client) Put(key, value string) error {
	_, err := c.call(fmt.Sprintf("put %s %s", key, value))
	return err
}

func (c *Client) call(line string) (string, error) {
	if err := c.connect(); err != nil {
		return "", err
	}
	_ = c.connection.SetDeadline(time.Now().Add(c.Timeout))
	if _, err := fmt.Fprintln(c.connection, line); err != nil {
		c.connection = nil
		return "", err
	}
	answer, err := c.reader.ReadString('\n')
	if err != nil {
		c.connection = nil
		return "", err
	}
	status, rest, _ := strings.Cut(strings.TrimSpace(answer), " ")
	if status == "error" {
		return "", errors.New(rest)
	}
	return rest, nil
}

func (c *Client) connect() error {
	if c.connection != nil {
		return nil
	}
	connection, err := net.DialTimeout("tcp", c.address, c.Timeout)
	if err != nil {
		return err
	}
	c.connection, c.reader = connection, bufio.NewReader(connection)
	return nil
}
