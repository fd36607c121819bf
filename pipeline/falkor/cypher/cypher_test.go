package cypher_test

import (
	"math"
	"strings"
	"testing"

	"graphmill/pipeline/falkor/cypher"
)

func TestParametersRenderAsLiterals(t *testing.T) {
	type id string
	for name, c := range map[string]struct {
		value any
		want  string
	}{
		"null":              {nil, "null"},
		"boolean":           {true, "true"},
		"integer":           {-7, "-7"},
		"smallest integer":  {int64(math.MinInt64), "-9223372036854775808"},
		"unsigned":          {uint32(7), "7"},
		"whole float":       {1.0, "1.0"},
		"float":             {0.1, "0.1"},
		"large float":       {1e300, "1e+300"},
		"subnormal float":   {5e-324, "0.0"},
		"float32":           {float32(0.1), "0.1"},
		"string":            {"a\"b\\c\nd\re\tf'", `"a\"b\\c\nd\re\tf'"`},
		"NUL":               {"a\x00b", `"ab"`},
		"not UTF-8":         {"a\xffb", "\"a\uFFFDb\""},
		"named string":      {id("x"), `"x"`},
		"strings":           {[]string{"a", `"`}, `["a","\""]`},
		"no strings":        {[]string(nil), `[]`},
		"integers":          {[]int64{1, 2}, "[1,2]"},
		"vector":            {[]float32{1, 0.5}, "[1.0,0.5]"},
		"mixed":             {[]any{1, "a", nil, []any{true}}, `[1,"a",null,[true]]`},
		"map":               {map[string]any{"b": 1, "a b": "x"}, "{`a b`:\"x\",`b`:1}"},
		"record":            {cypher.Record{{Name: "z", Value: 1}, {Name: "a", Value: 2}}, "{`z`:1,`a`:2}"},
		"records":           {[]cypher.Record{{{Name: "z", Value: 1}}, {}}, "[{`z`:1},{}]"},
		"map of named type": {map[id]int{"k": 1}, "{`k`:1}"},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := cypher.New(`RETURN $x`, cypher.Params{"x": c.value}).Render()
			if want := "CYPHER x=" + c.want + " RETURN $x"; err != nil || got != want {
				t.Errorf("rendered %q, %v, want %q", got, err, want)
			}
		})
	}
}

func TestWhatCannotBeStoredIsAnError(t *testing.T) {
	deep := any("x")
	for range 40 {
		deep = []any{deep}
	}
	for name, params := range map[string]cypher.Params{
		"not a number":        {"x": math.NaN()},
		"infinity":            {"x": math.Inf(1)},
		"NaN in a vector":     {"x": []float32{float32(math.NaN())}},
		"integer too large":   {"x": uint64(math.MaxUint64)},
		"a channel":           {"x": make(chan int)},
		"a key with backtick": {"x": map[string]any{"a`b": 1}},
		"an empty key":        {"x": map[string]any{"": 1}},
		"a parameter's name":  {"x y": 1},
		"too deep":            {"x": deep},
	} {
		t.Run(name, func(t *testing.T) {
			if got, err := cypher.New(`RETURN 1`, params).Render(); err == nil {
				t.Errorf("rendered %q", got)
			}
		})
	}
}

func TestLabelsAreQuotedOrRefused(t *testing.T) {
	for _, name := range []string{"Person", "Odd Type", "a-b", "Größe", "人", "x'y\"z", "a\\b"} {
		if got, err := cypher.Label(name); err != nil || got != "`"+name+"`" {
			t.Errorf("Label(%q) = %q, %v", name, got, err)
		}
	}
	for _, name := range []string{"", "a`b", "a\nb", "a\x00b", "\xff", strings.Repeat("x", 256)} {
		if got, err := cypher.Label(name); err == nil {
			t.Errorf("Label(%q) = %q", name, got)
		}
	}
	if _, err := cypher.New(`MATCH (n:«label») RETURN n`, nil).WithLabel("label", "a`b").Render(); err == nil {
		t.Error("a statement with a label that cannot be quoted is rendered")
	}
	if _, err := cypher.New(`MATCH (n) RETURN n`, nil).WithLabel("label", "X").Render(); err == nil {
		t.Error("a label without a place is taken")
	}
}

func TestChainedStatementsKeepTheirParametersApart(t *testing.T) {
	got, err := cypher.Chain(
		cypher.New(`UNWIND $rows AS row CREATE (:A {x: row})`, cypher.Params{"rows": []int64{1}}),
		cypher.New(`UNWIND $rows AS row CREATE (:B {x: row, y: $y})`, cypher.Params{"rows": []int64{2}, "y": "$rows"}),
	).Render()
	want := `CYPHER s0_rows=[1] s1_rows=[2] s1_y="$rows" UNWIND $s0_rows AS row CREATE (:A {x: row})
WITH count(*) AS done
UNWIND $s1_rows AS row CREATE (:B {x: row, y: $s1_y})`
	if err != nil || got != want {
		t.Errorf("rendered %q, %v, want %q", got, err, want)
	}
}
