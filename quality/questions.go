package quality

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
)

// Question is one that a corpus answers.
type Question struct {
	Number  int
	Text    string
	Answers []Answer
}

// Answer is a passage in which an answer, or a part of it, stands.
type Answer struct {
	Document string // path
	Text     string // with single spaces
}

// Part is [Tuning] for odd numbers, [HeldOut] for even ones.
func (q Question) Part() string {
	if q.Number%2 == 1 {
		return Tuning
	}
	return HeldOut
}

var (
	questionLine = regexp.MustCompile(`^(\d+)\. (.+)$`)
	answerLine   = regexp.MustCompile(`^ +- (\S+): "(.+)"$`)
)

// LoadQuestions reads a numbered list of questions with their answers below
// each, as examples/questions.md has it. Other lines are prose.
func LoadQuestions(name string) ([]Question, error) {
	text, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var questions []Question
	for n, line := range strings.Split(string(text), "\n") {
		if m := questionLine.FindStringSubmatch(line); m != nil {
			number, err := strconv.Atoi(m[1])
			if err != nil || number != len(questions)+1 {
				return nil, fmt.Errorf("load %s, line %d: question %s follows %d", name, n+1, m[1], len(questions))
			}
			questions = append(questions, Question{Number: number, Text: m[2]})
			continue
		}
		m := answerLine.FindStringSubmatch(line)
		switch {
		case m != nil && len(questions) > 0:
			last := &questions[len(questions)-1]
			last.Answers = append(last.Answers, Answer{Document: m[1], Text: m[2]})
		case m != nil, len(questions) > 0 && strings.TrimSpace(line) != "":
			return nil, fmt.Errorf("load %s, line %d: neither a question nor an answer: %s", name, n+1, line)
		}
	}
	for _, q := range questions {
		if len(q.Answers) == 0 {
			return nil, fmt.Errorf("load %s: question %d has no answer", name, q.Number)
		}
	}
	return questions, nil
}
