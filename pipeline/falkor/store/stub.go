package store

import (
	"context"
	"errors"
	"time"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/graph"
)

var errTODO = errors.New("not built yet")

type Store struct{}
type Lock struct{}

func Open(ctx context.Context, c *conn.Client, o Options) (*Store, error) { return nil, errTODO }
func (s *Store) Meta(ctx context.Context) (Meta, error)                   { return Meta{}, errTODO }
func (s *Store) AddSource(ctx context.Context, name, root string) error   { return errTODO }
func (s *Store) Documents(ctx context.Context) (map[string]StoredDocument, error) {
	return nil, errTODO
}
func (s *Store) Acquire(ctx context.Context, owner LockOwner, lease, wait time.Duration) (*Lock, error) {
	return nil, errTODO
}
func (l *Lock) Lost() <-chan struct{}                                           { return nil }
func (l *Lock) Release(ctx context.Context) error                               { return errTODO }
func (s *Store) Commit(ctx context.Context, changes []Change) error             { return errTODO }
func (s *Store) Remove(ctx context.Context, ids []graph.DocumentID) error       { return errTODO }
func (s *Store) EnsureIndexes(ctx context.Context, o IndexOptions) error        { return errTODO }
func (s *Store) PendingCount(ctx context.Context, kind VectorKind) (int, error) { return 0, errTODO }
func (s *Store) PendingVectors(ctx context.Context, kind VectorKind, limit int) ([]Pending, error) {
	return nil, errTODO
}
func (s *Store) StoreVectors(ctx context.Context, kind VectorKind, vectors []Vector) error {
	return errTODO
}
func (s *Store) Finish(ctx context.Context) (Counts, error) { return Counts{}, errTODO }
func (s *Store) LoadOntology(ctx context.Context) (graph.Ontology, error) {
	return graph.Ontology{}, errTODO
}
func (s *Store) SaveOntology(ctx context.Context, o graph.Ontology) error { return errTODO }
func (s *Store) SaveRun(ctx context.Context, r Run) error                 { return errTODO }
func (s *Store) Runs(ctx context.Context, limit int) ([]Run, error)       { return nil, errTODO }
func (s *Store) Digest(ctx context.Context) (string, error)               { return "", errTODO }
func (s *Store) Durability(ctx context.Context) (Durability, error)       { return Durability{}, errTODO }
