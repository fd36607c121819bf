package store

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// A property of a type that no commit writes stops whoever reads it, a check too.
// Looking at the types of all properties takes as long as a check does, so that it
// is done only when a check could not read what it met.

// typedPlace is where properties are looked at, and what their types may be: a
// missing property is one of the matters of the check itself.
type typedPlace struct {
	what  string
	last  cypher.Statement
	page  func(cypher.Params) cypher.Statement
	edges bool
	types map[string]propertyType
}

// propertyType is a type as the engine calls it, and that of a list's items. With a
// vital property of a wrong type the thing is deleted: nothing finds it, or its
// documents make it again as a whole.
type propertyType struct {
	is, item string
	vital    bool
}

var (
	textType    = propertyType{is: "String"}
	numberType  = propertyType{is: "Integer"}
	vectorType  = propertyType{is: "Vectorf32"}
	vitalType   = propertyType{"String", "", true}
	vitalNumber = propertyType{"Integer", "", true}
	vitalFloat  = propertyType{"Float", "", true}
	vitalTexts  = propertyType{"List", "String", true}
	vitalFloats = propertyType{"List", "Float", true}
)

// wrongTypes are the names of what is not as $types say.
const (
	wrongOfNode = `[p IN $types WHERE NOT typeof(n[p.name]) IN p.is OR size([x IN CASE WHEN typeof(n[p.name]) = 'List' THEN n[p.name] ELSE [] END WHERE NOT typeof(x) IN p.item]) > 0 | p.name]`
	wrongOfEdge = `[p IN $types WHERE NOT typeof(r[p.name]) IN p.is OR size([x IN CASE WHEN typeof(r[p.name]) = 'List' THEN r[p.name] ELSE [] END WHERE NOT typeof(x) IN p.item]) > 0 | p.name]`
)

// In the order in which they are mended: documents are found through the others.
var typedPlaces = []typedPlace{
	{what: "relation", edges: true, last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi MATCH (n)-[r:RELATES|__WITHIN__]->()
WITH n, r, `+wrongOfEdge+` AS wrong WHERE size(wrong) > 0 OPTIONAL MATCH (n)-[:MENTIONED_IN]->(:Chunk)<-[:PART_OF]-(d:Document)
RETURN ID(n) AS node, ID(r) AS edge, n.id AS id, wrong, collect(DISTINCT ID(d)) AS documents`, p)
	}, types: map[string]propertyType{
		"rel_type": vitalType, "fact": vitalType, "description": vitalType, "src_name": vitalType, "tgt_name": vitalType, "spans": vitalType, "score": vitalFloat,
		"source_chunk_ids": vitalTexts, "evidence": vitalTexts, "evidence_methods": vitalTexts, "evidence_scores": vitalFloats, "evidence_src_names": vitalTexts,
		"evidence_tgt_names": vitalTexts, "evidence_src_ids": vitalTexts, "evidence_tgt_ids": vitalTexts,
		"embedding": vectorType, "embedding_pending": numberType,
	}},
	{what: "mention", edges: true, last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi MATCH (n)-[r:MENTIONED_IN]->(c)
WITH n, r, c, `+wrongOfEdge+` AS wrong WHERE size(wrong) > 0 OPTIONAL MATCH (d:Document)-[:PART_OF]->(c)
RETURN ID(n) AS node, ID(r) AS edge, n.id AS id, wrong, collect(DISTINCT ID(d)) AS documents`, p)
	}, types: map[string]propertyType{
		"spans": vitalType, "names": vitalTexts, "count": vitalNumber, "score": vitalFloat, "method": vitalType, "description": vitalType,
		"telling": vitalFloat, "origin": vitalType, "origin_type": vitalType,
	}},
	{what: "entity", last: lastEntity, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Entity__) WHERE ID(n) >= $lo AND ID(n) < $hi
WITH n, `+wrongOfNode+` AS wrong WHERE size(wrong) > 0 OPTIONAL MATCH (n)-[:MENTIONED_IN]->(:Chunk)<-[:PART_OF]-(d:Document)
RETURN ID(n) AS node, n.id AS id, wrong, collect(DISTINCT ID(d)) AS documents`, p)
	}, types: map[string]propertyType{
		"id": vitalType, "type": vitalType, "name": vitalType, "name_key": vitalType, "aliases": vitalTexts, "alias_keys": vitalTexts, "description": vitalType,
		"sentence": vitalType, "telling": vitalFloat, "mention_count": vitalNumber, "score": vitalFloat, "source_chunk_ids": vitalTexts, "search_text": vitalType,
		"embedding": vectorType, "embedding_pending": numberType,
	}},
	{what: "section", last: lastSection, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:__Section__) WHERE ID(n) >= $lo AND ID(n) < $hi
WITH n, `+wrongOfNode+` AS wrong WHERE size(wrong) > 0 OPTIONAL MATCH (d:Document)-[:HAS_SECTION]->(n)
RETURN ID(n) AS node, n.id AS id, wrong, collect(DISTINCT ID(d)) AS documents`, p)
	}, types: map[string]propertyType{"id": vitalType, "title": textType, "depth": numberType, "order": numberType, "start_char": numberType, "end_char": numberType}},
	{what: "chunk", last: lastChunk, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:Chunk) WHERE ID(n) >= $lo AND ID(n) < $hi
