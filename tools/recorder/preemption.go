package main

import (
	"slices"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	"k8s.io/apimachinery/pkg/labels"
	policylisters "k8s.io/client-go/listers/policy/v1"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/defaultpreemption"
	"k8s.io/kubernetes/pkg/scheduler/framework/preemption"
)

// Equal candidates come in the order of a map, and the first is taken. One of two comes first in at
// least one of eight tries, so that this many tries miss it once in 10^23.
const tries = 400

// sortedBudgets is a lister that gives disruption budgets by name. The scheduler takes them in the
// order of a map, and where a pod has several budgets, since 1.37 its choice depends on the order.
type sortedBudgets struct {
	policylisters.PodDisruptionBudgetLister
}

func (s sortedBudgets) List(selector labels.Selector) ([]*policyv1.PodDisruptionBudget, error) {
	list, err := s.PodDisruptionBudgetLister.List(selector)
	slices.SortFunc(list, func(one, other *policyv1.PodDisruptionBudget) int {
		return strings.Compare(one.Namespace+"/"+one.Name, other.Namespace+"/"+other.Name)
	})
	return list, err
}

// sortBudgets lets the preemption of a profile take disruption budgets by name.
func sortBudgets(of framework.Framework) {
	if found, ok := plugin(of, defaultpreemption.Name).(*defaultpreemption.DefaultPreemption); ok {
		found.Evaluator.PdbLister = sortedBudgets{found.Evaluator.PdbLister}
	}
}

// postFilter runs the PostFilter plugins and returns what they say. Among equal candidates the
// scheduler takes any; it is asked until it takes the one whose name is the smallest.
func (a *attempt) postFilter() string {
	var status *fwk.Status
	a.result, status = a.runPostFilter()
	entry := obj{"nominatedNode": "", "victims": nil, "candidates": nil, "acceptable": nil}
	a.entry["preemption"] = entry
	if a.nominated() == "" {
		entry["status"] = statusEntry(status)
		if status.IsSuccess() {
			entry["status"] = fullEntry(status)
		}
		return status.Message()
	}
	candidates, acceptable := a.candidates()
	for range tries {
		if a.nominated() == acceptable[0] {
			break
		}
		a.result, status = a.runPostFilter()
	}
	if a.nominated() != acceptable[0] {
		panic("preemption never chose " + acceptable[0])
	}
	a.waitForVictims(candidates[acceptable[0]])
	entry["status"] = fullEntry(status)
	entry["nominatedNode"] = acceptable[0]
	entry["victims"] = victims(candidates[acceptable[0]])
	entry["acceptable"] = acceptable
	entries := obj{}
	for name, candidate := range candidates {
		entries[name] = obj{"victims": victims(candidate), "numPDBViolations": candidate.Victims().NumPDBViolations}
	}
	entry["candidates"] = entries
	return status.Message()
}

func (a *attempt) runPostFilter() (*fwk.PostFilterResult, *fwk.Status) {
	a.e.mu.Lock()
	a.e.deleted, a.e.cleared = nil, nil
	a.e.mu.Unlock()
	return a.framework.RunPostFilterPlugins(a.e.ctx, a.state, a.pod, a.diagnosis.NodeToStatus)
}

// nominated returns the node that PostFilter nominated, or "".
func (a *attempt) nominated() string {
	if a.result == nil || a.result.NominatingInfo == nil {
		return ""
	}
	return a.result.NominatedNodeName
}

// candidates returns where preemption would help, and the sorted names of those that are equal to
// the best.
func (a *attempt) candidates() (map[string]preemption.Candidate, []string) {
	evaluator := plugin(a.framework, defaultpreemption.Name).(*defaultpreemption.DefaultPreemption).Evaluator
	nodes, err := a.diagnosis.NodeToStatus.NodesForStatusCode(a.e.snapshot.NodeInfos(), fwk.Unschedulable)
	if err != nil {
		panic(err)
	}
	budgets, err := evaluator.PdbLister.List(labels.Everything())
	if err != nil {
		panic(err)
	}
	count := int32(len(nodes))
	found, _, err := evaluator.DryRunPreemption(a.e.ctx, a.state, a.pod, nodes, budgets, 0, count)
	if err != nil {
		panic(err)
	}
	byName := map[string]preemption.Candidate{}
	for _, one := range found {
		byName[one.Name()] = one
	}
	best := evaluator.SelectCandidate(a.e.ctx, found)
	acceptable := []string{best.Name()}
	for name, one := range byName {
		pair := []preemption.Candidate{one, best}
		for range tries {
			if name == best.Name() {
				break
			}
			if evaluator.SelectCandidate(a.e.ctx, pair).Name() == name {
				acceptable = append(acceptable, name)
				break
			}
		}
	}
	sort.Strings(acceptable)
	return byName, acceptable
}

// waitForVictims waits until each victim that is not being deleted yet was deleted. The scheduler
// clears nominations before it deletes the first.
func (a *attempt) waitForVictims(candidate preemption.Candidate) {
	expected := 0
	for _, pod := range candidate.Victims().Pods {
		if pod.DeletionTimestamp == nil {
			expected++
		}
	}
	a.e.mu.Lock()
	defer a.e.mu.Unlock()
	for len(a.e.deleted) < expected {
		a.e.changed.Wait()
	}
}

func victims(candidate preemption.Candidate) []string {
	list := []string{}
	for _, pod := range candidate.Victims().Pods {
		list = append(list, key(pod))
	}
	sort.Strings(list)
	return list
}

// carryOut does what the decided preemption asks for: it removes the victims and nominates the pod.
// It returns the pods that lost their nomination.
func (a *attempt) carryOut() []string {
	e := a.e
	node := a.nominated()
	if a.result != nil && a.result.NominatingInfo != nil && a.result.Mode() == fwk.ModeOverride {
		e.nominate(a.pod, node)
	}
	if node == "" {
		return nil
	}
	e.mu.Lock()
	cleared := append([]string{}, e.cleared...)
	e.mu.Unlock()
	sort.Strings(cleared)
	for _, name := range cleared {
		e.nominate(e.pod(name), "")
	}
	for _, name := range a.entry["preemption"].(obj)["victims"].([]string) {
		e.remove(e.pod(name))
	}
	return cleared
}

// pod returns a pod as it is now.
func (e *environment) pod(name string) *v1.Pod {
	found, exists, err := e.store().GetByKey(name)
	if err != nil || !exists {
		panic("no pod " + name)
	}
	return found.(*v1.Pod)
}
