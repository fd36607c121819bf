package llm

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
