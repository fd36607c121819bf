package graph

// UnknownType is the type of an entity whose extractor was not certain enough
// to name one. It may not be declared.
const UnknownType = "Unknown"

// PropertyType is the type of an entity's or relation's property.
type PropertyType string

// The property types that an ontology may declare.
const (
	StringProperty  PropertyType = "STRING"
	IntegerProperty PropertyType = "INTEGER"
	FloatProperty   PropertyType = "FLOAT"
	BooleanProperty PropertyType = "BOOLEAN"
	DateProperty    PropertyType = "DATE"
	ListProperty    PropertyType = "LIST"
)

// Property is one declared property of a type.
type Property struct {
	Name        string       `json:"name" yaml:"name"`
	Type        PropertyType `json:"type,omitempty" yaml:"type,omitempty"`
	Description string       `json:"description,omitempty" yaml:"description,omitempty"`
	Required    bool         `json:"required,omitempty" yaml:"required,omitempty"`
}

// EntityType is a kind of thing that extraction looks for.
type EntityType struct {
	Label       string     `json:"label" yaml:"label"`
	Description string     `json:"description,omitempty" yaml:"description,omitempty"`
	Properties  []Property `json:"properties,omitempty" yaml:"properties,omitempty"`
	// Prompt is what a zero-shot model is asked for instead of Label, where
	// another word works better ("device" for Product).
	Prompt string `json:"prompt,omitempty" yaml:"prompt,omitempty"`
	// Threshold overrides the model's first threshold for this type; 0 keeps it.
	Threshold float64 `json:"threshold,omitempty" yaml:"threshold,omitempty"`
}

// Pattern is a pair of entity types, (source, target), that a relation joins.
type Pattern [2]string

// RelationType is a kind of link between two entities.
type RelationType struct {
	Label       string     `json:"label" yaml:"label"`
	Description string     `json:"description,omitempty" yaml:"description,omitempty"`
	Patterns    []Pattern  `json:"patterns,omitempty" yaml:"patterns,omitempty,flow"`
	Properties  []Property `json:"properties,omitempty" yaml:"properties,omitempty"`
	// Cues are phrases that state the relation in a sentence, source first
	// ("works at", "joined"). A cue in the passive voice names the target
	// first ("was founded by") and is written in PassiveCues.
	Cues        []string `json:"cues,omitempty" yaml:"cues,omitempty"`
	PassiveCues []string `json:"passive_cues,omitempty" yaml:"passive_cues,omitempty"`
}

// Ontology is what extraction looks for. The zero value declares nothing.
type Ontology struct {
	Entities  []EntityType   `json:"entities" yaml:"entities"`
	Relations []RelationType `json:"relations" yaml:"relations"`
}
