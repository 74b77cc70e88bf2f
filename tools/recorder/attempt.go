package main

import (
	"fmt"
	"slices"
	"sort"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	fwk "k8s.io/kube-scheduler/framework"
	"k8s.io/kubernetes/pkg/features"
	"k8s.io/kubernetes/pkg/scheduler"
	"k8s.io/kubernetes/pkg/scheduler/framework"
	"k8s.io/kubernetes/pkg/scheduler/framework/plugins/dynamicresources"
)

// What kube-scheduler sends as the note of an event at most, and how it ends where it was cut.
const (
	noteLimit = 1024
	noteEnd   = " ..."
)

// attempt is one pass of a pod through the scheduling cycle, up to and without Reserve.
type attempt struct {
	e         *environment
	framework framework.Framework
	pod       *v1.Pod
	state     fwk.CycleState
	nodes     []fwk.NodeInfo
	entry     obj
	diagnosis framework.Diagnosis
	feasible  []fwk.NodeInfo
	chosen    string
	// what PostFilter decided, if it ran
	result *fwk.PostFilterResult
}

// attempt runs the cycle as the scheduler does, but asks every node and keeps all answers.
func (e *environment) attempt(pod *v1.Pod) *attempt {
	if err := e.scheduler.Cache.UpdateSnapshot(e.logger, e.snapshot); err != nil {
		panic(err)
	}
	nodes, err := e.snapshot.NodeInfos().List()
	if err != nil {
		panic(err)
	}
	a := &attempt{e: e, framework: e.framework(pod), pod: pod, state: framework.NewCycleState(), nodes: nodes}
	a.state.Write(framework.PodsToActivateKey, framework.NewPodsToActivate())
	a.entry = obj{"pod": key(pod), "preEnqueue": nil, "preFilter": nil, "filter": nil, "skippedFilter": nil,
		"skippedScore": nil, "feasible": nil, "scores": nil, "scoringSkipped": false, "total": nil,
		"best": nil, "chosen": "", "message": "", "preemption": nil}
	a.entry["outcome"] = a.decide()
	if message := a.entry["message"].(string); len(message) > noteLimit {
		a.entry["eventMessage"] = message[:noteLimit-len(noteEnd)] + noteEnd
	}
	return a
}

func (a *attempt) decide() string {
	for _, one := range a.framework.PreEnqueuePlugins() {
		if status := one.PreEnqueue(a.e.ctx, a.pod); !status.IsSuccess() {
			status.SetPlugin(one.Name())
			a.entry["preEnqueue"] = statusEntry(status)
			return "gated"
		}
	}
	if len(a.nodes) == 0 {
		a.entry["feasible"] = []string{}
		a.entry["message"] = scheduler.ErrNoNodesAvailable.Error()
		return "unschedulable"
	}
	if err := a.filter(); err != nil {
		a.entry["message"] = err.Error()
		return "error"
	}
	a.entry["feasible"] = names(a.feasible)
	a.noteNodeResources()
	if len(a.feasible) == 0 {
		fit := &framework.FitError{Pod: a.pod, NumAllNodes: len(a.nodes), Diagnosis: a.diagnosis}
		if a.framework.HasPostFilterPlugins() {
			fit.Diagnosis.PostFilterMsg = a.postFilter()
		}
		a.entry["message"] = fit.Error()
		return "unschedulable"
	}
	if err := a.score(); err != nil {
		a.entry["message"] = err.Error()
		return "error"
	}
	return "scheduled"
}

// filter finds the nodes that may be chosen.
func (a *attempt) filter() error {
	a.diagnosis.NodeToStatus = framework.NewDefaultNodeToStatus()
	result, status, plugins := a.framework.RunPreFilterPlugins(a.e.ctx, a.state, a.pod)
	var narrowed any
	if !result.AllNodes() {
		narrowed = sets.List(result.NodeNames)
	}
	a.entry["preFilter"] = obj{"status": statusEntry(status), "nodeNames": narrowed}
	a.entry["skippedFilter"] = sets.List(a.state.GetSkipFilterPlugins())
	if !status.IsSuccess() {
		if !status.IsRejected() {
			return status.AsError()
		}
		a.diagnosis.NodeToStatus.SetAbsentNodesStatus(status)
		a.diagnosis.PreFilterMsg = status.Message()
		return nil
	}
	if !result.AllNodes() {
		text := fmt.Sprintf("node(s) didn't satisfy plugin(s) %v", sets.List(plugins))
		a.diagnosis.NodeToStatus.SetAbsentNodesStatus(fwk.NewStatus(fwk.UnschedulableAndUnresolvable, text))
	}
	entries := obj{}
	a.entry["filter"] = entries
	var failure error
	for _, node := range a.nodes {
		name := node.Node().Name
		if !result.AllNodes() && !result.NodeNames.Has(name) {
			entries[name] = statusEntry(a.diagnosis.NodeToStatus.Get(name))
			continue
		}
		status := a.framework.RunFilterPluginsWithNominatedPods(a.e.ctx, a.state, a.pod, node)
		entries[name] = statusEntry(status)
		if status.Code() == fwk.Error && failure == nil {
			failure = status.AsError()
		}
		if status.IsSuccess() {
			a.feasible = append(a.feasible, node)
		} else {
			a.diagnosis.NodeToStatus.Set(name, status)
		}
	}
	// The node that the pod is nominated to is asked first, whatever PreFilter says; if it passes,
	// no other node is asked.
	if nominated, err := a.e.snapshot.NodeInfos().Get(a.pod.Status.NominatedNodeName); err == nil {
		if a.framework.RunFilterPluginsWithNominatedPods(a.e.ctx, a.state, a.pod, nominated).IsSuccess() {
			a.feasible = []fwk.NodeInfo{nominated}
			return nil
		}
	}
	return failure
}

