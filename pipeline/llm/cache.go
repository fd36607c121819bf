package llm

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"log/slog"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// cacheFormat stands in every entry and in the folder's name: entries of another
// format are never read, and two programs of different age do not overwrite each
// other's in a shared folder.
const cacheFormat = 1

// touchAfter is how old an entry's time of last use may be: setting it at each
// use would write to the disk for every read.
const touchAfter = 24 * time.Hour

// Cache keeps answers and vectors in a folder, one file each. Any number of
// processes may use one folder at the same time, also over a network: an entry
// is written beside its place, flushed and renamed into it, so it is whole or
// not there; and it holds its key and a checksum, so a damaged one is as good as
// none. A cache that cannot be written is only slower: see [Cache.Err].
type Cache struct {
	dir string // with the format's folder
	log *slog.Logger

	hits, misses, writes, damaged atomic.Int64
	serial                        atomic.Int64
	once                          sync.Once
	mu                            sync.Mutex
	writeErr                      error
}

// OpenCache makes the folder where it is missing. log may be nil.
func OpenCache(dir string, log *slog.Logger) (*Cache, error) {
	if log == nil {
		log = slog.New(slog.DiscardHandler)
	}
	c := &Cache{dir: filepath.Join(dir, "v"+strconv.Itoa(cacheFormat)), log: log}
	// Answers are about documents: a folder that is made here is its user's alone.
	// One that others share was made by them, with the rights it should have.
	if _, err := os.Stat(dir); errors.Is(err, fs.ErrNotExist) {
		if err := os.MkdirAll(dir, 0o700); err != nil {
			return nil, fmt.Errorf("open call cache: %w; next: choose another folder, or make it writable", err)
		}
	}
	if info, err := os.Stat(dir); err != nil {
		return nil, fmt.Errorf("open call cache: %w", err)
	} else if !info.IsDir() {
		return nil, fmt.Errorf("open call cache: %s is no folder; next: choose another", dir)
	}
	return c, nil
}

// entryInfo is what an entry says beside its content.
type entryInfo struct {
	Model   string `json:"model"`
	Purpose string `json:"purpose"`
	Usage   Usage  `json:"usage"` // what it saves whoever finds it
	// Estimated is what the input was taken for before it was sent; 0: not known.
	Estimated int `json:"estimated,omitempty"`
}

type entryHead struct {
	Key string `json:"key"`
	entryInfo
}

// digest is a key: a hash of parts that none can run over into the next.
func digest(parts ...string) string {
	sum := sha256.New()
	for _, part := range parts {
		fmt.Fprintf(sum, "%d:%s", len(part), part)
	}
	return hex.EncodeToString(sum.Sum(nil))
}

// path spreads entries over 256 folders: some file systems are slow with more
// than some ten thousand files in one.
func (c *Cache) path(key string) string {
	return filepath.Join(c.dir, key[:2], key[2:])
}

func (c *Cache) answer(key string) (string, bool) {
	content, ok := c.get(key)
	return string(content), ok
}

func (c *Cache) keepAnswer(key string, info entryInfo, text string) {
	c.put(key, info, []byte(text))
}

// get returns an entry's content; false when there is none that can be trusted.
func (c *Cache) get(key string) ([]byte, bool) {
	path := c.path(key)
	raw, err := os.ReadFile(path)
	if err != nil {
		c.misses.Add(1)
		return nil, false
	}
	content, err := decodeEntry(raw, key)
	if err != nil {
		c.misses.Add(1)
		c.damaged.Add(1)
		c.log.Warn("an entry of the call cache is ignored", "path", path, "reason", err.Error())
		return nil, false
	}
	c.hits.Add(1)
	if info, err := os.Stat(path); err == nil && time.Since(info.ModTime()) > touchAfter {
		now := time.Now()
		_ = os.Chtimes(path, now, now) // in a folder that is only read, age is all there is
	}
	return content, true
}

// put keeps an entry. When the process dies here, there is no entry, or at most
// a temporary file that Prune removes.
func (c *Cache) put(key string, info entryInfo, content []byte) {
	raw, err := encodeEntry(entryHead{key, info}, content)
	if err == nil {
		err = c.write(c.path(key), raw)
	}
	if err == nil {
		c.writes.Add(1)
		return
	}
	c.mu.Lock()
	c.writeErr = err
	c.mu.Unlock()
	c.once.Do(func() { c.log.Warn("the call cache cannot be written; answers will be paid for again", "error", err) })
}

// Err is the last error in writing, which no caller has seen: nil when all was kept.
func (c *Cache) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.writeErr
}

const tempPrefix = ".new-"

func (c *Cache) write(path string, raw []byte) error {
	dir := filepath.Dir(path)
	if err := os.MkdirAll(dir, 0o777); err != nil { // less the umask, and below a folder with its own rights
		return err
	}
	host, _ := os.Hostname()
	// The time as well: a process id comes again, on this machine or another.
	temp := filepath.Join(dir, fmt.Sprintf("%s%x-%d-%d-%d", tempPrefix, sha256.Sum256([]byte(host)), os.Getpid(), time.Now().UnixNano(), c.serial.Add(1)))
	if err := writeFlushed(temp, raw); err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(temp)))
	}
	if err := os.Rename(temp, path); err != nil {
		return errors.Join(err, ignoreMissing(os.Remove(temp)))
	}
	return nil
}

func ignoreMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

func writeFlushed(path string, raw []byte) error {
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o666)
	if err != nil {
		return err
	}
	_, err = file.Write(raw)
	return errors.Join(err, file.Sync(), file.Close())
}

const entryMagic = "graphmill-call "

// encodeEntry is one line "graphmill-call FORMAT SHA256 LENGTH", then the head as
// a line of JSON and the content, which the checksum and the length cover.
func encodeEntry(head entryHead, content []byte) ([]byte, error) {
	line, err := json.Marshal(head)
	if err != nil {
		return nil, err
	}
	body := append(append(line, '\n'), content...)
	return append(fmt.Appendf(nil, "%s%d %x %d\n", entryMagic, cacheFormat, sha256.Sum256(body), len(body)), body...), nil
}

// decodeEntry returns the content of an entry with that key.
func decodeEntry(raw []byte, key string) ([]byte, error) {
	first, body, ok := bytes.Cut(raw, []byte{'\n'})
	fields, isEntry := strings.CutPrefix(string(first), entryMagic)
	if !ok || !isEntry {
		return nil, errors.New("it is no entry")
	}
	if format, _, _ := strings.Cut(fields, " "); format != strconv.Itoa(cacheFormat) {
		return nil, fmt.Errorf("it has format %q, this program reads %d", excerpt(format), cacheFormat)
	}
	if want := fmt.Sprintf("%d %x %d", cacheFormat, sha256.Sum256(body), len(body)); fields != want {
		return nil, errors.New("its checksum is wrong")
	}
	line, content, ok := bytes.Cut(body, []byte{'\n'})
	var head entryHead
	if !ok || json.Unmarshal(line, &head) != nil || head.Key != key {
		return nil, errors.New("it is another question's")
	}
	return content, nil
}
