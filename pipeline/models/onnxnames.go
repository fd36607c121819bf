package models

import (
	"errors"
	"fmt"
	"os"
	"slices"

	"golang.org/x/sys/unix"
	"google.golang.org/protobuf/encoding/protowire"
)

// The numbers of the fields that name a model's inputs and outputs, from onnx.proto.
const (
	modelGraph       = 7
	graphInitializer = 5
	graphInput       = 11
	graphOutput      = 12
	tensorName       = 8
	valueName        = 1
)

var errNotONNX = errors.New("it is no ONNX model")

// onnxNames lists a model's inputs and outputs in their order, reading the file
// itself: the library loads the whole model to say the same, half of the time that
// a program needs to start.
func onnxNames(modelFile string) (inputs, outputs []string, err error) {
	file, err := os.Open(modelFile)
	if err != nil {
		return nil, nil, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return nil, nil, err
	}
	if info.Size() == 0 || info.Size() != int64(int(info.Size())) {
		return nil, nil, fmt.Errorf("read %s: %w", modelFile, errNotONNX)
	}
	// Most of the file is weights, which are skipped and need not be read.
	data, err := unix.Mmap(int(file.Fd()), 0, int(info.Size()), unix.PROT_READ, unix.MAP_PRIVATE)
	if err != nil {
		return nil, nil, fmt.Errorf("map %s: %w", modelFile, err)
	}
	defer unix.Munmap(data)
	if inputs, outputs, err = graphNames(data); err != nil {
		return nil, nil, fmt.Errorf("read %s: %w", modelFile, err)
	}
	return inputs, outputs, nil
}

func graphNames(model []byte) (inputs, outputs []string, err error) {
	var weights []string
	err = eachField(model, func(number protowire.Number, graph []byte) error {
		if number != modelGraph {
			return nil
		}
		return eachField(graph, func(number protowire.Number, part []byte) error {
			var err error
			switch number {
			case graphInitializer:
				weights, err = appendName(weights, part, tensorName)
			case graphInput:
				inputs, err = appendName(inputs, part, valueName)
			case graphOutput:
				outputs, err = appendName(outputs, part, valueName)
			}
			return err
		})
	})
	// Old files list weights among the inputs too.
	inputs = slices.DeleteFunc(inputs, func(name string) bool { return slices.Contains(weights, name) })
	if err == nil && (len(inputs) == 0 || len(outputs) == 0) {
		err = errNotONNX
	}
	return inputs, outputs, err
}

func appendName(names []string, message []byte, field protowire.Number) ([]string, error) {
	err := eachField(message, func(number protowire.Number, value []byte) error {
		if number == field {
			names = append(names, string(value))
		}
		return nil
	})
	return names, err
}

// eachField visits a message's fields of variable length: texts and messages.
func eachField(message []byte, visit func(number protowire.Number, value []byte) error) error {
	for len(message) > 0 {
		number, kind, size := protowire.ConsumeTag(message)
		if size < 0 {
			return errNotONNX
		}
		message = message[size:]
		if kind == protowire.BytesType {
			value, size := protowire.ConsumeBytes(message)
			if size < 0 {
				return errNotONNX
			}
			if err := visit(number, value); err != nil {
				return err
			}
			message = message[size:]
			continue
		}
		if size = protowire.ConsumeFieldValue(number, kind, message); size < 0 {
			return errNotONNX
		}
		message = message[size:]
	}
	return nil
}
