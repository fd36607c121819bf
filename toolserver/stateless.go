package toolserver

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"github.com/google/jsonschema-go/jsonschema"
)

// Clients of protocol version 2026-07-28 have no connection that the server could
// keep evidence for: each request stands alone. Their tools take one argument
// more, which names the session that the first reply issued.
const sessionArgument = "session"

// sessionChars is room for the session in a reply, in text and JSON.
const sessionChars = 200

// withSession is the set with the argument `session` on every tool.
func (s *Set) withSession() *Set {
	out := &Set{options: s.options}
	out.options.MaxReplyChars -= sessionChars
	for _, t := range s.tools {
		out.tools = append(out.tools, t.withSession())
	}
	return out
}

func (t *Tool) withSession() *Tool {
	out := *t
	input := t.Input.CloneSchemas()
	input.Properties = maps.Clone(input.Properties)
	if input.Properties == nil {
		input.Properties = map[string]*jsonschema.Schema{}
	}
	input.Properties[sessionArgument] = &jsonschema.Schema{
		Type: "string", MinLength: jsonschema.Ptr(1), MaxLength: jsonschema.Ptr(64),
		Description: "The session that the first reply named. Leave it out in your first call and give it in every later one: evidence numbers run on in it and can be cited in it alone.",
	}
	if len(input.PropertyOrder) > 0 {
		input.PropertyOrder = append(slices.Clone(input.PropertyOrder), sessionArgument)
	}
	schema, err := input.Resolve(nil)
	if err != nil {
		panic(fmt.Sprintf("add the session to the schema of %s: %v", t.Name, err)) // NewTool has resolved all but this argument
	}
	out.Input, out.schema = input, schema
	return &out
}

// callStateless runs a tool in the session that the arguments name, or in a new
// one, and says which in the reply. A session that a failed call would have begun
// is not kept: its client was not told of it.
func (s *Service) callStateless(ctx context.Context, tool string, arguments []byte) (*Reply, error) {
	var given struct {
		Session string `json:"session"`
	}
	_ = json.Unmarshal(arguments, &given) // arguments of a wrong form are told by the schema
	owner := ownerOf(ctx)
	key := named{owner, given.Session}
	var from *session
	var done func()
	if given.Session != "" {
		from, done = s.sessions.begin(key)
		if from == nil {
			return s.refuse(ctx, tool, arguments, &Error{
				Kind: Usage, Message: fmt.Sprintf("There is no session %.64q, or it has ended", given.Session),
				Hint: "Leave `session` out to begin a new one; evidence numbers of the old one cannot be cited any more",
			})
		}
	} else {
		key.id = newSessionID()
		from, done = s.sessions.open(key, owner, func() *session { return &session{id: key.id, owner: owner, over: overStateless} })
		if from == nil {
			return s.refuse(ctx, tool, arguments, s.tooManySessions())
		}
	}
	defer done()
	reply, err := s.call(ctx, from, tool, arguments)
	if err != nil {
		if given.Session == "" {
			s.sessions.remove(key)
		}
		return nil, err
	}
	return reply.of(from.id), nil
}

// refuse counts and records a call that is not made.
func (s *Service) refuse(ctx context.Context, tool string, arguments []byte, told *Error) (*Reply, error) {
	s.metrics.called(s.known(tool), told, 0)
	s.audit(&session{owner: ownerOf(ctx), over: overStateless}, tool, arguments, nil, told, 0)
	return nil, told
}

// of is the reply with its session in both parts.
func (r *Reply) of(id string) *Reply {
	rest := bytes.TrimPrefix(r.JSON, []byte("{"))
	head := fmt.Sprintf(`{"session":%q`, id)
	if !bytes.HasPrefix(bytes.TrimSpace(rest), []byte("}")) {
		head += ","
	}
	return &Reply{
		Text: fmt.Sprintf("Session %s (give it as `session` in every further call)\n\n%s", id, r.Text),
		JSON: append([]byte(head), rest...),
	}
}
