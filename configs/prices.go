package configs

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io"
	"maps"
	"regexp"
	"strings"
	"time"

	"go.yaml.in/yaml/v3"
)

//go:embed prices.yaml
var builtInPrices []byte

// Prices say what models cost. Those of one table are in one currency.
type Prices struct {
	Currency string           `yaml:"currency"`
	Date     string           `yaml:"date"`   // when the provider was asked, "2026-08-21"
	Source   string           `yaml:"source"` // where the figures come from
	Models   map[string]Price `yaml:"models"` // by "provider/name"
}

// Price is of a million tokens.
type Price struct {
	Input  float64 `yaml:"input"`
	Output float64 `yaml:"output"`
}

// Cost of so many tokens.
func (p Price) Cost(input, output int) float64 {
	return (p.Input*float64(input) + p.Output*float64(output)) / 1e6
}

// datedName is a model's name with the date of a snapshot, or "latest".
var datedName = regexp.MustCompile(`^(.+?)-(?:\d{4}-\d{2}-\d{2}|\d{8}|latest)$`)

// Of is the price of a model, "openai/gpt-4.1-mini"; false when the table does
// not know it.
func (p Prices) Of(model string) (Price, bool) {
	price, ok := p.Models[model]
	if m := datedName.FindStringSubmatch(model); !ok && m != nil {
		price, ok = p.Models[m[1]]
	}
	return price, ok
}

// Prices are the built-in table with what llm.prices says instead. Load has
// checked both.
func (c *Config) Prices() Prices {
	prices, err := readPrices(builtInPrices)
	if err != nil {
		panic(err) // a test reads it
	}
	own, err := readPrices(c.LLM.PricesYAML)
	if err != nil || len(c.LLM.PricesYAML) == 0 {
		return prices
	}
	if own.Currency != "" && own.Currency != prices.Currency {
		prices.Models = map[string]Price{} // figures in two currencies cannot be added
		prices.Currency = own.Currency
	}
	maps.Copy(prices.Models, own.Models)
	prices.Source = "llm.prices (" + c.Origin("llm.prices") + "), else " + prices.Source
	if own.Date != "" {
		prices.Date = own.Date
	}
	return prices
}

func readPrices(text []byte) (Prices, error) {
	var p Prices
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	decoder.KnownFields(true)
	if err := decoder.Decode(&p); err != nil && err != io.EOF {
		return p, errors.New(strings.Join(strings.Fields(strings.TrimPrefix(err.Error(), "yaml: unmarshal errors:")), " "))
	}
	if _, err := time.Parse(time.DateOnly, p.Date); p.Date != "" && err != nil {
		return p, fmt.Errorf("date %q is no date such as 2026-11-01", p.Date)
	}
	for model, price := range p.Models {
		if err := checkModel(model); err != nil {
			return p, fmt.Errorf("model %q %w: write provider/name", model, err)
		}
		if !(price.Input >= 0 && price.Output >= 0 && price.Input+price.Output <= maxPrice) { // true for NaN
			return p, fmt.Errorf("model %q: a price is from 0 to %d a million tokens", model, maxPrice)
		}
	}
	return p, nil
}

// maxPrice catches prices that were given per token, per thousand tokens or in
// cents.
const maxPrice = 10_000
