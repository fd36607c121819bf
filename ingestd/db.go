package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/engine"
)

// keepAliveVerb is the hidden verb that keeps an engine up for engine.linger.
const keepAliveVerb = "keep-alive"

func (a *app) dbCommand() *cobra.Command {
	db := &cobra.Command{
		Use:   "db",
		Short: "start, stop and look at the local engine",
		Long: `db controls the local engine in the data directory. Other verbs start it by themselves and stop it when the last user
is done; db start keeps it up until db stop, which spares a large graph's loading time.`,
	}
	stop := &cobra.Command{Use: "stop", Short: "save and stop the local engine", Args: cobra.NoArgs}
	var force bool
	stop.Flags().BoolVar(&force, "force", false, "also while processes use it; their next statement fails")
	return commandline.Group(db,
		a.verb(&cobra.Command{Use: "start", Short: "start the local engine and keep it up", Args: cobra.NoArgs}, nil, a.dbStart),
		a.verb(stop, nil, func(ctx context.Context, _ []string) error { return a.dbStop(ctx, force) }),
		a.verb(&cobra.Command{Use: "status", Short: "show the local engine's state", Args: cobra.NoArgs}, nil, a.dbStatus),
		a.verb(&cobra.Command{Use: keepAliveVerb, Short: "keep the engine up for engine.linger", Args: cobra.NoArgs, Hidden: true}, nil,
			func(ctx context.Context, _ []string) error { return engine.KeepAlive(ctx, a.engineOptions()) }),
	)
}

// lingerCommand is how the engine package starts this program again, detached.
func (a *app) lingerCommand() []string {
	self, err := os.Executable()
	if err != nil {
		return nil
	}
	command := []string{self, "db", keepAliveVerb, "--quiet", "--data-dir", a.Config.DataDir}
	if a.Config.File != "" {
		command = append(command, "--config", a.Config.File)
	}
	return command
}

func (a *app) localOnly() error {
	if a.Config.Falkor.External() {
		return commandline.Usage("falkor.host is set (%s), so the server is not graphmill's to start or stop; unset FALKOR_HOST to use the local engine", a.Config.Falkor.Host)
	}
	return nil
}

func (a *app) dbStart(ctx context.Context, _ []string) error {
	if err := a.localOnly(); err != nil {
		return err
	}
	report, err := engine.Start(ctx, a.engineOptions())
	if err != nil {
		return err
	}
	return a.printEngine(report)
}

func (a *app) dbStop(ctx context.Context, force bool) error {
	if err := a.localOnly(); err != nil {
		return err
	}
	stopped, err := engine.Stop(ctx, a.engineOptions(), force)
	if err != nil {
		return err
	}
	result := struct {
		Stopped bool `json:"stopped"`
	}{stopped}
	return a.Print(result, func(w io.Writer) {
		if stopped {
			fmt.Fprintln(w, "stopped; everything is on disk")
		} else {
			fmt.Fprintln(w, "the local engine was not running")
		}
	})
}

func (a *app) dbStatus(context.Context, []string) error {
	if err := a.localOnly(); err != nil {
		return err
	}
	report, err := engine.Status(a.engineOptions())
	if err != nil {
		return err
	}
	return a.printEngine(report)
}

func (a *app) printEngine(r engine.Report) error {
	return a.Print(r, func(w io.Writer) {
		if !r.Running {
			fmt.Fprintf(w, "not running; data in %s (%d bytes)\n", r.Dir, r.DiskBytes)
			return
		}
		fmt.Fprintf(w, "running, process %d, socket %s, %d bytes on disk, log %s\n", r.PID, r.Socket, r.DiskBytes, r.Log)
		switch {
		case r.Pinned:
			fmt.Fprintln(w, "stays up until `ingestd db stop`")
		case r.LingerUntil != nil:
			fmt.Fprintf(w, "stays up until %s\n", r.LingerUntil.Local().Format(time.TimeOnly))
		}
		if len(r.Users) > 0 {
			fmt.Fprintf(w, "used by processes %v\n", r.Users)
		}
	})
}
