package main

import (
	"graphmill/configs"
	"graphmill/pipeline"
)

// mirror is how the configuration has a run follow its folder; nil when it has
// documents whose files are gone reported only. reextract removes nothing.
func (a *app) mirror(o ingestOptions) *pipeline.Mirror {
	if o.verb != "run" || !a.Config.Mirror.Enabled {
		return nil
	}
	number, percent, err := configs.ParseShare(a.Config.Mirror.MaxDelete)
	if err != nil {
		number, percent = 0, -1 // the configuration was checked; none is the safe reading
	}
	return &pipeline.Mirror{MaxDelete: number, MaxPercent: percent}
}
