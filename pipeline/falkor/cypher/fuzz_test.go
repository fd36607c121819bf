package cypher_test

import (
	"context"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"graphmill/pipeline/engine/enginetest"
	"graphmill/pipeline/falkor/conn"
	"graphmill/pipeline/falkor/cypher"
)

// writer connects to an engine of the test's own.
func writer(t testing.TB) *conn.Client {
	t.Helper()
	f := enginetest.Start(t)
	client, err := conn.Open(conn.Options{Socket: f.Address, Username: f.Writer.User, Password: f.Writer.Secret})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { client.Close() })
	if err := client.Redis().Do(t.Context(), "GRAPH.QUERY", "g", "CREATE (:A)").Err(); err != nil {
		t.Fatal(err)
	}
	return client
}

// hostile are strings that broke some renderer or other.
var hostile = []string{
	"", " ", "a", `"`, `\`, `\"`, `\\"`, "'", "`", "\n\r\t", "\x00", "\x01\x1b\x7f", "\u00a0\u00ad\u200b\u200d\u2028\ufeff", "\xff\xfe", "é e\u0301",
	"𝛼👩‍👩‍👧", `\u0041\n`, "$x", "${x}", "//", "/* */", "}) DETACH DELETE n //", `" RETURN 1 //`, "CYPHER a=1", "[1,2]", "{a:1}", "null", "1.0", "\\x41", "\\",
	"a,b", "NaN", "-nan", strings.Repeat("\\\"", 500),
}

func FuzzStringsComeBack(f *testing.F) {
	for _, s := range hostile {
		f.Add(s, "k", int64(1), 0.5)
	}
	client := writer(f)
	f.Fuzz(func(t *testing.T, s, key string, n int64, x float64) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		sent := cypher.Params{"s": s, "list": []string{s, "", s}, "n": n}
		if _, err := cypher.Label(key); err == nil {
			sent["m"] = map[string]any{key: []any{s, nil, true}, "end": n}
		}
		rows, err := client.Read(ctx, "g", cypher.New(`RETURN $s AS s, $list AS list, $n AS n`, cypher.Params{"s": s, "list": []string{s, "", s}, "n": n}), 0)
		if err != nil {
			t.Fatalf("%q: %v", s, err)
		}
		want := cypher.Clean(s)
		if rows.String(0, "s") != want || !reflect.DeepEqual(rows.Strings(0, "list"), []string{want, "", want}) || rows.Value(0, "n") != n {
			t.Fatalf("sent %q, %d, got %v", s, n, rows.Row(0))
		}
		if m, ok := sent["m"]; ok {
			rows, err := client.Read(ctx, "g", cypher.New(`RETURN $m AS m`, cypher.Params{"m": m}), 0)
			if err != nil {
				t.Fatalf("key %q: %v", key, err)
			}
			wantMap := map[string]any{"end": n}
			if key != "end" {
				wantMap[key] = []any{want, nil, true}
			}
			if got := rows.Value(0, "m"); !reflect.DeepEqual(got, wantMap) && key != "end" {
				t.Fatalf("sent %v, got %v", wantMap, got)
			}
		}
		if x == x && x-x == 0 {
			rows, err := client.Read(ctx, "g", cypher.New(`RETURN $x = $x AS same, $x AS x`, cypher.Params{"x": x}), 0)
			if err != nil || !rows.Bool(0, "same") {
				t.Fatalf("float %v: %v", x, err)
			}
			if got, ok := rows.Value(0, "x").(float64); !ok || got-x > 1e-14*abs(x) || x-got > 1e-14*abs(x) && abs(x) > 1e-300 {
				t.Fatalf("sent %v, got %v", x, rows.Value(0, "x"))
			}
		}
	})
}

func abs(x float64) float64 {
	if x < 0 {
		return -x
	}
	return x
}

func FuzzLabelsAreTheWholeName(f *testing.F) {
	for _, s := range hostile {
		f.Add(s)
	}
	f.Add("A {x: 1}) CREATE (:B")
	f.Add("Odd Type-with:colon|pipe")
	client := writer(f)
	f.Fuzz(func(t *testing.T, name string) {
		ctx, cancel := context.WithTimeout(t.Context(), 20*time.Second)
		defer cancel()
		text, err := cypher.New(`CREATE (n:«label» {«property»: $v}) WITH n, labels(n) AS labels, keys(n) AS keys DELETE n RETURN labels, keys`,
			cypher.Params{"v": 1}).WithLabel("label", name).WithLabel("property", name).Render()
		if err != nil {
			if utf8.ValidString(name) && name != "" && len(name) < 255 && !strings.ContainsAny(name, "`") && strings.IndexFunc(name, func(r rune) bool { return r < 0xa0 && (r < 0x20 || r >= 0x7f) }) < 0 {
				t.Fatalf("%q is refused: %v", name, err)
			}
			return
		}
		reply, err := client.Redis().Do(ctx, "GRAPH.QUERY", "g", text, "--compact").Result()
		if err != nil {
			t.Fatalf("%q: %v", name, err)
		}
		rows, err := conn.Decode(reply)
		if err != nil || !reflect.DeepEqual(rows.Strings(0, "labels"), []string{name}) || !reflect.DeepEqual(rows.Strings(0, "keys"), []string{name}) {
			t.Fatalf("%q became %v, %v", name, rows.Row(0), err)
		}
	})
}

func BenchmarkRenderRowsWithVectors(b *testing.B) {
	vector := make([]float32, 384)
	for i := range vector {
		vector[i] = float32(i) / 391
	}
	rows := make([]cypher.Record, 20000)
	for i := range rows {
		rows[i] = cypher.Record{{Name: "id", Value: "some id"}, {Name: "text", Value: strings.Repeat("word ", 40)}, {Name: "v", Value: vector}}
	}
	statement := cypher.New(`UNWIND $rows AS row CREATE (:A)`, cypher.Params{"rows": rows})
	var buffer []byte
	for b.Loop() {
		var err error
		if buffer, err = statement.Append(buffer[:0]); err != nil {
			b.Fatal(err)
		}
	}
	b.SetBytes(int64(len(buffer)))
}
