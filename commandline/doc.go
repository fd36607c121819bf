// Package commandline is what the verbs of ingestd and queryd have in common:
// exit codes, loading the configuration, results as text or JSON, errors told
// once, signals, terminal-safe text, and what doctor finds. It knows no graph
// and no verb.
package commandline
