package main

import "context"

func benchChunking(ctx context.Context, w *world, t *table) error  { return nil }
func benchEmbedding(ctx context.Context, w *world, t *table) error { return nil }
func benchWriting(ctx context.Context, w *world, t *table) error   { return nil }
func benchUnchanged(ctx context.Context, w *world, t *table) error { return nil }
func benchModels(ctx context.Context, w *world, t *table) error    { return nil }
