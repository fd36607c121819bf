package main

import (
	"context"
	"errors"
	"fmt"
	"time"

	"graphmill/commandline"
	"graphmill/configs"
	"graphmill/pipeline"
	"graphmill/pipeline/corpus"
	"graphmill/pipeline/engine"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/store"
	"graphmill/pipeline/llm"
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
	run    store.Run   // what this verb's line in the ledger begins with
	// workers extract and embed in place of this process; nil when none shall.
	workers *workers
	// shared says that lease and client are another's to close.
	shared bool
}

// connect opens the graph store: the external server of the configuration, or
// the local engine, which it starts or joins.
func (a *app) connect(ctx context.Context) (*session, error) {
	s := &session{app: a}
	options := conn.Options{DialTimeout: a.Config.Falkor.DialTimeout, ClientName: "ingestd"}
	if a.Config.Falkor.External() {
		externalServer(&options, a.Config.Falkor)
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
		s.Say(fmt.Sprintf("%s is loading its graphs (%d s)", s.client.Address(), int(waited.Seconds())))
	})
	if err != nil {
		return err
	}
	s.store, err = store.Open(ctx, s.client, store.Options{Graph: s.Config.GraphName(), Version: commandline.Version()})
	return err
}

func externalServer(options *conn.Options, falkor configs.Falkor) {
	options.Host, options.Port = falkor.Host, falkor.Port
	options.Username, options.Password = falkor.Username, falkor.Password.Reveal()
	options.TLS, options.CAFile, options.Insecure = falkor.TLS, falkor.CAFile, falkor.TLSInsecure
}

