package llm

import (
	"strings"
	"testing"
)

// The counts are of o200k_base, the vocabulary of OpenAI's models since 2024, by
// js-tiktoken 1.0.
func TestTokensAreEstimatedWithinAQuarter(t *testing.T) {
	for _, test := range []struct {
		tokens int
		text   string
	}{
		{45, `The Debian Project was founded by Ian Murdock in August 1993. It is a volunteer organisation whose members maintain more than 60,000 packages, and its releases are named after characters from the Toy Story films.`},
		{36, `أعلنت الحكومة يوم الأربعاء تمديد برنامج دعم الشركات الصغيرة والمتوسطة، وقال وزير الاقتصاد إن الشركات ستتمكن من الحصول على قروض ميسرة لمدة تصل إلى خمس سنوات.`},
		{61, `Die Bundesregierung hat am Mittwoch beschlossen, die Förderung von Wärmepumpen zu verlängern. Nach Angaben des Ministeriums sollen Haushalte mit geringem Einkommen künftig höhere Zuschüsse erhalten. Die Verbraucherzentralen begrüßten den Entschluss, kritisierten jedoch die langen Bearbeitungszeiten der Behörden.`},
		{31, `Η κυβέρνηση ανακοίνωσε την Τετάρτη την παράταση του προγράμματος στήριξης των μικρομεσαίων επιχειρήσεων.`},
		{12, `Great work 🎉🎉 see you 😀 → tomorrow ✓`},
		{47, `L'Assemblée nationale a adopté mardi soir le projet de loi de finances, après plusieurs semaines de débats houleux. Le gouvernement espère réduire le déficit à moins de cinq pour cent du produit intérieur brut d'ici l'année prochaine.`},
		{42, `सरकार ने बुधवार को छोटे और मध्यम उद्योगों के लिए सहायता कार्यक्रम बढ़ाने की घोषणा की। वित्त मंत्री के अनुसार कंपनियों को पाँच वर्ष तक के लिए सस्ते ऋण मिल सकेंगे।`},
		{51, `政府は水曜日、中小企業への支援策を延長することを決定した。経済産業大臣によると、企業は最長五年間の低利融資を受けることができる。`},
		{62, `{"entities":[{"name":"Ada Lovelace","type":"Person","quote":"Ada Lovelace was born in London"},{"name":"London","type":"Place","quote":"born in London"}],"relations":[{"from":"Ada Lovelace","to":"London","type":"BORN_IN"}]}`},
		{41, `정부는 수요일 중소기업 지원 프로그램을 연장하기로 결정했다. 산업부 장관에 따르면 기업은 최장 5년간 저금리 대출을 받을 수 있다.`},
		{76, `Q1 2024 revenue was $1,234,567.89, up 12.5% from $1,097,393.00; CVE-2024-12345, part no. A-5566-77; tel. +49 30 1234567; 2026-11-30T22:56:38Z`},
		{41, `Правительство объявило в среду о продлении программы поддержки малого бизнеса. По словам министра экономики, предприятия смогут получить льготные кредиты сроком до пяти лет под три процента годовых.`},
		{57, `{"type":"object","properties":{"name":{"type":"string"},"size":{"type":"integer"},"items":{"type":"array","items":{"type":"string","enum":["Person","Organization","Location"]}}},"required":["name","size","items"],"additionalProperties":false}`},
		{27, `รัฐบาลประกาศเมื่อวันพุธว่าจะขยายโครงการสนับสนุนธุรกิจขนาดเล็กและขนาดกลาง`},
		{40, `国务院总理周三主持召开常务会议,决定进一步支持中小企业发展。会议指出,要完善税收优惠政策,加大金融支持力度,帮助企业降低成本。`},
	} {
		got := EstimateTokens(test.text)
		if ratio := float64(got) / float64(test.tokens); ratio < 0.75 || ratio > 1.3 {
			t.Errorf("%d tokens, estimated %d: %.60s", test.tokens, got, test.text)
		}
	}
}

func TestEstimatesGrowWithTheirText(t *testing.T) {
	for _, text := range []string{"word ", "Wörter ", "文字", "12345 ", "\n", "🙂", "{\"a\": ", "\xff"} {
		one, hundred := EstimateTokens(strings.Repeat(text, 10)), EstimateTokens(strings.Repeat(text, 1000))
		if one < 1 || hundred < 50*one || hundred > 150*one {
			t.Errorf("%q: ten are %d, a thousand %d", text, one, hundred)
		}
	}
	if EstimateTokens("") != 0 {
		t.Error("nothing is something")
	}
}
