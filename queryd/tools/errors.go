package tools

import (
	"errors"
	"fmt"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/queryd/retrieve"
	"graphmill/toolserver"
)

// explain turns an error of the store into what the caller is told. Three things
// are kept apart: there is no such graph, it could not be asked, it did not like
// what it was asked.
func (k *kit) explain(err error) error {
	var told *toolserver.Error
	if err == nil || errors.As(err, &told) {
		return err
	}
	var missing *retrieve.MissingGraph
	var newer *retrieve.NewerSchema
	var failed *retrieve.AllPathsFailed
	var cause *conn.Error
	switch {
	case errors.As(err, &missing), conn.KindOf(err) == conn.NoGraph:
		return k.noGraph()
	case errors.As(err, &newer):
		return &toolserver.Error{Kind: toolserver.Config, Message: "G" + newer.Error()[1:], Hint: "Use a newer queryd", Err: err}
	case errors.As(err, &failed):
		return explainSearch(failed, err)
	case errors.As(err, &cause):
		return k.explainStore(cause, err)
	}
	return err
}

// explainSearch tells why no path of a search worked.
func explainSearch(failed *retrieve.AllPathsFailed, err error) error {
	e := &toolserver.Error{
		Kind: kindOf(failed.Err), Message: "The search failed: " + escapeLine(failed.Error()),
		Hint: "status says what the graph holds; `queryd doctor` checks the set-up", Err: err,
	}
	if other := (*retrieve.OtherModel)(nil); errors.As(err, &other) {
		e.Kind, e.Hint = toolserver.Model, strings.ToUpper(other.Hint()[:1])+other.Hint()[1:]
		e.Message = strings.ReplaceAll(e.Message, "; "+other.Hint(), "") // told once
	}
	return e
}

func (k *kit) noGraph() error {
	return &toolserver.Error{
		Kind: toolserver.NoGraph, Message: fmt.Sprintf("Graph %q does not exist", k.Graph()),
		Hint: "Ingest documents first (`ingestd run --root DIR`), or check the graph name this server was started with (--graph, --tenant)",
	}
}

func (k *kit) explainStore(cause *conn.Error, err error) error {
	e := &toolserver.Error{Kind: toolserver.Database, Message: "The graph store did not answer the query: " + cause.Error(), Err: err}
	switch cause.Kind {
	case conn.Unreachable, conn.Auth, conn.Loading, conn.Busy:
		e.Kind, e.Message = toolserver.Unreachable, "Could not reach the graph store: "+cause.Error()
		e.Hint = "`queryd doctor` checks the connection"
	case conn.Timeout:
		e.Kind, e.Message = toolserver.Timeout, "The graph store took too long: "+cause.Error()
		e.Hint = "Ask for less, or raise queryd.query_timeout"
	default:
		e.Hint = "The server's log says more; `queryd doctor` checks the set-up"
	}
	return e
}

// kindOf classes the failure of all paths by what the first connection error in
// it was; without one it is the model that every search lacked.
func kindOf(err error) toolserver.Kind {
	switch conn.KindOf(err) {
	case conn.Timeout:
		return toolserver.Timeout
	case conn.Other:
		return toolserver.Model
	}
	return toolserver.Database
}
