package engine

import (
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"os"
	"strings"
)

// Role is one of the two logins of the local engine.
type Role string

const (
	// Writer may do what ingestd needs with any graph. It cannot stop or
	// reconfigure the server, load code into it, see its users, or empty it.
	Writer Role = "writer"
	// Reader may send GRAPH.RO_QUERY and what a client says when it connects.
	Reader Role = "reader"
)

// rights are the rules of the two users, in the order of the file.
//
// The reader's key rule cannot be a read-only one: the command's key is declared
// read-write. It is the command that refuses to write.
var rights = []struct {
	role  Role
	rules string
}{
	{Writer, "~* &* +@all -@admin -debug -module -flushall -flushdb -swapdb -migrate -restore -client|kill " +
		"+config|get +acl|whoami +bgrewriteaof"},
	{Reader, "resetkeys ~* resetchannels -@all +graph.ro_query +ping +hello +client|setinfo +client|setname"},
}

// defaultUser cannot log in, but keeps its rights: the server replays its
// append-only file as this user and checks a transaction's rights again at its
// EXEC. Without them every transaction in the file is refused at the next start,
// the server goes on, and what was reported as done is gone.
const defaultUser = "user default off resetpass ~* &* +@all"

// Credentials are a login. The secret never shows in a formatted value.
type Credentials struct {
	User   string
	Secret string
}

// String masks the secret.
func (c Credentials) String() string { return c.User + ":****" }

// GoString masks the secret.
func (c Credentials) GoString() string { return c.String() }

// credentials reads the role's login; a writer makes users that are missing, which
// a running server would not know of. start.lock is held.
func (l layout) credentials(role Role, running bool) (Credentials, error) {
	if role == Writer {
		if err := l.ensureUsers(running); err != nil {
			return Credentials{}, err
		}
	} else if !isFile(l.path("users.acl")) {
		return Credentials{}, l.noGraph()
	}
	secret, err := l.readSecret(role)
	if errors.Is(err, os.ErrNotExist) {
		return Credentials{}, &Error{
			Verb: "log in to", Subject: l.dir, Reason: "the " + string(role) + "'s secret is missing",
			Hint: "`ingestd db stop`, then any ingestd command, makes new ones", Err: err,
		}
	}
	if err != nil {
		return Credentials{}, l.fileError("log in to", "read the "+string(role)+"'s secret", err)
	}
	return Credentials{User: string(role), Secret: secret}, nil
}

// ensureUsers makes the secrets and the aclfile. Dying between two of the writes
// leaves a secret that the next call takes up.
func (l layout) ensureUsers(running bool) error {
	hashes := map[Role]string{}
	for _, user := range rights {
		secret, err := l.readSecret(user.role)
		if errors.Is(err, os.ErrNotExist) {
			if running {
				return &Error{
					Verb: "log in to", Subject: l.dir, Reason: "the " + string(user.role) + "'s secret is missing while the engine runs",
					Hint: "`ingestd db stop`, then any ingestd command, makes new ones",
				}
			}
			secret, err = l.makeSecret(user.role)
		}
		if err != nil {
			return l.fileError("start", "the "+string(user.role)+"'s secret", err)
		}
		sum := sha256.Sum256([]byte(secret))
		hashes[user.role] = hex.EncodeToString(sum[:])
	}
	if running {
		return nil
	}
	return l.writeUsers(hashes)
}

// writeUsers brings the aclfile up to date; users that somebody added stay.
func (l layout) writeUsers(hashes map[Role]string) error {
	old, err := os.ReadFile(l.path("users.acl"))
	if err != nil && !errors.Is(err, os.ErrNotExist) {
		return l.fileError("start", "read users.acl", err)
	}
	lines := []string{defaultUser}
	for _, user := range rights {
		lines = append(lines, fmt.Sprintf("user %s on #%s %s", user.role, hashes[user.role], user.rules))
	}
	for line := range strings.Lines(string(old)) {
		fields := strings.Fields(line)
		if len(fields) < 2 || fields[1] == "default" || fields[1] == string(Writer) || fields[1] == string(Reader) {
			continue
		}
		lines = append(lines, strings.TrimSpace(line))
	}
	text := strings.Join(lines, "\n") + "\n"
	if text == string(old) {
		return nil
	}
	if err := l.writeFile("users.acl", []byte(text)); err != nil {
		return l.fileError("start", "write users.acl", err)
	}
	return nil
}

func (l layout) secretFile(role Role) string { return string(role) + ".secret" }

func (l layout) readSecret(role Role) (string, error) {
	path := l.path(l.secretFile(role))
	text, err := os.ReadFile(path)
	if err != nil {
		return "", err
	}
	info, err := os.Stat(path)
	if err != nil {
		return "", err
	}
	if info.Mode().Perm()&0o077 != 0 {
		return "", fmt.Errorf("%s may be read by others (mode %04o): chmod 600 it, and delete it if others may have seen it", path, info.Mode().Perm())
	}
	secret := strings.TrimSpace(string(text))
	if len(secret) < 32 {
		return "", fmt.Errorf("%s holds no secret: delete it, a new one is made while the engine is stopped", path)
	}
	return secret, nil
}

func (l layout) makeSecret(role Role) (string, error) {
	var random [32]byte
	if _, err := rand.Read(random[:]); err != nil {
		return "", err
	}
	secret := hex.EncodeToString(random[:])
	return secret, l.writeFile(l.secretFile(role), []byte(secret+"\n"))
}

func (l layout) noGraph() error {
	return &Error{
		Verb: "open", Subject: l.dir, Reason: "nothing was ingested here",
		Hint: "run `ingestd run` first, or set --data-dir (GRAPHMILL_DATA_DIR) to where it was run", Err: ErrNoGraph,
	}
}