func (a *app) engineOptions() engine.Options {
	return engine.Options{
		DataDir: a.Config.DataDir, RedisServer: a.Config.Engine.RedisServer, Module: a.Config.Engine.Module,
		DepsDir: a.Config.Engine.DepsDir, Linger: a.Config.Engine.Linger, StartTimeout: a.Config.Engine.StartTimeout,
		MaxMemory: a.Config.Engine.MaxMemory, LingerCommand: a.lingerCommand(), Progress: a.Say,
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
		err = s.takeLock(ctx, owner)
	}
	if err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// takeLock waits as long as wait says, and says for whom.
func (s *session) takeLock(ctx context.Context, owner store.LockOwner) (err error) {
	s.lock, err = s.store.Acquire(ctx, owner, lockLease, 0)
	if held := (*store.HeldError)(nil); errors.As(err, &held) && s.Config.Wait > 0 {
		s.Say(fmt.Sprintf("waiting up to %s for `ingestd %s` (pid %d on %s), which holds graph %s",
			s.Config.Wait, held.Owner.Verb, held.Owner.PID, held.Owner.Host, held.Graph))
		s.lock, err = s.store.Acquire(ctx, owner, lockLease, s.Config.Wait)
	}
	if err == nil {
		err = s.beginRun(owner.Verb)
	}
	return err
}

// close gives everything back, also after ctx ended.
func (s *session) close() error {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	var errs []error
	if s.lock != nil {
		err := s.lock.Release(ctx)
		// An engine that died has been told of; its lock is a dead process's soon.
		if s.lease == nil || s.lease.Check() == nil {
			errs = append(errs, err)
		}
	}
	if s.shared {
		return errors.Join(errs...)
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
func (s *session) ingest(ctx context.Context, root corpus.Tree, o ingestOptions) (*pipeline.Report, error) {
	show := s.newProgress()
	defer show.done()
	w, err := newWired(s.Config)
	if err != nil {
		return nil, err
	}
	defer w.close()
	w.asking.log = s.Log
	report, err := s.ingestWith(ctx, w, root, o, show)
	if err == nil {
		s.advise(ctx, report)
	}
	return report, err
}

// ingestWith is ingest with strategies that are there already.
func (s *session) ingestWith(ctx context.Context, w *wired, root pipeline.Files, o ingestOptions, show pipeline.Observer) (*pipeline.Report, error) {
	started := time.Now()
	ctx, cancel := s.untilLockLost(ctx)
	defer cancel()
	meter := o.meter
	if meter == nil {
		meter = newMeter(s.Config)
	}
	ctx = llm.WithMeter(ctx, meter)
	options, err := s.begin(ctx, w, root, o, show)
	if err != nil {
		return nil, err
	}
	options.Meter = meter
	if o.mayQueue {
		if s.workers, err = s.callWorkers(ctx, o.verb, &options); err != nil {
			return nil, err
		}
		defer s.leaveWorkers()
	}
	report, err := pipeline.Run(ctx, options)
	if err == nil && !o.noFinalize {
		if report.Finalize, err = s.finalize(ctx, w, report.Wrote(), o.reembed, show); err != nil {
			err = report.Interrupt(ctx, err)
		}
	}
	report.Totals.Seconds = time.Since(started).Seconds()
	report.Cost = bill(s.Config, meter)
	if report.Wrote() && s.lease == nil {
		s.warnOfDurability(report)
	}
	err = s.explain(ctx, err)
	return report, errors.Join(err, s.record(o.verb, report, started, err))
}

// warnOfDurability says when an external server may lose what is reported here
// as done. The local engine has everything on disk before it answers.
func (s *session) warnOfDurability(report *pipeline.Report) {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if d, err := s.store.Durability(ctx); err == nil && !d.Confirmed {
		report.Warn(d.Reason)
	}
}

// begin checks all that can be wrong before the first thing is written: a run
// that is refused, by the pipeline as well, must not have claimed a root or stored
// an ontology.
func (s *session) begin(ctx context.Context, w *wired, root pipeline.Files, o ingestOptions, show pipeline.Observer) (pipeline.Options, error) {
	none := pipeline.Options{}
	meta, err := s.store.Meta(ctx)
	if err != nil {
		return none, err
	}
	if !o.texts {
		if err := s.checkSource(ctx, meta, root.Dir(), o.moved); err != nil {
			return none, err
		}
	}
	if !o.noFinalize {
		if err := s.checkEmbedder(w, meta, o.reembed); err != nil {
			return none, err
		}
	}
	chosen, err := s.chooseOntology(ctx)
	if err != nil {
		return none, err
	}
	options, err := s.pipelineOptions(chosen, w, root, show)
	if err != nil {
		return none, err
	}
	if o.planner != nil {
		options.Planner = o.planner
	}
	options.Force, options.Texts, options.Additive, options.ContentOnly = o.force, o.texts, o.additive, o.contentOnly
	options.LastPlans = o.force && o.planner == nil && o.plan == nil && !o.texts && !o.replan
	options.Mirror = s.mirror(o)
	if o.files != nil {
		options.Select = func(path string) bool { return o.files[path] }
	}
	if o.plan != nil {
		if err := s.followPlan(ctx, &options, o.plan); err != nil {
			return none, err
		}
	}
	if o.texts {
		options.Source = ""
	}
	have, known := meta.Sources[s.Config.Source]
	options.Claim = func(ctx context.Context) error {
		if !o.texts && (!known || have != root.Dir()) {
			if err := s.store.AddSource(ctx, s.Config.Source, root.Dir()); err != nil {
				return err
			}
		}
		return s.saveOntology(ctx, chosen)
	}
	return options, nil
}

// built says that there is no graph, where a verb would show an empty one: more
// often a name is mistyped.
func (s *session) built(ctx context.Context) error {
	meta, err := s.store.Meta(ctx)
	if err == nil && !meta.Exists {
		err = commandline.Usage("graph %s holds nothing yet; `ingestd run --root DIR` fills it, --graph and --tenant name another", s.Config.GraphName())
	}
	return err
}

// checkEmbedder says before anything is extracted what finalize would refuse
// after it: an embedder that is not there, or not the graph's.
func (s *session) checkEmbedder(w *wired, meta store.Meta, reembed bool) error {
	model, err := w.embedderModel()
	if err != nil {
		return err
	}
	if meta.EmbeddingModel == "" || meta.EmbeddingModel == model || reembed {
		return nil
	}
	return commandline.Usage("the vectors of graph %s are of model %s, embedder.kind and embedder.model_dir say %s; set them to the graph's, or make all vectors again with --reembed",
		s.Config.GraphName(), meta.EmbeddingModel, model)
}

// finalize does nothing when the graph is finalized and the embedder the same.
func (s *session) finalize(ctx context.Context, w *wired, wrote, reembed bool, show pipeline.Observer) (*pipeline.FinalizeReport, error) {
	meta, err := s.store.Meta(ctx)
	if err != nil {
		return nil, err
	}
	if !meta.Exists {
		return nil, nil // nothing was ever written: there is nothing to search
	}
	model, err := w.embedderModel()
	if err != nil {
		return nil, err
	}
	pairs := s.Config.Resolvers.Pairs()
	if !wrote && !meta.FinalizePending && meta.EmbeddingModel == model && meta.Merging == pipeline.MergeSettings(pairs) {
		return nil, nil
	}
	options := pipeline.FinalizeOptions{
		Store: s.store, Workers: s.Config.Workers(), Reembed: reembed, Observer: show, MustNotMerge: pairs, Chat: w.chat,
	}
	if err := s.finalizer(ctx, w, &options); err != nil {
		return nil, err
	}
	if s.Config.Embedder.Kind == configs.EmbedderOpenAI {
		options.Workers, options.Batch = s.Config.LLM.Concurrency, s.Config.Embedder.Batch
	}
	return pipeline.Finalize(ctx, options)
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
func (s *session) pipelineOptions(chosen chosenOntology, w *wired, root pipeline.Files, show pipeline.Observer) (pipeline.Options, error) {
	plans, err := newPlanner(s.Config)
	if err != nil {
		return pipeline.Options{}, err
	}
	files, _ := root.(corpus.Tree) // texts need none: they are not sampled
	// What the pattern rules find is declared by them.
	extended := w.pattern.Extend(chosen.ontology)
	return pipeline.Options{
		Root: root, Loader: w.loader(files), Store: s.store, Planner: plans, Strategies: w,
		Ontology: extended, OntologyDigest: ontology.Digest(extended),
		Graph: s.Config.GraphName(), Source: s.Config.Source, Workers: s.Config.Workers(),
		MaxRows: s.Config.Commit.MaxRows, MaxDocuments: s.Config.Commit.MaxDocuments,
		FileTimeout: s.Config.Corpus.FileTimeout, Observer: show, Extractions: s.extractions(),
	}, nil
}
