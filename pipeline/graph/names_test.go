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
		"山田太郎":          {"山田太郎", "山田 太郎", "山田　太郎", "山田\n太郎", "山\n田太 郎"},
		"ジョンレノン":        {"ジョンレノン", "ジョン レノン", "ｼﾞｮﾝ ﾚﾉﾝ", "ジョ\nンレノン"},
		"sony 株式会社":     {"Sony 株式会社", "Ｓｏｎｙ　株式会社", "Sony\n株式 会社"},
		"김 구":           {"김 구", "김\n구"},
		"babbage":       {"Bab-\nbage", "Bab\u00ad\nbage", "Bab\u2010 \n  bage"},
		"jean-luc hill": {"Jean-\nLuc Hill", "Jean-Luc\nHill", "Jean\u2010\nLuc  Hill"},
		"cve-2023-1234": {"CVE-\n2023-\n1234"},
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
		{"김구", "김 구"}, {"Sony株式会社", "Sony 株式会社"}, {"Bab-bage", "Babbage"}, {"A -\nB", "A-B"},
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
		"Ada Love-\nlace":      "Ada Lovelace",
		"Jean-\nLuc":           "Jean-Luc",
		"北京大\n学":               "北京大学",
		"山田　太郎":                "山田 太郎",
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

func TestANameInCapitalsIsShownOnlyWhereThereIsNoOther(t *testing.T) {
	for _, names := range [][]string{
		{"Ada Lovelace", "ADA LOVELACE", "ada lovelace"}, {"NASA", "Nasa"}, {"O'Brien Ltd", "O’Brien Ltd"}, {"United Nations", "UNITED NATIONS"},
		{"Straße Nord", "STRASSE NORD"},
	} {
		for _, other := range names[1:] {
			if !Shows(names[0], other) || Shows(other, names[0]) {
				t.Errorf("of %q and %q the first is not shown", names[0], other)
			}
		}
	}
}

func TestNameDifferenceNamesWhatDiffers(t *testing.T) {
	for _, c := range [][3]string{
		{"Acme", "ACME", "case"}, {"O’Brien", "O'Brien", "quotes or hyphens"}, {"Zürich", "Zu\u0308rich", "Unicode form"},
		{"ACME", "ＡＣＭＥ", "width or compatibility form"}, {"New York", "New  York", "spacing"},
		{"NEW YORK", "New  York", "case and spacing"}, {"Acme", "Acme's", "surrounding quotes or possessive"}, {"山田太郎", "山田 太郎", "spacing"},
		{"Lovelace", "Love-\nlace", "line ends"}, {"a", "a", ""},
	} {
		if got := NameDifference(c[0], c[1]); got != c[2] {
			t.Errorf("%q and %q differ in %q, want %q", c[0], c[1], got, c[2])
		}
	}
}

func FuzzNameKey(f *testing.F) {
	for _, seed := range []string{"New York’s", "x's's", "“a”'s", "e\u200d\u0301", "O´Brien", "İ", "ﬃ", "\u0345\u0301", "a\xff", "″s", "ǰ\u0323", "0\u036e\x16\u0619", "\t›s", "a-\nb", "山\n 田", "ｼﾞ\nﾚ", "x\u00ad\n\u200bY", "-\n-\na", "`\x10ˢ", "’ſ", "`s`````\u200d", "\ufe0f‹s 'ˢ", "’\n\ufe0f\n'ｓ＇ſ"} {
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
