package commandline

import (
	"fmt"
	"io"
	"text/tabwriter"

	"graphmill/configs"
)

// Diagnosis is what doctor prints: the effective configuration, secrets masked,
// and what it looked at.
type Diagnosis struct {
	Version  string            `json:"version"`
	Settings []configs.Setting `json:"settings"`
	Checks   []Finding         `json:"checks"`
	Warnings []string          `json:"warnings,omitempty"`
}

// Finding is one thing that doctor looked at.
type Finding struct {
	Check  string `json:"check"`
	Result string `json:"result"` // "ok", "warning", "failed"
	Detail string `json:"detail"`
}

// Diagnose begins a diagnosis of the program's configuration.
func (p *Program) Diagnose() *Diagnosis {
	return &Diagnosis{Version: Version(), Settings: p.Config.Effective(), Warnings: p.Config.Warnings}
}

// Add notes what a check found: detail, or err when it failed.
func (d *Diagnosis) Add(check, detail string, err error) {
	f := Finding{Check: check, Result: "ok", Detail: detail}
	if err != nil {
		f.Result, f.Detail = "failed", err.Error()
	}
	d.Checks = append(d.Checks, f)
}

// Warn notes what works and should be looked at.
func (d *Diagnosis) Warn(check, format string, args ...any) {
	d.Checks = append(d.Checks, Finding{Check: check, Result: "warning", Detail: fmt.Sprintf(format, args...)})
}

// Failed reports whether a check failed.
func (d *Diagnosis) Failed() bool {
	for _, f := range d.Checks {
		if f.Result == "failed" {
			return true
		}
	}
	return false
}

// Show prints the diagnosis, and returns an error with exit code 1 when a check
// failed.
func (p *Program) Show(d *Diagnosis) error {
	if err := p.Print(d, func(w io.Writer) { d.print(w, p.Name) }); err != nil {
		return err
	}
	if d.Failed() {
		return &ExitError{Code: ExitFailed}
	}
	return nil
}

func (d *Diagnosis) print(w io.Writer, program string) {
	fmt.Fprintf(w, "%s %s\n\nConfiguration\n", program, d.Version)
	table := tabwriter.NewWriter(w, 0, 4, 2, ' ', 0)
	for _, s := range d.Settings {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", s.Key, Printable(s.Value), s.Origin)
	}
	table.Flush()
	fmt.Fprintln(w, "\nChecks")
	for _, f := range d.Checks {
		fmt.Fprintf(table, "  %s\t%s\t%s\n", f.Result, f.Check, Printable(f.Detail))
	}
	table.Flush()
	for _, warning := range d.Warnings {
		fmt.Fprintf(w, "warning: %s\n", Printable(warning))
	}
}
