package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"graphmill/configs"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/ontology"
)

// lockLease is how long a lock outlives its holder where the holder's death
// cannot be seen (another machine); it is renewed at a third of it.
const lockLease = 30 * time.Second

// session is an open graph, locked for one verb.
type session struct {
	*app
	lease  *engine.Lease // nil for an external server
	client *conn.Client
	store  *store.Store
	lock   *store.Lock // nil for verbs that only look
}

// connect opens the graph store: the external server of the configuration, or
// the local engine, which it starts or joins.
func (a *app) connect(ctx context.Context) (*session, error) {
	s := &session{app: a}
	options := conn.Options{DialTimeout: a.cfg.Falkor.DialTimeout, ClientName: "ingestd"}
	if a.cfg.Falkor.External() {
		externalServer(&options, a.cfg.Falkor)
	} else {
		lease, err := engine.Acquire(ctx, a.engineOptions())
		if err != nil {
			return nil, err
		}
		s.lease = lease
		options.Socket = lease.Address()
		options.Username, options.Password = lease.Credentials().User, lease.Credentials().Secret
	}
	if err := s.openStore(ctx, options); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

func (s *session) openStore(ctx context.Context, options conn.Options) (err error) {
	if s.client, err = conn.Open(options); err != nil {
		return err
	}
	err = s.client.WaitReady(ctx, func(waited time.Duration) {
		s.say(fmt.Sprintf("%s is loading its graphs (%d s)", s.client.Address(), int(waited.Seconds())))
	})
	if err != nil {
		return err
	}
	s.store, err = store.Open(ctx, s.client, store.Options{Graph: s.cfg.GraphName(), Version: version()})
	return err
}

func externalServer(options *conn.Options, falkor configs.Falkor) {
	options.Host, options.Port = falkor.Host, falkor.Port
	options.Username, options.Password = falkor.Username, falkor.Password.Reveal()
	options.TLS, options.CAFile, options.Insecure = falkor.TLS, falkor.CAFile, falkor.TLSInsecure
}

func (a *app) engineOptions() engine.Options {
	return engine.Options{
		DataDir: a.cfg.DataDir, RedisServer: a.cfg.Engine.RedisServer, Module: a.cfg.Engine.Module,
		DepsDir: a.cfg.Engine.DepsDir, Linger: a.cfg.Engine.Linger, StartTimeout: a.cfg.Engine.StartTimeout,
		MaxMemory: a.cfg.Engine.MaxMemory, LingerCommand: a.lingerCommand(), Progress: a.say,
	}
}

// openSession connects and takes the graph's lock for verb.
func (a *app) openSession(ctx context.Context, verb string) (*session, error) {
	s, err := a.connect(ctx)
	if err != nil {
		return nil, err
	}
	owner, err := store.LocalOwner(verb)
	if err == nil {
		s.lock, err = s.store.Acquire(ctx, owner, lockLease, s.cfg.Wait)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// openIngest is openSession for a verb that reads the files root rootDir.
func (a *app) openIngest(ctx context.Context, o ingestOptions, rootDir string) (*session, error) {
	s, err := a.openSession(ctx, o.verb)
	if err != nil {
		return nil, err
	}
	if err := s.claimSource(ctx, rootDir, o.moved); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// claimSource refuses a second root without a name: its documents would
// overwrite or outlive those of the first.
func (s *session) claimSource(ctx context.Context, rootDir string, moved bool) error {
	meta, err := s.store.Meta(ctx)
	if err != nil {
		return err
	}
	have, known := meta.Sources[s.cfg.Source]
	switch {
	case known && have == rootDir:
		return nil
	case known && !moved && s.cfg.Source == "":
		return usage("graph %s was built from %s; if %s is another folder, give it a name with --source NAME or use another --graph; if it is the same one, moved, say --moved",
			s.cfg.GraphName(), have, rootDir)
	case known && !moved:
		return usage("source %q of graph %s is %s; choose another --source NAME for %s, or say --moved if it is the same folder",
			s.cfg.Source, s.cfg.GraphName(), have, rootDir)
	}
	return s.store.AddSource(ctx, s.cfg.Source, rootDir)
}

// close gives everything back, also after ctx ended.
func (s *session) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	if s.lock != nil {
		errs = append(errs, s.lock.Release(ctx))
	}
	if s.client != nil {
		errs = append(errs, s.client.Close())
	}
	if s.lease != nil {
		errs = append(errs, s.lease.Release())
	}
	return errors.Join(errs...)
}

// ingest runs the pipeline over root and finalizes. The report is nil only when
// nothing was begun.
func (s *session) ingest(ctx context.Context, root *corpus.Root, o ingestOptions) (*pipeline.Report, error) {
	started := time.Now()
	show := newProgress(s.cfg.Progress, s.cfg.Quiet, s.stderr)
	defer show.done()
	ctx, cancel := s.untilLockLost(ctx)
	defer cancel()

	w, err := newWired(s.cfg)
	if err != nil {
		return nil, err
	}
	defer w.close()
	chosen, err := s.chooseOntology(ctx)
	if err != nil {
		return nil, err
	}
	options, err := s.pipelineOptions(chosen, w, root, show)
	if err != nil {
		return nil, err
	}
	if err := s.saveOntology(ctx, chosen); err != nil {
		return nil, err
	}
	options.Force = o.force
	if o.files != nil {
		options.Select = func(path string) bool { return o.files[path] }
	}
	report, err := pipeline.Run(ctx, options)
	if err == nil && !o.noFinalize {
		report.Finalize, err = s.finalize(ctx, w, report.Wrote(), o.reembed, show)
	}
	report.Totals.Seconds = time.Since(started).Seconds()
	err = s.explain(ctx, err)
	return report, errors.Join(err, s.record(o.verb, report, started, err))
}

// finalize does nothing when the graph is finalized and the embedder the same.
func (s *session) finalize(ctx context.Context, w *wired, wrote, reembed bool, show pipeline.Observer) (*pipeline.FinalizeReport, error) {
	meta, err := s.store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	model, err := w.embedderModel()
	if err != nil {
		return nil, err
	}
	if !wrote && !meta.FinalizePending && meta.EmbeddingModel == model {
		return nil, nil
	}
	if !meta.Exists {
		return nil, nil // nothing was ever written: there is nothing to search
	}
	embedder, err := w.embedder()
	if err != nil {
		return nil, err
	}
	return pipeline.Finalize(ctx, pipeline.FinalizeOptions{
		Store: s.store, Embedder: embedder, Workers: s.cfg.Workers(), Reembed: reembed, Observer: show,
	})
}

// untilLockLost ends the returned context when another process took the lock.
func (s *session) untilLockLost(ctx context.Context) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	go func() {
		select {
		case <-s.lock.Lost():
			cancel(store.ErrLockLost)
		case <-ctx.Done():
		}
	}()
	return ctx, func() { cancel(nil) }
}

// explain puts the reason in front of errors that only say that the connection
// or the context ended.
func (s *session) explain(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	if cause := context.Cause(ctx); errors.Is(cause, store.ErrLockLost) {
		return cause
	}
	if s.lease != nil {
		if died := s.lease.Check(); died != nil {
			return fmt.Errorf("%w (%v)", died, err)
		}
	}
	return err
}

// pipelineOptions puts together what a run needs.
func (s *session) pipelineOptions(chosen chosenOntology, w *wired, root *corpus.Root, show pipeline.Observer) (pipeline.Options, error) {
	plans, err := newPlanner(s.cfg)
	if err != nil {
		return pipeline.Options{}, err
	}
	// What the pattern rules find is declared by them.
	extended := w.pattern.Extend(chosen.ontology)
	return pipeline.Options{
		Root: root, Loader: w.loader(root), Store: s.store, Planner: plans, Strategies: w,
		Ontology: extended, OntologyDigest: ontology.Digest(extended),
		Graph: s.cfg.GraphName(), Source: s.cfg.Source, Workers: s.cfg.Workers(),
		MaxRows: s.cfg.Commit.MaxRows, MaxDocuments: s.cfg.Commit.MaxDocuments,
		FileTimeout: s.cfg.Corpus.FileTimeout, Observer: show,
	}, nil
}
