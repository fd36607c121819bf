package evidence

import (
	"regexp"
	"strings"
)

// Sentences that say what the evidence lacks need no citation: there is nothing
// that they could cite. The rules are English. What counts is that the evidence
// is spoken of, or a search that failed; that something in the world is not so
// is a claim like any other.
const (
	// lead is where a clause begins, so that nothing before the source makes it a
	// part of the world ("the trial evidence").
	lead = `(?i)(?:^\W*|[,:;(]\s*|\b(?:that|and|because|since|as|so|while|also|here|but|however)\s+)`
	// source is what was searched.
	source = `(?:(?:the|this|that|these|those|my|our|any|all|available|provided|retrieved|returned|cited|given|indexed|ingested|current|existing|supplied|underlying|source|search|tool|query|retrieval|knowledge|of|tools?)\s+)*` +
		`(?:knowledge\s+graph|knowledge\s+base|graph(?:\s+data)?|ontology|evidence|sources?|documents?|corpus|passages?|excerpts?|context|search(?:es)?|retrieval|(?:search|tool|query|retrieved|retrieval)\s+results?|tools?|available\s+information|provided\s+information)`
	says = `(?:say|mention|state|contain|include|show|tell|specify|provide|describe|list|name|give|cover|indicate|hold|have|support|return|reveal|record|` +
		`identify|report|answer|confirm|establish|address|disclose|know|explain|discuss|offer|document|make\s+clear|make\s+(?:any\s+)?mention)`
	said = `(?:said|mentioned|stated|contained|included|shown|told|specified|provided|described|listed|named|given|covered|indicated|supported|returned|` +
		`revealed|recorded|identified|reported|answered|confirmed|established|addressed|disclosed|known|explained|discussed|documented|found|available|present|clear)`
	findings = `(?:mentions?|information|evidence|records?|passages?|references?|data|details?|answers?|results?|entry|entries|facts?|match(?:es)?)`
	adverb   = `(?:\s+(?:also|explicitly|directly|clearly|specifically|itself|themselves|currently|actually|even|yet|anywhere|fully|further))*`
	not      = `(?:\s+(?:does|do|did|has|have|had|is|are|was|were|can|could|will|would)(?:\s+not|n['’]t)|\s+cannot|\s+never|\s+fails?\s+to|\s+failed\s+to)`
)

var lacking = []*regexp.Regexp{
	// The graph does not say …; the documents contain no …; the search returned nothing.
	regexp.MustCompile(lead + source + not + adverb + `\s+` + says + `\b`),
	regexp.MustCompile(lead + source + `\s+(?:` + says + `s?|has|had|returned|contained|gave|found|said|showed|held)` + adverb + `\s+(?:no|nothing|none|neither)\b`),
	regexp.MustCompile(lead + source + `\s+(?:is|are|was|were)\s+(?:silent|empty|unclear|insufficient)\b`),
	regexp.MustCompile(lead + source + `\s+lacks?\b`),
	// None of the passages mentions …; no document says …; nothing in the graph …
	regexp.MustCompile(lead + `(?:none|neither|nothing|nowhere|no\s+one)\s+(?:of|in|from|among)\s+` + source + `\b`),
	regexp.MustCompile(lead + `no\s+` + source + `\s+(?:` + says + `s?|` + said + `|` + adverb + `\s*(?:is|are|was|were)\s+(?:found|returned|available|there))\b`),
	// There is no mention of …; no information about … was found.
	regexp.MustCompile(`(?i)^\W*(?:there\s+(?:is|are|was|were)\s+)?no\s+(?:\w+\s+){0,2}` + findings + `\s+(?:of|about|on|for|regarding|that|to)\b`),
	regexp.MustCompile(`(?i)\bno\s+(?:\w+\s+){0,2}` + findings + `\b[^.;]{0,200}\b(?:in|by|from)\s+` + source + `\b`),
	regexp.MustCompile(`(?i)\b(?:nothing|none|no\s+(?:\w+\s+){0,2}` + findings + `[^.;]{0,200})\s+(?:was|were|is|are|has\s+been|could\s+be)\s+(?:found|returned|retrieved|available)` +
		`(?:\W*$|\s+(?:about|on|for|regarding)\b)`),
	// … is not stated in the graph.
	regexp.MustCompile(`(?i)\b(?:is|are|was|were|be|been)(?:\s+not|n['’]t|\s+never|\s+nowhere)` + adverb + `\s+(?:` + said + adverb + `\s+)?(?:in|by|from|anywhere\s+in|within)\s+` + source + `\b`),
	// I could not find …
	regexp.MustCompile(`(?i)\b(?:i|we)(?:\s+(?:could|can|did|was|were|am|are|have|do)(?:\s+not|n['’]t)|\s+cannot|\s+(?:was|were|am|are)\s+unable\s+to|\s+failed\s+to)` + adverb +
		`\s+(?:able\s+to\s+)?(?:find|found|determine|locate|verify|confirm|answer|say|tell|establish|identify|retrieve|see|have|know)\b`),
	regexp.MustCompile(`(?i)\b(?:i|we)\s+(?:found|have|see)\s+(?:no|nothing)\b`),
}

// contrast divides a sentence where it turns from what is lacking to what is so.
var contrast = regexp.MustCompile(`(?i);\s|,?\s(?:but|however|although|though|whereas|yet)\s|,\swhile\s|—|\s–\s`)

// maxLackBytes bounds what the rules read: a sentence that is longer says more
// than that something is missing.
const maxLackBytes = 1000

// withoutLacking takes out of a sentence the parts that say what the evidence
// lacks; what is left is to be cited like any other.
func withoutLacking(sentence string) string {
	if len(sentence) > maxLackBytes || !mayLack(sentence) {
		return sentence
	}
	var left []string
	at := 0
	keep := func(part string) {
		if !saysLacking(part) {
			left = append(left, part)
		}
	}
	for _, cut := range contrast.FindAllStringIndex(sentence, -1) {
		keep(sentence[at:cut[0]])
		at = cut[1]
	}
	keep(sentence[at:])
	return strings.Join(left, " ; ")
}

// mayLack spares most sentences the rules.
func mayLack(sentence string) bool {
	lower := strings.ToLower(sentence)
	for _, word := range []string{"no", "n't", "n’t", "lack", "fail", "unable", "silent", "empty", "unclear", "insufficient", "never", "neither"} {
		if strings.Contains(lower, word) {
			return true
		}
	}
	return false
}

func saysLacking(part string) bool {
	for _, rule := range lacking {
		if rule.MatchString(part) {
			return true
		}
	}
	return false
}
