package main

import (
	"time"

	v1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"
)

// A pod is tried at most this often where preemption is carried out.
const maxAttempts = 3

// The start time of the first pod that is placed; each attempt takes a second.
var firstStart = time.Date(2026, 3, 1, 0, 0, 0, 0, time.UTC)

// turn is a pod of a sequence, and the number of its next attempt.
type turn struct {
	name   string
	number int
}

// sequence places the scenario's pods in turn, and returns what was decided at each attempt.
func (e *environment) sequence() []obj {
	var entries []obj
	var turns []turn
	for _, pod := range e.scenario.PodSequence {
		turns = append(turns, turn{key(pod), 1})
	}
	for len(turns) > 0 {
		now := turns[0]
		turns = turns[1:]
		if _, exists, _ := e.store().GetByKey(now.name); !exists {
			continue // it was a victim
		}
		pod := e.pod(now.name)
		a := e.attempt(pod)
		if a.entry["outcome"] == "scheduled" {
			e.place(a, firstStart.Add(time.Duration(len(entries))*time.Second))
		}
		if e.scenario.ApplyPreemption {
			a.entry["attempt"] = now.number
			if pod.Status.NominatedNodeName != "" {
				a.entry["nominatedNodeName"] = pod.Status.NominatedNodeName
			}
			if cleared := a.carryOut(); len(cleared) > 0 {
				a.entry["clearedNominations"] = cleared
			}
			if a.nominated() != "" && now.number < maxAttempts {
				turns = append(turns, turn{now.name, now.number + 1})
			}
		}
		entries = append(entries, a.entry)
	}
	return entries
}

// place assumes and reserves the pod, and leaves it as running on its node.
func (e *environment) place(a *attempt, started time.Time) {
	pod := a.pod.DeepCopy()
	pod.Spec.NodeName = a.chosen
	pod.Status.Phase = v1.PodRunning
	pod.Status.StartTime = &metav1.Time{Time: started}
	pod.Status.NominatedNodeName = ""
	if takesNodeResources() {
		pod.Status.NodeAllocatableResourceClaimStatuses = a.nodeResources(a.chosen)
	}
	if err := e.scheduler.Cache.AssumePod(e.logger, pod); err != nil {
		panic(err)
	}
	e.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(pod)
	if status := a.framework.RunReservePluginsReserve(e.ctx, a.state, pod, a.chosen); !status.IsSuccess() {
		a.framework.RunReservePluginsUnreserve(e.ctx, a.state, pod, a.chosen)
		if err := e.scheduler.Cache.ForgetPod(e.logger, pod); err != nil {
			panic(err)
		}
		a.entry["reserve"] = statusEntry(status)
		return
	}
	e.update(pod)
	a.entry["startTime"] = started.Format(time.RFC3339)
}

// store is what the pod lister reads. Changes are made here and not in the API server, whose events
// would arrive later.
func (e *environment) store() cache.Indexer {
	return e.informers.Core().V1().Pods().Informer().GetIndexer()
}

func (e *environment) update(pod *v1.Pod) {
	if err := e.store().Update(pod); err != nil {
		panic(err)
	}
}

// nominate nominates a pod to a node, or to none.
func (e *environment) nominate(pod *v1.Pod, node string) {
	changed := pod.DeepCopy()
	changed.Status.NominatedNodeName = node
	e.update(changed)
	e.scheduler.SchedulingQueue.Update(e.ctx, pod, changed)
}

// remove takes a pod out of the cluster.
func (e *environment) remove(pod *v1.Pod) {
	if err := e.store().Delete(pod); err != nil {
		panic(err)
	}
	e.scheduler.SchedulingQueue.DeleteNominatedPodIfExists(pod)
	if pod.Spec.NodeName != "" {
		if err := e.scheduler.Cache.RemovePod(e.logger, pod); err != nil {
			panic(err)
		}
	}
}
