package graph

import (
	"strings"
	"testing"
)

func TestSpellingsOfOneName(t *testing.T) {
	for key, spellings := range map[string][]string{
		"new york":      {"New York", "New  York", "New\nYork", "NEW YORK", "Ｎｅｗ　Ｙｏｒｋ", "New\u00a0York", " “New York” ", "New York's", "New York’s", "Ne\u00adw York", "New\u200b York", "NEW YORK'S"},
		"zürich":        {"Zürich", "Zu\u0308rich", "ZÜRICH", "«Zürich»"},
		"o'brien":       {"O'Brien", "O’Brien", "O´Brien", "O`Brien", "O＇Brien", "Oʼbrien"},
		"rock 'n' roll": {"Rock 'n' Roll", "rock ‘n’ roll", "Rock ’n’ Roll's"},
		"james":         {"James", "James'", "James’ ", "James's"},
		"levi":          {"Levi's", "Levi"},
		"jean-luc":      {"Jean-Luc", "Jean\u2010Luc", "Jean‑Luc", "Jean–Luc"},
		"strasse":       {"Straße", "STRASSE", "strasse"},
		"c++":           {"C++", "c++"},
		".net":          {".NET"},
		"ﷺ":             nil,
		"می خواهم":      {"می خواهم"},
		"3.1":           {"3.1", "３.１"},
		"at&t":          {"AT&T", "“AT&T”"},
		"é":             {"e\u200d\u0301", "É", "E\u0301"},
		"ofﬁce":         nil,
		"office":        {"ofﬁce", "Office"},
	} {
		for _, spelling := range spellings {
			if got := NameKey(spelling); got != key {
				t.Errorf("NameKey(%q) = %q, want %q", spelling, got, key)
			}
		}
	}
}

func TestNamesThatStayApart(t *testing.T) {
	for _, pair := range [][2]string{
		{"Section 3.1", "Section 3.2"}, {"Müller", "Muller"}, {"new_york", "New York"}, {"CVE-2023-1234", "CVE-2023-1243"},
		{"Acme Inc.", "Acme Inc"}, {"C", "C++"}, {"resume", "résumé"}, {"X-Ray", "X Ray"}, {"Ⅳ", "5"},
	} {
		if NewEntityID(pair[0], "Thing") == NewEntityID(pair[1], "Thing") {
			t.Errorf("%q and %q share an id", pair[0], pair[1])
		}
	}
}

func TestNamesWithoutLetterOrDigitAreUnusable(t *testing.T) {
	for _, name := range []string{"", " ", "---", "'s", "’", "***", "\u200b", "\x00", "…", "“”", "\u00ad", "\ufffd", "|", "→"} {
		if key, id := NameKey(name), NewEntityID(name, "Thing"); key != "" || id != "" {
			t.Errorf("%q has key %q and id %q", name, key, id)
		}
	}
}

func TestDisplayNameKeepsWhatIsSeen(t *testing.T) {
	for name, want := range map[string]string{
		"  Jane\n Roe’s ":      "Jane Roe",
		"“O’Brien”":            "O’Brien",
		"Zu\u0308rich":         "Zürich",
		"Ne\u00adw Yo\u200brk": "New York",
		"می‌خواهم":             "می‌خواهم",
		"'rock 'n' roll'":      "rock 'n' roll",
		"ＡＣＭＥ":                 "ＡＣＭＥ",
		"ACME'S":               "ACME",
	} {
		if got := DisplayName(name); got != want {
			t.Errorf("DisplayName(%q) = %q, want %q", name, got, want)
		}
	}
}

func TestEntityIDsAreDistinctAndBounded(t *testing.T) {
	long := strings.Repeat("very long name ", 40)
	ids := map[EntityID]string{}
	for _, c := range [][2]string{
		{"New York", "City"}, {"new_york", "City"}, {"New York", "State"}, {"a b_c", "T"}, {"a_b c", "T"}, {"a b c", "T"},
		{long, "T"}, {long + "x", "T"}, {long, "U"}, {"a", "b__c"}, {"a__b", "c"}, {"Paris", "Work of Art"},
	} {
		id := NewEntityID(c[0], c[1])
		if len(id) > maxIDBytes || len(id) == 0 || strings.TrimSpace(string(id)) != string(id) {
			t.Errorf("%q has the id %q", c, id)
		}
		if other, ok := ids[id]; ok {
			t.Errorf("%q and %q share the id %q", c, other, id)
		}
		ids[id] = strings.Join(c[:], "/")
	}
	if got := NewEntityID("New  York’s", "City"); got != "new_york__city" {
		t.Errorf("id %q is not graphrag-sdk's", got)
	}
}

func TestNameDifferenceNamesWhatDiffers(t *testing.T) {
	for _, c := range [][3]string{
		{"Acme", "ACME", "case"}, {"O’Brien", "O'Brien", "quotes or hyphens"}, {"Zürich", "Zu\u0308rich", "Unicode form"},
		{"ACME", "ＡＣＭＥ", "width or compatibility form"}, {"New York", "New  York", "spacing"},
		{"NEW YORK", "New  York", "case and spacing"}, {"Acme", "Acme's", "surrounding quotes or possessive"}, {"a", "a", ""},
	} {
		if got := NameDifference(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q differ in %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func FuzzNameKey(f *testing.F) {
	for _, seed := range []string{"New York’s", "x's's", "“a”'s", "e\u200d\u0301", "O´Brien", "İ", "ﬃ", "\u0345\u0301", "a\xff", "″s", "ǰ\u0323", "0\u036e\x16\u0619", "\t›s"} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, name string) {
		key := NameKey(name)
		if again := NameKey(key); again != key {
			t.Errorf("NameKey(%q) = %q, and of that %q", name, key, again)
		}
		shown := DisplayName(name)
		if again := DisplayName(shown); again != shown {
			t.Errorf("DisplayName(%q) = %q, and of that %q", name, shown, again)
		}
		if of := NameKey(shown); of != key {
			t.Errorf("%q is shown as %q with the key %q, not %q", name, shown, of, key)
		}
		if id := NewEntityID(name, "Type"); len(id) > maxIDBytes || (id == "") != (key == "") {
			t.Errorf("%q has the id %q", name, id)
		}
	})
}

func BenchmarkNameKey(b *testing.B) {
	for b.Loop() {
		NameKey("Jean-Luc Picard's")
		NameKey("Zürich’s")
	}
}
