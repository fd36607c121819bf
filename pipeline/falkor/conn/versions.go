package conn

import (
	"context"
	"fmt"
	"strings"
)

// Versions are the server's and the graph module's, "unknown" where this user
// may not ask.
type Versions struct{ Redis, FalkorDB string }

// Versions asks the server what it is. A server without the graph module is an
// error.
func (c *Client) Versions(ctx context.Context) (Versions, error) {
	v := Versions{Redis: "unknown", FalkorDB: "unknown"}
	info, err := c.Redis().Info(ctx, "server", "modules").Result()
	if err != nil {
		if KindOf(c.Wrap("ask for versions", err)) == Auth {
			return v, nil
		}
		return v, c.Wrap("ask for versions", err)
	}
	for line := range strings.Lines(info) {
		line = strings.TrimSpace(line)
		if version, ok := strings.CutPrefix(line, "redis_version:"); ok {
			v.Redis = version
		}
		if rest, ok := strings.CutPrefix(line, "module:name=graph,ver="); ok {
			number, _, _ := strings.Cut(rest, ",")
			v.FalkorDB = moduleVersion(number)
		}
	}
	if v.FalkorDB == "unknown" {
		return v, &Error{Kind: Other, Op: "ask for versions", Hint: "use a FalkorDB server",
			Err: fmt.Errorf("Redis %s at %s has no graph module", v.Redis, c.Address())}
	}
	return v, nil
}

// moduleVersion turns the module's number, 42201, into 4.22.1.
func moduleVersion(number string) string {
	var n int
	if _, err := fmt.Sscan(number, &n); err != nil || n < 10000 {
		return number
	}
	return fmt.Sprintf("%d.%d.%d", n/10000, n/100%100, n%100)
}