// takesNodeResources returns whether devices may consume cpu, memory and other resources of their node.
func takesNodeResources() bool {
	return utilfeature.DefaultFeatureGate.Enabled(features.DRANodeAllocatableResources)
}

// nodeResources returns the node resources that the pod's claims consume.
func (a *attempt) nodeResources(node string) []v1.NodeAllocatableResourceClaimStatus {
	return dynamicresources.ExtractPodNodeAllocatableResourceClaimStatus(a.e.logger, a.state, node)
}

// noteNodeResources records the resources of each feasible node that the pod's claims would consume.
func (a *attempt) noteNodeResources() {
	entries := obj{}
	for _, node := range a.feasible {
		if found := a.nodeResources(node.Node().Name); takesNodeResources() && len(found) > 0 {
			entries[node.Node().Name] = found
		}
	}
	if len(entries) > 0 {
		a.entry["nodeResources"] = entries
	}
}

// score ranks the feasible nodes; the scheduler does not score a node that is the only one.
func (a *attempt) score() error {
	a.entry["scoringSkipped"] = len(a.feasible) == 1 || !a.framework.HasScorePlugins()
	total := map[string]int64{}
	scores := obj{}
	if a.framework.HasScorePlugins() {
		status := a.framework.RunPreScorePlugins(a.e.ctx, a.state, a.pod, a.feasible)
		a.entry["skippedScore"] = sets.List(a.state.GetSkipScorePlugins())
		if !status.IsSuccess() {
			return status.AsError()
		}
		if err := a.scorePlugins(scores, total); err != nil {
			return err
		}
	} else {
		for _, node := range a.feasible {
			total[node.Node().Name] = 1
		}
	}
	best := []string{}
	for name, score := range total {
		if len(best) > 0 && score > total[best[0]] {
			best = best[:0]
		}
		if len(best) == 0 || score == total[best[0]] {
			best = append(best, name)
		}
	}
	sort.Strings(best)
	a.chosen = best[0]
	a.entry["scores"], a.entry["total"], a.entry["best"], a.entry["chosen"] = scores, total, best, best[0]
	return nil
}

// scorePlugins asks each plugin for its scores, and adds them up as the framework does.
func (a *attempt) scorePlugins(scores obj, total map[string]int64) error {
	for _, one := range a.framework.ListPlugins().Score.Enabled {
		if a.state.GetSkipScorePlugins().Has(one.Name) {
			continue
		}
		scorer := plugin(a.framework, one.Name).(fwk.ScorePlugin)
		entries := obj{}
		var list fwk.NodeScoreList
		for _, node := range a.feasible {
			score, status := scorer.Score(a.e.ctx, a.state, a.pod, node)
			if !status.IsSuccess() {
				return status.AsError()
			}
			entries[node.Node().Name] = obj{"raw": score, "weight": one.Weight}
			list = append(list, fwk.NodeScore{Name: node.Node().Name, Score: score})
		}
		if extensions := scorer.ScoreExtensions(); extensions != nil {
			if status := extensions.NormalizeScore(a.e.ctx, a.state, a.pod, list); !status.IsSuccess() {
				return status.AsError()
			}
		}
		for _, score := range list {
			entries[score.Name].(obj)["normalized"] = score.Score
		}
		scores[one.Name] = entries
	}
	added, status := a.framework.RunScorePlugins(a.e.ctx, a.state, a.pod, a.feasible)
	if !status.IsSuccess() {
		return status.AsError()
	}
	for _, node := range added {
		total[node.Name] = node.TotalScore
	}
	return nil
}

func key(pod *v1.Pod) string { return pod.Namespace + "/" + pod.Name }

func names(nodes []fwk.NodeInfo) []string {
	list := []string{}
	for _, node := range nodes {
		list = append(list, node.Node().Name)
	}
	sort.Strings(list)
	return list
}

// statusEntry returns a status as it is recorded; agreement is null.
func statusEntry(status *fwk.Status) any {
	if status.IsSuccess() {
		return nil
	}
	return fullEntry(status)
}

func fullEntry(status *fwk.Status) obj {
	reasons := append([]string{}, status.Reasons()...)
	if status.Plugin() == "NodeResourcesFit" || !slices.ContainsFunc(reasons, isOther) {
		sortResources(reasons)
	}
	return obj{"code": status.Code().String(), "plugin": status.Plugin(), "reasons": reasons}
}

// ordered are the reasons about resources that come in a fixed order. Those of other resources
// come in the order of a map.
var ordered = []string{"Too many pods", "Insufficient cpu", "Insufficient memory", "Insufficient ephemeral-storage"}

// isOther returns whether a reason is not about a resource. DynamicResources has such reasons too.
func isOther(reason string) bool { return !strings.HasPrefix(reason, "Insufficient ") }

func sortResources(reasons []string) {
	slices.SortStableFunc(reasons, func(one, other string) int {
		if rank := place(one) - place(other); rank != 0 || place(one) < len(ordered) {
			return rank
		}
		return strings.Compare(one, other)
	})
}

func place(reason string) int {
	if found := slices.Index(ordered, reason); found >= 0 {
		return found
	}
	return len(ordered)
}
