package engine

import (
	"bufio"
	"errors"
	"io"
	"net"
	"os"
	"strings"
	"time"
)

const (
	// saveAbove is how much must have been appended since the last snapshot for a
	// writer to have a new one made when it leaves; below it a start is quick anyway.
	saveAbove = 64 << 10
	// saveShare of the snapshot's size is what must have been appended as well, so
	// that a small change to a large graph is not followed by a copy of it all.
	saveShare = 0.1
)

// save has the server put a snapshot in place of its append-only file, when much
// was appended. Nothing is lost without it; it is for the next start: with a
// snapshot of 4,000 chunks the server was ready after 2.4 s and had its indexes,
// from the statements alone it answered after 3.9 s and found nothing by text or
// vector for another 10.5 s.
//
// An error is not the caller's trouble: what was answered is on disk.
func (l *Lease) save() error {
	if l.credentials.User != string(Writer) || !l.layout.needsSave() || !l.server.alive() {
		return nil
	}
	connection, err := net.DialTimeout("unix", l.address, probeTimeout)
	if err != nil {
		return err
	}
	defer connection.Close()
	connection.SetDeadline(time.Now().Add(l.options.StopTimeout))
	replies := bufio.NewReader(connection)
	for _, words := range [][]string{{"AUTH", l.credentials.User, l.credentials.Secret}, {"BGREWRITEAOF"}} {
		reply, err := ask(connection, replies, words...)
		if err != nil {
			return err
		}
		// One that is under way already is waited for like our own.
		if strings.HasPrefix(reply, "-") && !strings.Contains(reply, "already in progress") {
			return errors.New(strings.TrimPrefix(reply, "-"))
		}
	}
	return l.awaitSave(connection, replies)
}

func (l *Lease) awaitSave(connection io.Writer, replies *bufio.Reader) error {
	said := time.Now()
	for delay := probeFirst; ; delay = min(2*delay, probeMost) {
		info, err := ask(connection, replies, "INFO", "persistence")
		if err != nil {
			return err
		}
		if strings.Contains(info, "aof_rewrite_in_progress:0") && strings.Contains(info, "aof_rewrite_scheduled:0") {
			return nil
		}
		if time.Since(said) > progressEvery {
			said = time.Now()
			l.options.Progress("the local engine is saving its graphs")
		}
		time.Sleep(delay)
	}
}

// needsSave compares what was appended with the snapshot it was appended to.
func (l layout) needsSave() bool {
	entries, err := os.ReadDir(l.path("appendonlydir"))
	if err != nil {
		return false
	}
	snapshot, appended := int64(0), int64(0)
	for _, entry := range entries {
		info, err := entry.Info()
		switch {
		case err != nil:
		case strings.HasSuffix(entry.Name(), ".incr.aof"):
			appended += info.Size()
		case strings.Contains(entry.Name(), ".base."):
			snapshot += info.Size()
		}
	}
	return appended > saveAbove && float64(appended) > saveShare*float64(snapshot)
}