WITH n, `+wrongOfNode+` AS wrong WHERE size(wrong) > 0 OPTIONAL MATCH (d:Document)-[:PART_OF]->(n)
RETURN ID(n) AS node, n.id AS id, wrong, collect(DISTINCT ID(d)) AS documents`, p)
	}, types: map[string]propertyType{
		"id": vitalType, "text": textType, "index": numberType, "token_count": numberType, "start_char": numberType, "end_char": numberType,
		"first_page": numberType, "last_page": numberType, "first_line": numberType, "last_line": numberType, "context_header": textType, "context": textType,
		"content_key": textType, "search_text": textType, "embedding": vectorType, "embedding_pending": numberType,
	}},
	{what: "document", last: lastDocument, page: func(p cypher.Params) cypher.Statement {
		return cypher.New(`MATCH (n:Document) WHERE ID(n) >= $lo AND ID(n) < $hi
WITH n, `+wrongOfNode+` AS wrong WHERE size(wrong) > 0 RETURN ID(n) AS node, n.id AS id, wrong, [ID(n)] AS documents`, p)
	}, types: map[string]propertyType{
		"id": vitalType, "path": vitalType, "folder": textType, "title": textType, "date": textType, "format": textType, "size_bytes": numberType, "pages": numberType,
		"metadata": textType, "status": textType, "plan": textType, "plan_choices": textType, "resolver": textType, "max_llm_pairs": numberType,
		"chunk_count": numberType, "entity_count": numberType, "relation_count": numberType, "failed_chunks": numberType, "content_hash": textType,
		"plan_hash": textType, "ontology_hash": textType, "model_hash": textType, "format_hash": textType,
	}},
}

// checkTypes looks for properties of a type that they cannot have.
func (c *checker) checkTypes(ctx context.Context) error {
	for _, place := range typedPlaces {
		var types []cypher.Record
		for _, name := range sortedKeys(place.types) {
			kind := place.types[name]
			is := []string{kind.is, "Null"}
			if kind.is == "Float" {
				is = append(is, "Integer")
			}
			item := []string{kind.item}
			if kind.item == "Float" {
				item = append(item, "Integer")
			}
			types = append(types, cypher.Record{{Name: "name", Value: name}, {Name: "is", Value: is}, {Name: "item", Value: item}})
		}
		err := c.pages(ctx, place.last, checkPage, func(p cypher.Params) cypher.Statement {
			return place.page(p).With(cypher.Params{"types": types})
		}, func(rows *conn.Rows) error {
			for i := range rows.Len() {
				c.findType(place, rows, i)
			}
			return nil
		})
		if err != nil {
			return err
		}
	}
	return nil
}

// findType notes a thing with properties of wrong types. They are taken away, and
// the thing with those that it cannot do without; its documents are done again.
func (c *checker) findType(place typedPlace, rows *conn.Rows, i int) {
	node, wrong := int64(rows.Int(i, "node")), rows.Strings(i, "wrong")
	id, _ := rows.Value(i, "id").(string)
	fix := mend{}
	without := cypher.Record{}
	for _, name := range wrong {
		without = append(without, cypher.Field{Name: name, Value: nil})
	}
	at := target{node: node}
	if place.edges {
		at.edge, at.isEdge = int64(rows.Int(i, "edge")), true
	}
	vital := slices.ContainsFunc(wrong, func(name string) bool { return place.types[name].vital })
	onlyVector := !slices.ContainsFunc(wrong, func(name string) bool { return !strings.HasPrefix(name, "embedding") })
	switch {
	case vital && place.edges:
		fix.edges = []edgeRef{{node, at.edge}}
	case vital:
		fix.nodes = []int64{node}
	case onlyVector:
		fix.sets = []setting{{at, append(without, cypher.Field{Name: "embedding_pending", Value: 1})}}
	default:
		fix.sets = []setting{{at, without}}
	}
	if !onlyVector {
		fix.marks = ints(rows.Value(i, "documents"))
	}
	c.find(nowhere, Finding{Kind: WrongType, ID: id, Detail: fmt.Sprintf("node %d, %s: of a type that it cannot have: %s", node, place.what, strings.Join(wrong, ", ")), mend: fix})
}

// nameless notes a thing without an id, which nothing can find. It is deleted; fix
// says which documents are done again.
func (c *checker) nameless(what string, node int64, fix mend) {
	fix.nodes = append(fix.nodes, node)
	c.find(nowhere, Finding{Kind: WrongType, Detail: fmt.Sprintf("node %d, %s: it has no id", node, what), mend: fix})
}
