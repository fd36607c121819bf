package configs

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// parseText reads a value as the environment and flags write it. The error
// says what is wrong, not what is allowed.
func (k *Key) parseText(text string) (any, error) {
	if k.Kind != KindText && k.Kind != KindPath && k.Kind != KindSecret {
		text = strings.TrimSpace(text)
	}
	switch k.Kind {
	case KindInt:
		n, err := strconv.Atoi(text)
		if err != nil {
			return nil, fmt.Errorf("is no integer")
		}
		return n, nil
	case KindNumber:
		f, err := strconv.ParseFloat(text, 64)
		if err != nil {
			return nil, fmt.Errorf("is no number")
		}
		return f, nil
	case KindBool:
		return parseBool(text)
	case KindDuration:
		return parseDuration(text)
	case KindSize:
		return parseSize(text)
	case KindList:
		return parseList(text)
	case KindSecret:
		return Secret(text), nil
	}
	return text, nil
}

func parseBool(text string) (bool, error) {
	switch strings.ToLower(text) {
	case "true", "1", "yes", "on":
		return true, nil
	case "false", "0", "no", "off":
		return false, nil
	}
	return false, fmt.Errorf("is neither true nor false")
}

func parseDuration(text string) (time.Duration, error) {
	d, err := time.ParseDuration(text)
	if err == nil {
		return d, nil
	}
	if _, err := strconv.ParseFloat(text, 64); err == nil {
		return 0, fmt.Errorf("has no unit")
	}
	return 0, fmt.Errorf("is no duration")
}

// sizeUnits are binary with an i and decimal without, as IEC 80000-13 has it.
var sizeUnits = map[string]float64{
	"": 1, "b": 1,
	"kb": 1e3, "mb": 1e6, "gb": 1e9, "tb": 1e12,
	"kib": kib, "mib": mib, "gib": gib, "tib": tib,
}

// parseSize reads "50MiB", "1.5 GiB" or a plain number of bytes.
func parseSize(text string) (int64, error) {
	digits := strings.TrimRight(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ ")
	unit, known := sizeUnits[strings.ToLower(strings.TrimSpace(text[len(digits):]))]
	number, err := strconv.ParseFloat(digits, 64)
	if !known || err != nil || math.IsNaN(number) {
		return 0, fmt.Errorf("is no size")
	}
	size := number * unit
	if size < 0 || size >= math.MaxInt64 {
		return 0, errOutOfRange
	}
	if size != math.Trunc(size) {
		return 0, fmt.Errorf("is no whole number of bytes")
	}
	return int64(size), nil
}

// ParseSize reads a size as settings have it, for flags that are no settings.
func ParseSize(text string) (int64, error) { return parseSize(text) }

// FormatSize writes bytes for people: "1.4 GiB".
func FormatSize(size int64) string {
	units := []string{"bytes", "KiB", "MiB", "GiB", "TiB"}
	value, unit := float64(size), 0
	for value >= 1024 && unit+1 < len(units) {
		value, unit = value/1024, unit+1
	}
	if unit == 0 {
		return fmt.Sprintf("%d bytes", size)
	}
	return fmt.Sprintf("%.1f %s", value, units[unit])
}

// formatSize writes bytes in the largest binary unit that is exact.
func formatSize(size int64) string {
	units := []struct {
		name  string
		bytes int64
	}{{"TiB", tib}, {"GiB", gib}, {"MiB", mib}, {"KiB", kib}}
	for _, unit := range units {
		if size >= unit.bytes && size%unit.bytes == 0 {
			return strconv.FormatInt(size/unit.bytes, 10) + unit.name
		}
	}
	return strconv.FormatInt(size, 10)
}

// parseList splits at commas outside of {} and [], which globs use:
// "*.{md,txt}, a/**". Text that is a YAML or JSON list is read as one, for
// elements with commas.
func parseList(text string) ([]string, error) {
	if strings.HasPrefix(text, `["`) || strings.HasPrefix(text, `['`) {
		return parseQuotedList(text)
	}
	items := []string{}
	depth, start := 0, 0
	for i, r := range text {
		switch r {
		case '{', '[':
			depth++
		case '}', ']':
			depth--
		case ',':
			if depth <= 0 {
				items = append(items, strings.TrimSpace(text[start:i]))
				start = i + 1
			}
		}
	}
	if last := strings.TrimSpace(text[start:]); last != "" || len(items) > 0 {
		items = append(items, last)
	}
	return items, nil
}
