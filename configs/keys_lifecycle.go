package configs

import (
	"fmt"
	"strconv"
	"strings"
)

// lifecycleKeys are about how a graph follows its folder over many runs.
func lifecycleKeys() []Key {
	return []Key{
		{Name: "mirror.enabled", Kind: KindBool, Default: false, Flag: "mirror",
			Description: "Make the graph equal to the folder: documents whose files are gone are removed, those of moved files move along."},
		{Name: "mirror.max_delete", Kind: KindText, Default: "10%", Flag: "max-delete", check: checkShare, rule: ruleShare,
			Description: "Most documents of the folder that a mirroring run removes, a number or a share; when more are gone it writes nothing and fails, because a folder that is suddenly empty is more often not mounted than emptied."},
		{Name: "ledger.diff_bytes", Kind: KindSize, Default: int64(4 * mib), Max: gib,
			Description: "Most of the engine's memory for the record of what one run changed, which `ingestd diff` shows; what a larger run changed is counted and not listed."},
		{Name: "ledger.diff_runs", Kind: KindInt, Default: 20, Min: 0, Max: 1000,
			Description: "For how many of the latest runs such a record is kept."},
		{Name: "metrics.file", Kind: KindPath, Default: "", Flag: "metrics-file", DefaultNote: "none",
			Description: "File that a run leaves its figures in, for the textfile collector of Prometheus' node exporter; replaced at once."},
	}
}

const ruleShare = "a number of documents, or a share such as 10%"

func checkShare(v string) error {
	if _, _, err := ParseShare(v); err != nil {
		return fmt.Errorf("is no number and no share")
	}
	return nil
}

// ParseShare reads "25" as a number and "10%" as a percentage; the other of the
// two is then -1.
func ParseShare(v string) (number int, percent float64, err error) {
	if text, ok := strings.CutSuffix(v, "%"); ok {
		percent, err = strconv.ParseFloat(strings.TrimSpace(text), 64)
		if err == nil && !(percent >= 0 && percent <= 100) {
			err = strconv.ErrRange
		}
		return -1, percent, err
	}
	number, err = strconv.Atoi(v)
	if err == nil && number < 0 {
		err = strconv.ErrRange
	}
	return number, -1, err
}
