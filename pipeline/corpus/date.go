package corpus

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"
	"time"
)

var (
	isoDate     = regexp.MustCompile(`^(\d{4})(?:[-/.](\d{1,2})(?:[-/.](\d{1,2}))?)?(?:[T ,;].*|Z)?$`)
	compactDate = regexp.MustCompile(`^(?:D:)?(\d{4})(\d{2})(\d{2})(?:\D.*|\d{4,6}.*)?$`)
	dottedDate  = regexp.MustCompile(`^(\d{1,2})[./-](\d{1,2})[./-](\d{4})(?:\D.*)?$`)
	dayFirst    = regexp.MustCompile(`^(?:[a-z]+,? )?(\d{1,2})(?:st|nd|rd|th|\.)?[ -]([a-z]{3,9})\.?,?[ -](\d{4})\b`)
	monthFirst  = regexp.MustCompile(`^(?:[a-z]+, )?([a-z]{3,9})\.? (\d{1,2})(?:st|nd|rd|th)?,? (\d{4})\b`)
	asctimeDate = regexp.MustCompile(`^[a-z]{3} ([a-z]{3}) +(\d{1,2}) [\d:]{5,8} (?:[a-z]{3,4} )?(\d{4})$`)
	monthYear   = regexp.MustCompile(`^([a-z]{3,9})\.?,? (\d{4})$`)
	rcsDate     = regexp.MustCompile(`^\$(?:[Dd]ate|LastChangedDate): ([^$]+?) *\$$`)
)

// NormalDate brings a date as documents state it into ISO 8601, as exact as it
// is stated: "2024", "2024-05" or "2024-05-01". It returns "" for what is no
// date, and for one whose day and month cannot be told apart. A time is
// dropped, not converted between zones.
func NormalDate(stated string) string {
	s := strings.Join(strings.Fields(stated), " ")
	if len(s) > 80 {
		return ""
	}
	if m := rcsDate.FindStringSubmatch(s); m != nil {
		s = m[1]
	}
	if m := isoDate.FindStringSubmatch(s); m != nil {
		return dateOf(m[1], m[2], m[3])
	}
	if m := compactDate.FindStringSubmatch(s); m != nil {
		return dateOf(m[1], m[2], m[3])
	}
	if m := dottedDate.FindStringSubmatch(s); m != nil {
		return numericDate(s, m[1], m[2], m[3])
	}
	s = strings.ToLower(s)
	if m := dayFirst.FindStringSubmatch(s); m != nil {
		return dateOf(m[3], monthNumber(m[2]), m[1])
	}
	for _, pattern := range []*regexp.Regexp{asctimeDate, monthFirst} {
		if m := pattern.FindStringSubmatch(s); m != nil {
			return dateOf(m[3], monthNumber(m[1]), m[2])
		}
	}
	if m := monthYear.FindStringSubmatch(s); m != nil {
		if month := monthNumber(m[1]); month != "" {
			return dateOf(m[2], month, "")
		}
	}
	return ""
}

// numericDate tells day and month apart: by a dot, which puts the day first, or
// by a number that can only be a day.
func numericDate(s, first, second, year string) string {
	a, _ := strconv.Atoi(first)
	b, _ := strconv.Atoi(second)
	switch {
	case strings.Contains(s[:len(first)+1], ".") || a > 12 || a == b:
		return dateOf(year, second, first)
	case b > 12:
		return dateOf(year, first, second)
	}
	return ""
}

func dateOf(year, month, day string) string {
	y, _ := strconv.Atoi(year)
	if y < 1000 {
		return ""
	}
	if month == "" {
		if day != "" {
			return ""
		}
		return year
	}
	m, err := strconv.Atoi(month)
	if err != nil || m < 1 || m > 12 {
		return ""
	}
	if day == "" {
		return fmt.Sprintf("%s-%02d", year, m)
	}
	d, _ := strconv.Atoi(day)
	if date := time.Date(y, time.Month(m), d, 0, 0, 0, 0, time.UTC); date.Day() != d || d == 0 {
		return ""
	}
	return fmt.Sprintf("%s-%02d-%02d", year, m, d)
}

// monthNumber reads an English month name, whole or cut to three letters or
// four.
func monthNumber(name string) string {
	if len(name) < 3 {
		return ""
	}
	for month := time.January; month <= time.December; month++ {
		if full := strings.ToLower(month.String()); full == name || len(name) <= 4 && strings.HasPrefix(full, name) {
			return strconv.Itoa(int(month))
		}
	}
	return ""
}
