package prose

import "strings"

// abbreviation says when a full stop after a word is no end of a sentence.
type abbreviation uint8

const (
	notAbbreviated abbreviation = iota
	// title: a capitalised form of address; the name follows (Ms. Smith, but "5 ms.").
	title
	// always: what follows belongs to it (e.g. this, cf. that).
	always
	// beforeNumber: an abbreviation only when a number follows (No. 5, p. 12).
	beforeNumber
	// unlessStarter: may end a sentence, and does when the next word is one that
	// sentences start with (Acme Inc. The …, in the U.S. Congress).
	unlessStarter
	// unlessCapital: usually last; ends the sentence before a capital (etc.).
	unlessCapital
	// afterNumber: ends a sentence only after a number ("в 1999 г. Он"); else
	// what follows belongs to it ("г. Москва").
	afterNumber
)

var abbreviations = abbreviationTable(abbreviationClasses)

// abbreviationClasses list abbreviations in lower case and without the last full
// stop; each is in one class only.
var abbreviationClasses = []abbreviationClass{
	{title, `dr mr mrs ms messrs prof rev hon gen sen rep gov capt cpt cmdr col lt sgt cpl maj adm pres supt mt
		mme mlle hr fr frl dipl sr sra srta dra ud uds sig dott`},
	{always, `e.g eg i.e ie viz cf vs c.f resp approx ca
		z.b d.h u.a.m i.d.r s.o s.u v.a o.ä u.ä bzw evtl ggf inkl exkl vgl sog bzgl zzgl abb hrsg tel
		p.ex c.-à-d c.à.d pág págs p.ej
		т.е т.к т.н т.ч см ср напр им ул пл просп акад проф рис табл стр д-р г-н г-жа тов гр`},
	{beforeNumber, `no nos nr nrs p pp pg vol vols ch chap sec sect art arts para paras ver v c n op abs kap ziff bd
		s l ll app tab pt pts núm п ст гл № с т`},
	{unlessStarter, `inc ltd corp co llc plc bros jr esq st ave blvd rd sq fig figs eq eqs ref refs dept univ assn ft
		u.s u.s.a u.k u.n e.u d.c a.m p.m ph.d m.d b.a m.a b.c a.d b.sc m.sc ee.uu s.a s.p.a
		jan feb apr jun jul aug sep sept oct nov dec mon tue tues wed thu thur thurs fri
		okt dez mär febr janv févr avr juil déc
		avg ed eds intl natl govt u.a ff al jh mio mrd hbf руб коп тыс млн млрд`},
	{unlessCapital, `etc usw u.s.w u.v.m ecc т.д т.п др пр`},
	{afterNumber, `г гг в вв н.э`},
}

type abbreviationClass struct {
	class abbreviation
	words string
}

func abbreviationTable(classes []abbreviationClass) map[string]abbreviation {
	table := map[string]abbreviation{}
	for _, class := range classes {
		for word := range strings.FieldsSeq(class.words) {
			table[word] = class.class
		}
	}
	return table
}

// starters are words that begin sentences and hardly ever a name.
var starters = wordSet(`The This That These Those It Its He She They We You I A An In On At As After Before When While If But And
	However There Then For From With By To Our His Her Their My Although Because Since Such Some Many Most Each What Who How Why Where
	Here Not One Two Three Under During Both Another Also Meanwhile Moreover Only Other Several All
	Der Die Das Dem Den Ein Eine Einen Es Er Sie Wir Ich Im Am Auf Mit Für Nach Bei Beim Dies Diese Dieser Dieses Auch Aber Und Wenn Als Nur
	Seit Dabei Damit Doch
	Le Les Un Une Il Elle Ils Elles Nous Vous Ce Cette Ces En Dans Pour Mais Et
	Una Los Las Para Pero Este Esta Esto
	Он Она Оно Они Это Эта Этот В На И Но С К Мы Я Вы По Для При Как Так Если После Его Её Их Все Из`)

// ordinalLeads are German words after which a number with a full stop is an
// ordinal; ordinalTails are words before which it is.
var (
	ordinalLeads = wordSet(`der die das dem den des am im vom zum zur beim ab bis seit Der Die Das Am Im Vom Zum Zur Beim Ab Bis Seit und`)
	ordinalTails = wordSet(`Januar Jänner Februar März April Mai Juni Juli August September Oktober November Dezember
		Jahrhundert Jahrhunderts Jh Jahrtausend Auflage Kapitel Klasse Platz Tag Mal Stock`)
)

// captions are the words that the titles of tables and the like begin with.
var captions = wordSet(`Table Figure Fig Example Listing Chapter Section Appendix Part Equation Box Note Step
	Tabelle Abbildung Beispiel Kapitel Abschnitt Anhang Tableau Figure Exemple Chapitre Annexe
	Tabla Figura Ejemplo Capítulo Таблица Рисунок Пример Глава Раздел`)

func wordSet(words string) map[string]bool {
	set := map[string]bool{}
	for word := range strings.FieldsSeq(words) {
		set[word] = true
	}
	return set
}
