package retrieve

import (
	"context"
	"fmt"
	"math"

	"golang.org/x/sync/errgroup"

	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// task is one search. Of the lists of hits one is filled, best first.
type task struct {
	path   Path
	search string
	run    func(ctx context.Context, t *task) error

	entities  []Entity
	relations []Relation
	chunks    []string
	near      map[string]float64 // distances from the question, by kind and id
	words     map[string]float64 // the share of the question's words that a chunk holds
	note      string             // why hits may be missing
	err       error
}

func (t *task) hits() int {
	if t.path == Ranking {
		return len(t.near)
	}
	return len(t.entities) + len(t.relations) + len(t.chunks)
}

func (t *task) foundBy() string { return string(t.path) + ": " + t.search }

// depth is how many hits each search returns: fusion wants longer lists than
// what is shown, and the time of a search hardly depends on it.
func (r Request) depth() int { return max(30, min(3*r.TopK, MaxTopK)) }

// first runs the searches that need nothing but the question.
func (s *search) first(ctx context.Context) error {
	var tasks []*task
	if s.uses(Facts) {
		tasks = append(tasks, &task{path: Facts, search: "vector", run: s.factsByVector})
	}
	if s.uses(ExactNames) || s.linksAlone() {
		tasks = append(tasks, &task{path: ExactNames, search: "names", run: s.entitiesByName})
	}
	if s.uses(FuzzyNames) || s.linksAlone() {
		tasks = append(tasks,
			&task{path: FuzzyNames, search: "full text", run: s.entitiesByText},
			&task{path: FuzzyNames, search: "vector", run: s.entitiesByVector})
	}
	if s.uses(Passages) {
		tasks = append(tasks,
			&task{path: Passages, search: "vector", run: s.passagesByVector},
			&task{path: Passages, search: "full text", run: s.passagesByText})
	}
	return s.runAll(ctx, tasks)
}

// linksAlone reports whether links is asked for without a path that finds
// entities. It has to start somewhere: then they are looked for all the same, and
// not shown.
func (s *search) linksAlone() bool {
	return s.uses(Links) && !s.uses(ExactNames) && !s.uses(FuzzyNames)
}

// second runs the searches that start from the entities found.
func (s *search) second(ctx context.Context) error {
	s.entities = s.fuseEntities()
	var tasks []*task
	if t := s.nearness(); t != nil {
		tasks = append(tasks, t)
	}
	if len(s.entities) == 0 {
		return s.runAll(ctx, tasks)
	}
	if s.uses(Links) {
		tasks = append(tasks, &task{path: Links, search: "neighbours", run: s.links})
	}
	if s.uses(Passages) && s.uses(ExactNames) {
		tasks = append(tasks, &task{path: Passages, search: "mentions", run: s.passagesByMention})
	}
	return s.runAll(ctx, tasks)
}

// runAll runs searches side by side. Errors stay with their search, but for
// those that no search could avoid.
func (s *search) runAll(ctx context.Context, tasks []*task) error {
	s.tasks = append(s.tasks, tasks...)
	var group errgroup.Group
	for _, t := range tasks {
		group.Go(func() error {
			t.err = contained(func() error { return t.run(ctx, t) })
			if fatal(t.err) {
				return t.err
			}
			return nil
		})
	}
	return group.Wait()
}

func (s *search) reports() []Report {
	reports := make([]Report, 0, len(s.tasks))
	for _, path := range append(AllPaths(), Ranking) {
		for _, t := range s.tasks {
			if t.path != path {
				continue
			}
			report := Report{Path: t.path, Search: t.search, Hits: t.hits(), Error: t.note}
			if t.err != nil {
				report.Error = t.err.Error()
			}
			reports = append(reports, report)
		}
	}
	return reports
}

// query runs a statement and hands each row to take.
func (s *search) query(ctx context.Context, statement cypher.Statement, take func(rows *conn.Rows, i int)) error {
	rows, err := s.send(ctx, s.Graph, statement)
	if err != nil {
		return err
	}
	for i := range rows.Len() {
		take(rows, i)
	}
	return rows.Err()
}

// byVector looks whether vectors of a label can be compared with the question's.
func (s *search) byVector(t *task, label string) (params cypher.Params, err error) {
	vector, err := s.vector()
	if err != nil {
		return nil, err
	}
	if t.note, err = s.usable(label, "embedding", "VECTOR"); err != nil {
		return nil, err
	}
	return cypher.Params{"k": s.depth(), "vector": vector}, nil
}

func (s *search) passagesByVector(ctx context.Context, t *task) error {
	params, err := s.byVector(t, "Chunk")
	if err != nil {
		return err
	}
	return s.query(ctx, cypher.New(`CALL db.idx.vector.queryNodes('Chunk', 'embedding', $k, vecf32($vector)) YIELD node, score
RETURN node.id AS id, score ORDER BY score, id`, params), func(rows *conn.Rows, i int) {
		if near(rows, i) {
			t.chunks = append(t.chunks, rows.String(i, "id"))
		}
	})
}

func (s *search) entitiesByVector(ctx context.Context, t *task) error {
	params, err := s.byVector(t, "__Entity__")
	if err != nil {
		return err
	}
	params["common"] = tooCommon
	return s.query(ctx, cypher.New(`CALL db.idx.vector.queryNodes('__Entity__', 'embedding', $k, vecf32($vector)) YIELD node, score
OPTIONAL MATCH (node)-[m:MENTIONED_IN]->(c:Chunk) WHERE node.mention_count <= $common AND m.description = coalesce(node.sentence, node.description)
WITH node, score, min(c.id) AS told
RETURN node.id AS id, node.name AS name, node.type AS type, node.description AS description, node.aliases AS aliases,
       coalesce(node.mention_count, size(node.source_chunk_ids)) AS mentions, told, score
ORDER BY score, id`, params), func(rows *conn.Rows, i int) {
		if near(rows, i) {
			e := readEntity(rows, i)
			e.told = rows.String(i, "told")
			t.entities = append(t.entities, e)
			t.keep("entity", e.ID, rows.Float(i, "score"))
		}
	})
}

// entitiesByName looks the question's word groups up in the indexes of normalised
// names: entities' own, and those of what was merged into them. Longer names come
// first, then what is mentioned more.
func (s *search) entitiesByName(ctx context.Context, t *task) error {
	keys := nameKeys(s.Question)
	if len(keys) == 0 {
		return fmt.Errorf("the question holds no word to look up")
	}
	if !s.meta.Exists {
		return s.entitiesByScan(ctx, t, keys)
	}
	var err error
	if t.note, err = s.usable("__Entity__", "name_key", "RANGE"); err != nil {
		return err
	}
	params := cypher.Params{"keys": keys, "k": s.depth()}
	statement := cypher.New(`UNWIND $keys AS key MATCH (e:__Entity__ {name_key: key})`+longestFirst, params)
	if aliases, err := s.usable("__Entity__", "alias_keys", "RANGE"); err == nil && aliases == "" {
		statement = cypher.New(`UNWIND $keys AS key MATCH (e:__Entity__) WHERE e.name_key = key OR key IN e.alias_keys`+longestFirst, params)
	}
	return s.query(ctx, statement, func(rows *conn.Rows, i int) {
		t.entities = append(t.entities, readEntity(rows, i))
	})
}

// longestFirst ends the look-up of entities by name.
const longestFirst = `
WITH e, max(size(key)) AS length
RETURN e.id AS id, e.name AS name, e.type AS type, e.description AS description, e.aliases AS aliases, e.mention_count AS mentions
ORDER BY length DESC, mentions DESC, id LIMIT $k`

// entitiesByScan compares the names of a graph that keeps no normalised ones, and
// no index of names either: 10 ms for 6,500 entities and a question's 80 groups of
// words. The engine's idea of lower case is nearly ours; the rest is done here.
func (s *search) entitiesByScan(ctx context.Context, t *task, keys []string) error {
	err := s.query(ctx, cypher.New(`MATCH (e:__Entity__) WITH e, toLower(e.name) AS key WHERE key IN $keys OR replace(key, '  ', ' ') IN $keys
RETURN e.id AS id, e.name AS name, e.type AS type, e.description AS description, e.aliases AS aliases, size(e.source_chunk_ids) AS mentions
ORDER BY size(key) DESC, mentions DESC, id LIMIT $k`, cypher.Params{"keys": keys, "k": s.depth()}), func(rows *conn.Rows, i int) {
		t.entities = append(t.entities, readEntity(rows, i))
	})
	return err
}

func (s *search) factsByVector(ctx context.Context, t *task) error {
	params, err := s.byVector(t, "RELATES")
	if err != nil {
		return err
	}
	return s.query(ctx, cypher.New(`CALL db.idx.vector.queryRelationships('RELATES', 'embedding', $k, vecf32($vector)) YIELD relationship, score
WITH relationship AS r, startNode(relationship) AS s, endNode(relationship) AS t, score
RETURN s.id AS source_id, s.name AS source, s.type AS source_type, t.id AS target_id, t.name AS target, t.type AS target_type,
       r.rel_type AS rel_type, r.description AS statement, r.fact AS fact, r.source_chunk_ids AS chunks, r.evidence AS quotes,
       r.evidence_scores AS scores, r.spans AS spans, score
ORDER BY score, source_id, rel_type, target_id`, params), func(rows *conn.Rows, i int) {
		if near(rows, i) {
			r := readRelation(rows, i)
			t.relations = append(t.relations, r)
			t.keep("fact", r.key(), rows.Float(i, "score"))
		}
	})
}

// near is false for the score of a vector that is zero, which is no number.
func near(rows *conn.Rows, i int) bool { return !math.IsNaN(rows.Float(i, "score")) }

// startEntities bounds from how many entities the second round starts.
const startEntities = 10

// tooCommon is how often an entity may be mentioned and still say something about
// a passage; beyond it walking its mentions costs more than it tells.
const tooCommon = 2000

// passagesByMention ranks passages by how many of the entities that the question
// names they mention, and how often.
func (s *search) passagesByMention(ctx context.Context, t *task) error {
	var ids []string
	for _, task := range s.tasks {
		if task.path != ExactNames {
			continue
		}
		for _, e := range task.entities {
			if e.Mentions <= tooCommon && len(ids) < startEntities {
				ids = append(ids, e.ID)
			}
		}
	}
	if len(ids) == 0 {
		return nil
	}
	params := cypher.Params{"ids": ids, "k": s.depth()}
	statement := cypher.New(mentioning+`RETURN c.id AS id`+mostMentioning, params)
	if s.comparable("Chunk") {
		params["vector"] = s.asked.vector
		statement = cypher.New(mentioning+`RETURN c.id AS id, vec.cosineDistance(c.embedding, vecf32($vector)) AS distance`+mostMentioning, params)
	}
	return s.query(ctx, statement, func(rows *conn.Rows, i int) {
		t.chunks = append(t.chunks, rows.String(i, "id"))
		if s.comparable("Chunk") {
			t.measure("chunk", rows, i)
		}
	})
}

const (
	mentioning = `MATCH (e:__Entity__) WHERE e.id IN $ids WITH e MATCH (e)-[m:MENTIONED_IN]->(c:Chunk)
WITH c, count(DISTINCT e) AS entities, sum(coalesce(m.count, 1)) AS mentions ORDER BY entities DESC, mentions DESC, c.id LIMIT $k
`
	mostMentioning = ` ORDER BY entities DESC, mentions DESC, id`
)
