package toolserver

import (
	"context"
	"fmt"
	"log/slog"
)

// MaskLog is a log in which secrets, and what looks like a credential, are
// masked wherever they stand.
func MaskLog(handler slog.Handler, secrets func() []string) slog.Handler {
	return maskingHandler{handler, secrets}
}

type maskingHandler struct {
	slog.Handler
	secrets func() []string
}

func (h maskingHandler) Handle(ctx context.Context, record slog.Record) error {
	secrets := h.secrets()
	out := slog.NewRecord(record.Time, record.Level, Mask(record.Message, secrets), record.PC)
	record.Attrs(func(attribute slog.Attr) bool {
		out.AddAttrs(maskAttr(attribute, secrets))
		return true
	})
	return h.Handler.Handle(ctx, out)
}

func (h maskingHandler) WithAttrs(attributes []slog.Attr) slog.Handler {
	masked := make([]slog.Attr, len(attributes))
	for i, attribute := range attributes {
		masked[i] = maskAttr(attribute, h.secrets())
	}
	return maskingHandler{h.Handler.WithAttrs(masked), h.secrets}
}

func (h maskingHandler) WithGroup(name string) slog.Handler {
	return maskingHandler{h.Handler.WithGroup(name), h.secrets}
}

func maskAttr(attribute slog.Attr, secrets []string) slog.Attr {
	value := attribute.Value.Resolve()
	switch value.Kind() {
	case slog.KindString:
		return slog.String(attribute.Key, Mask(value.String(), secrets))
	case slog.KindGroup:
		var parts []any
		for _, part := range value.Group() {
			parts = append(parts, maskAttr(part, secrets))
		}
		return slog.Group(attribute.Key, parts...)
	case slog.KindAny:
		return slog.String(attribute.Key, Mask(fmt.Sprint(value.Any()), secrets))
	}
	return slog.Attr{Key: attribute.Key, Value: value}
}
