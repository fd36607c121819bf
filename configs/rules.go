package configs

import (
	"fmt"
	"slices"
	"strings"

	"go.yaml.in/yaml/v3"
)

const (
	maxRules         = 1000
	maxRuleParameter = 1_000_000
)

// ruleKeys are what a rule may hold, as texts; the rest are RuleParameters.
var ruleKeys = []string{"match", "chunker", "extractor", "resolver", "max_chunks"}

// readRules reads the list of rules; where names the place of a line.
func readRules(node *yaml.Node, where func(int) string) ([]Rule, []Problem) {
	if node.Kind != yaml.SequenceNode {
		return nil, []Problem{{Where: where(node.Line), Key: "plan.rules", Message: fmt.Sprintf("is %s; allowed is a list of rules", kindOf(node))}}
	}
	if len(node.Content) > maxRules {
		return nil, []Problem{{Where: where(node.Line), Key: "plan.rules", Message: fmt.Sprintf("has %d rules; allowed are %d", len(node.Content), maxRules)}}
	}
	rules, problems := []Rule{}, []Problem(nil)
	for i, child := range node.Content {
		r := ruleReader{path: fmt.Sprintf("plan.rules[%d]", i), where: where}
		r.read(deref(child))
		rules = append(rules, r.rule)
		problems = append(problems, r.problems...)
	}
	return rules, problems
}

type ruleReader struct {
	path     string
	where    func(int) string
	rule     Rule
	problems []Problem
}

func (r *ruleReader) problem(node *yaml.Node, key, format string, args ...any) {
	r.problems = append(r.problems, Problem{Where: r.where(node.Line), Key: strings.TrimSuffix(r.path+"."+key, "."), Message: fmt.Sprintf(format, args...)})
}

func (r *ruleReader) read(node *yaml.Node) {
	r.rule.Origin = r.where(node.Line)
	if node.Kind != yaml.MappingNode {
		r.problem(node, "", "is %s; allowed is a mapping such as {match: \"*.md\", chunker: structural}", kindOf(node))
		return
	}
	matched := false
	for i := 0; i+1 < len(node.Content); i += 2 {
		name, value := node.Content[i].Value, deref(node.Content[i+1])
		matched = matched || name == "match"
		r.field(name, node.Content[i], value)
	}
	if !matched {
		r.problem(node, "match", "is missing: a rule needs a glob, such as \"**/*.md\"")
	}
}

func (r *ruleReader) field(name string, keyNode, value *yaml.Node) {
	switch name {
	case "match":
		r.rule.Match = r.text(name, value, nil)
		if err := checkGlob(r.rule.Match); err != nil {
			r.problem(value, name, "%q %v; allowed are %s", r.rule.Match, err, ruleGlobs)
		}
	case "chunker":
		r.rule.Chunker = r.text(name, value, chunkerNames)
	case "resolver":
		r.rule.Resolver = r.text(name, value, resolverNames)
	case "extractor":
		r.extractors(value)
	case "max_chunks":
		r.rule.MaxChunks = r.number(name, value, 1)
	default:
		r.parameter(name, keyNode, value)
	}
}

func (r *ruleReader) parameter(name string, keyNode, value *yaml.Node) {
	if !slices.Contains(RuleParameters(), name) {
		r.problem(keyNode, name, "is no setting%s", didYouMean(name, slices.Concat(ruleKeys, RuleParameters())))
		return
	}
	if r.rule.Parameters == nil {
		r.rule.Parameters = map[string]int{}
	}
	least := 1
	if strings.HasPrefix(name, "overlap_") {
		least = 0
	}
	r.rule.Parameters[name] = r.number(name, value, least)
}

func (r *ruleReader) extractors(value *yaml.Node) {
	nodes := []*yaml.Node{value}
	if value.Kind == yaml.SequenceNode {
		nodes = value.Content
		if len(nodes) == 0 {
			r.problem(value, "extractor", "is empty; allowed are %s", strings.Join(extractorNames, ", "))
		}
	}
	for _, node := range nodes {
		name := r.text("extractor", deref(node), extractorNames)
		if name != "" && slices.Contains(r.rule.Extractors, name) {
			r.problem(node, "extractor", "names %q twice", name)
			continue
		}
		r.rule.Extractors = append(r.rule.Extractors, name)
	}
}

func (r *ruleReader) text(name string, node *yaml.Node, allowed []string) string {
	switch {
	case node.Kind != yaml.ScalarNode || node.Tag != "!!str":
		r.problem(node, name, "is %s; allowed is a text", kindOf(node))
		return ""
	case allowed == nil && node.Value == "":
		r.problem(node, name, "is empty")
	case allowed != nil && !slices.Contains(allowed, node.Value):
		r.problem(node, name, "%q is not known; allowed are %s", node.Value, strings.Join(allowed, ", "))
	}
	return node.Value
}

func (r *ruleReader) number(name string, node *yaml.Node, least int) int {
	var n int
	if node.Kind != yaml.ScalarNode || node.Tag != "!!int" || node.Decode(&n) != nil {
		r.problem(node, name, "%q is no integer; allowed is an integer from %d to %d", node.Value, least, maxRuleParameter)
		return 0
	}
	if n < least || n > maxRuleParameter {
		r.problem(node, name, "%d is out of range; allowed is an integer from %d to %d", n, least, maxRuleParameter)
	}
	return n
}
