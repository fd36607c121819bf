package llm

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"os"
)

// Kept returns the answer that the cache has for a question. It asks and counts
// nothing, so that a plan can tell what will cost nothing.
func (c *Client) Kept(r Request) (text string, ok bool) {
	if c.sender.Cache == nil {
		return "", false
	}
	schema, err := compile(r.Schema)
	if err != nil {
		return "", false
	}
	text, ok = c.sender.Cache.answer(c.key(r))
	return text, ok && usable(text, r, schema) == nil
}

// Typical is what the answers to a purpose took, second asks included.
type Typical struct {
	Answers      int
	OutputTokens float64 // of one
	// InputRatio is what the input took by what it was taken for beforehand.
	InputRatio float64
}

// mostTypical bounds how many entries are read for [Client.Typical].
const mostTypical = 2000

var errEnough = errors.New("enough")

// Typical looks at kept answers of this model, by purpose: how long they are is
// a habit of the model and the prompt.
func (c *Client) Typical(ctx context.Context) (map[Purpose]Typical, error) {
	found := map[Purpose]Typical{}
	if c.sender.Cache == nil {
		return found, nil
	}
	sums, estimated := map[Purpose]Usage{}, map[Purpose]int{}
	model, n := c.Fingerprint(), 0
	err := c.sender.Cache.each(ctx, func(f cacheFile) error {
		if n++; n > mostTypical {
			return errEnough
		}
		head, ok := readHead(f)
		if !ok || head.Model != model || head.Estimated == 0 {
			return nil
		}
		purpose := Purpose(head.Purpose)
		sum := sums[purpose]
		sum.add(Usage{Calls: 1, InputTokens: head.Usage.InputTokens, OutputTokens: head.Usage.OutputTokens})
		sums[purpose] = sum
		estimated[purpose] += head.Estimated
		return nil
	})
	if err != nil && !errors.Is(err, errEnough) {
		return nil, err
	}
	for purpose, sum := range sums {
		found[purpose] = Typical{
			Answers: sum.Calls, OutputTokens: float64(sum.OutputTokens) / float64(sum.Calls),
			InputRatio: float64(sum.InputTokens) / float64(estimated[purpose]),
		}
	}
	return found, nil
}

// readHead reads what an entry says of itself. Its checksum is not looked at: a
// damaged one is wrong about one answer of many.
func readHead(f cacheFile) (head entryHead, ok bool) {
	if f.temp {
		return head, false
	}
	raw, err := os.ReadFile(f.path)
	if err != nil {
		return head, false
	}
	_, body, _ := bytes.Cut(raw, []byte{'\n'})
	line, _, _ := bytes.Cut(body, []byte{'\n'})
	return head, json.Unmarshal(line, &head) == nil
}
