package engine

import (
	"os"
	"runtime"
	"strconv"
	"strings"
	"syscall"
)

// arguments are the server's settings, each with its reason.
func (l layout) arguments(options Options, binaries Binaries, socket string) []string {
	memory := options.maxMemory()
	arguments := []string{
		// No port: only this user's processes reach the socket.
		"--port", "0", "--unixsocket", socket, "--unixsocketperm", "700",
		"--dir", l.dir, "--aclfile", l.path("users.acl"),
		// A write is answered when it is on disk: 0.5 ms each here, where waiting
		// for the once-a-second sync costs 956 ms.
		"--appendonly", "yes", "--appendfsync", "always", "--save", "",
		// Half a command at the end is one that was never answered.
		"--aof-load-truncated", "yes",
		// Snapshots early while a graph grows, so that a start after a kill -9 has
		// less to do over (see save); the default is 64 MB.
		"--auto-aof-rewrite-percentage", "100", "--auto-aof-rewrite-min-size", "8mb",
		"--daemonize", "no", "--loglevel", "notice",
		"--maxmemory", strconv.FormatInt(memory, 10), "--maxmemory-policy", "noeviction",
		"--loadmodule", binaries.Module,
		// The default, said aloud: a cap truncates results without a word.
		"RESULTSET_SIZE", "-1",
		// The default has no bound; beyond this many a client is told so.
		"MAX_QUEUED_QUERIES", "1000",
		// One reader that computes for long must not stop all others on a small
		// machine: a closed connection does not end its query.
		"THREAD_COUNT", strconv.Itoa(max(4, runtime.NumCPU())),
		// No stream of past queries, with their texts, beside the graphs.
		"CMD_INFO", "no",
		// GRAPH.COPY writes a graph's content there; the default is /tmp.
		"TEMP_FOLDER", l.path("tmp"),
		// LOAD CSV of local files: from a directory that does not exist.
		"IMPORT_FOLDER", l.path("import-is-off"),
		// TIMEOUT_DEFAULT and TIMEOUT_MAX stay 0: they would also end writes.
		// queryd sends its own TIMEOUT with each query.
	}
	if memory > 0 {
		// One query must not take everything: half leaves room for the graphs.
		arguments = append(arguments, "QUERY_MEM_CAPACITY", strconv.FormatInt(memory/2, 10))
	}
	return arguments
}

func (o Options) maxMemory() int64 {
	if o.MaxMemory != 0 {
		return max(0, o.MaxMemory)
	}
	return int64(float64(availableMemory()) * DefaultMemoryShare)
}

// availableMemory is the machine's memory or the container's limit, whichever is
// less; 0 when the system does not tell, which means no limit.
func availableMemory() int64 {
	var info syscall.Sysinfo_t
	if err := syscall.Sysinfo(&info); err != nil {
		return 0
	}
	total := int64(info.Totalram) * int64(info.Unit)
	for _, file := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		text, err := os.ReadFile(file)
		if err != nil {
			continue
		}
		if limit, err := strconv.ParseInt(strings.TrimSpace(string(text)), 10, 64); err == nil && limit > 0 {
			total = min(total, limit)
		}
	}
	return total
}
