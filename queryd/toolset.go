package main

import (
	"graphmill/queryd/evidence"
	"graphmill/queryd/tools"
	"graphmill/toolserver"
)

// newSet makes the tools of one session, with a ledger of its own. secrets are
// masked in what it tells; nil means the configuration's.
func (a *app) newSet(b *backend, secrets func() []string) (*toolserver.Set, error) {
	if secrets == nil {
		secrets = a.secrets
	}
	ledger := evidence.NewLedger(0)
	list, err := tools.New(b, tools.Options{TopK: a.Config.Queryd.TopK, Ledger: ledger})
	if err != nil {
		return nil, err
	}
	return toolserver.NewSet(list, toolserver.Options{
		MaxReplyChars: a.Config.Queryd.MaxReplyChars, Include: a.Config.MCP.Include,
		Secrets: secrets, Drop: ledger.Drop, Log: a.Log,
	})
}
