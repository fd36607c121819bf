package main

import (
	"graphmill/queryd/evidence"
	"graphmill/queryd/tools"
	"graphmill/toolserver"
)

// newSet makes the tools of one session, with a ledger of its own.
func (a *app) newSet(b *backend) (*toolserver.Set, error) {
	ledger := evidence.NewLedger(0)
	list, err := tools.New(b, tools.Options{TopK: a.Config.Queryd.TopK, Ledger: ledger})
	if err != nil {
		return nil, err
	}
	return toolserver.NewSet(list, toolserver.Options{
		MaxReplyChars: a.Config.Queryd.MaxReplyChars, Include: a.Config.MCP.Include,
		Secrets: a.secrets(), Drop: ledger.Drop, Log: a.Log,
	})
}
