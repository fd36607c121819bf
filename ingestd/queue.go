package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"graphmill/commandline"
	"graphmill/pipeline/queue"
)

func (a *app) queueCommand() *cobra.Command {
	status := &cobra.Command{
		Use:   "status",
		Short: "show what waits in the queues, who works, and what is parked",
		Long: `status shows every queue of graphmill on the Redis of queue.url: tasks that wait, are worked on or are about to be tried
again, the runs that wait for them, the workers that are alive, and the documents that are parked, with the reason: a
document is parked when it took its worker with it, or failed there for no reason that is known, queue.tries times. The
next run tries it again.`,
		Example: "  ingestd queue status --queue redis://queue.example:6379\n  ingestd queue status --output json",
		Args:    cobra.NoArgs,
	}
	return commandline.Group(&cobra.Command{
		Use:   "queue",
		Short: "look at the queue that workers take documents from",
		Long:  "queue is about the Redis through which `ingestd run --queue` has `ingestd worker` extract and embed.",
	}, a.verb(status, []string{"queue.url"}, a.queueStatus))
}

// openQueue connects to the configuration's queue.
func (a *app) openQueue(ctx context.Context) (*queue.Queue, error) {
	settings := a.Config.Queue
	if settings.URL == "" {
		return nil, commandline.Usage("no queue: give --queue redis://HOST:PORT, or set queue.url in the configuration")
	}
	return queue.Open(ctx, queue.Options{
		URL: settings.URL, Password: settings.Password.Reveal(), CAFile: settings.CAFile,
		Name: a.Config.QueueName(), Tries: settings.Tries, MaxBytes: settings.MaxBytes,
	})
}

func (a *app) queueStatus(ctx context.Context, _ []string) error {
	q, err := a.openQueue(ctx)
	if err != nil {
		return err
	}
	status, err := q.Status(ctx)
	if err = errors.Join(err, q.Close()); err != nil {
		return err
	}
	return a.Print(status, func(w io.Writer) { printQueues(w, status) })
}

func printQueues(w io.Writer, s *queue.Status) {
	if len(s.Queues) == 0 {
		fmt.Fprintf(w, "%s: no queue has tasks, and no worker is there\n", s.Redis)
		return
	}
	for _, q := range s.Queues {
		fmt.Fprintf(w, "queue %s at %s: %d pending, %d active, %d to be tried again, %d parked; %d workers\n",
			q.Name, s.Redis, q.Pending, q.Active, q.Retry, q.ParkedCount, q.Workers)
		for _, run := range q.Runs {
			fmt.Fprintf(w, "  `ingestd %s` of graph %s waits for results since %s\n", run.Verb, run.Graph, run.Started.Local().Format(time.DateTime))
		}
		for _, p := range q.Parked {
			fmt.Fprintf(w, "  parked: %s of graph %s: %s\n", commandline.Printable(p.Path), p.Graph, commandline.Printable(p.Reason))
		}
	}
	if len(s.Workers) == 0 {
		return
	}
	fmt.Fprintln(w)
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	fmt.Fprintln(table, "WORKER\tQUEUES\tAT ONCE\tACTIVE\tSINCE")
	for _, worker := range s.Workers {
		fmt.Fprintf(table, "%s\t%s\t%d\t%d\t%s\n", worker.Name, strings.Join(worker.Queues, ", "), worker.Parallel, worker.Active, worker.Started.Local().Format(time.DateTime))
	}
	table.Flush()
}
