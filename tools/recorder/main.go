// Write down what the scheduler of the linked Kubernetes release decides.
//
// Usage: recorder [-workers N] < LINES > LINES
//
//	recorder -facts
//	recorder -sources NAME=FOLDER...
//
// Each line is a JSON object with a scenario; what else it has is ignored. The line that is written
// has the scenario unchanged and what was decided under "expected", or, for a scenario that this
// release does not accept, the reason under "failed". -facts prints what the release says of itself,
// and -sources what Go files say, as JSON.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"sync"

	"github.com/go-logr/logr"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"k8s.io/klog/v2"
)

type obj = map[string]any

// line is one scenario and what was decided.
type line struct {
	Scenario json.RawMessage `json:"scenario"`
}

func main() {
	workers := flag.Int("workers", 2, "scenarios that run at the same time")
	facts := flag.Bool("facts", false, "print what the release says of itself")
	source := flag.Bool("sources", false, "print what the Go files in folders say")
	flag.Parse()
	klog.SetLogger(logr.Discard())
	var err error
	switch {
	case *facts:
		err = printFacts(os.Stdout)
	case *source:
		err = printSources(flag.Args(), os.Stdout)
	default:
		err = record(os.Stdin, os.Stdout, *workers)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "recorder:", err)
		os.Exit(1)
	}
}

func record(from *os.File, to *os.File, workers int) error {
	var scenarios []*Scenario
	reader := bufio.NewScanner(from)
	reader.Buffer(nil, 1<<28)
	for reader.Scan() {
		var one line
		if err := json.Unmarshal(reader.Bytes(), &one); err != nil {
			return fmt.Errorf("line %d: %w", len(scenarios)+1, err)
		}
		scenario, err := readScenario(one.Scenario)
		if err != nil {
			return fmt.Errorf("line %d: %w", len(scenarios)+1, err)
		}
		scenarios = append(scenarios, scenario)
	}
	if err := reader.Err(); err != nil {
		return err
	}
	results := make([]obj, len(scenarios))
	for _, batch := range byGates(scenarios) {
		runBatch(scenarios, batch, results, workers)
	}
	writer := bufio.NewWriter(to)
	encoder := json.NewEncoder(writer)
	encoder.SetEscapeHTML(false)
	for number, result := range results {
		result["scenario"] = scenarios[number].raw
		if err := encoder.Encode(result); err != nil {
			return err
		}
	}
	return writer.Flush()
}

// batch is the numbers of the scenarios that have the same gates, which are global.
type batch struct {
	gates   map[string]bool
	numbers []int
}

func byGates(scenarios []*Scenario) []*batch {
	var batches []*batch
	known := map[string]*batch{}
	for number, scenario := range scenarios {
		key, _ := json.Marshal(scenario.FeatureGates)
		if known[string(key)] == nil {
			known[string(key)] = &batch{gates: scenario.FeatureGates}
			batches = append(batches, known[string(key)])
		}
		known[string(key)].numbers = append(known[string(key)].numbers, number)
	}
	return batches
}

func runBatch(scenarios []*Scenario, batch *batch, results []obj, workers int) {
	restore, err := setGates(batch.gates)
	if err != nil {
		for _, number := range batch.numbers {
			results[number] = obj{"failed": err.Error()}
		}
		return
	}
	defer restore()
	numbers := make(chan int)
	var running sync.WaitGroup
	for range workers {
		running.Add(1)
		go func() {
			defer running.Done()
			for number := range numbers {
				results[number] = run(scenarios[number])
			}
		}()
	}
	for _, number := range batch.numbers {
		numbers <- number
	}
	close(numbers)
	running.Wait()
}

// setGates sets feature gates and returns what sets them back.
func setGates(wanted map[string]bool) (func(), error) {
	gates := utilfeature.DefaultMutableFeatureGate
	before := map[string]bool{}
	known := gates.GetAll()
	for name := range wanted {
		// Asked before, because a gate set keeps what it refused and refuses everything after it.
		if _, ok := known[featuregate.Feature(name)]; !ok {
			return nil, fmt.Errorf("unrecognized feature gate: %s", name)
		}
		before[name] = gates.Enabled(featuregate.Feature(name))
	}
	restore := func() {
		if err := gates.SetFromMap(before); err != nil {
			panic(err)
		}
	}
	if err := gates.SetFromMap(wanted); err != nil {
		return nil, err
	}
	return restore, nil
}

func run(scenario *Scenario) (result obj) {
	defer func() {
		if fault := recover(); fault != nil {
			result = obj{"failed": fmt.Sprint(fault)}
		}
	}()
	e, err := newEnvironment(scenario)
	if err != nil {
		return obj{"failed": err.Error()}
	}
	defer e.close()
	var expected obj
	if scenario.Pod != nil {
		expected = e.attempt(scenario.Pod).entry
	} else {
		expected = obj{"sequence": e.sequence()}
	}
	if len(scenario.Config) > 0 && !bytes.Equal(scenario.Config, []byte("null")) {
		plugins, weights := e.plugins(scenario.first().Spec.SchedulerName)
		expected["plugins"] = plugins
		if len(weights) > 0 {
			expected["scoreWeights"] = weights
		}
	}
	return obj{"expected": expected}
}
