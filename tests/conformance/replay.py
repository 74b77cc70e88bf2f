"""Replay recorded scenarios and put our decisions into the recorder's form."""

from __future__ import annotations

import random
from functools import cache
from typing import Any

from msgspec import json
from msgspec.structs import replace

from mooring.api import (
    CSIDriver,
    CSINode,
    CSIStorageCapacity,
    DeviceClass,
    DeviceTaintRule,
    KubeObject,
    Namespace,
    Node,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
    ReplicaSet,
    ReplicationController,
    ResourceClaim,
    ResourceSlice,
    Service,
    StatefulSet,
    StorageClass,
    VolumeAttachment,
    decode_as,
)
from mooring.binding.binding_points import assumed_pod
from mooring.config.load import LoadResult, default_config, load_config_data
from mooring.cycle.message import event_note
from mooring.cycle.scheduling_cycle import by_name
from mooring.framework.decision import Decision, Outcome, PostFilterResult
from mooring.framework.features import FeatureGates
from mooring.framework.points import CONFIGURABLE_POINTS, Point
from mooring.framework.releases import parse_versions
from mooring.framework.status import Status
from mooring.observe.clock import VirtualClock
from mooring.registry import Registry, default_registry
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import Attempt, MemoryScheduler
from tests.support import strangers

OBJECTS: dict[str, type[KubeObject]] = {
    "namespaces": Namespace,
    "services": Service,
    "replicaSets": ReplicaSet,
    "replicationControllers": ReplicationController,
    "statefulSets": StatefulSet,
    "pvs": PersistentVolume,
    "pvcs": PersistentVolumeClaim,
    "storageClasses": StorageClass,
    "csiNodes": CSINode,
    "csiDrivers": CSIDriver,
    "csiStorageCapacities": CSIStorageCapacity,
    "volumeAttachments": VolumeAttachment,
    "pdbs": PodDisruptionBudget,
    "resourceClaims": ResourceClaim,
    "resourceSlices": ResourceSlice,
    "deviceClasses": DeviceClass,
    "deviceTaintRules": DeviceTaintRule,
    "nodes": Node,
    "pods": Pod,
}

_SEARCHED = (Outcome.SCHEDULED, Outcome.UNSCHEDULABLE)
#: A pod is tried at most this often where preemption is carried out.
MAX_ATTEMPTS = 3


@cache
def registry() -> Registry:
    return default_registry()


@cache
def _default(gates: FeatureGates) -> LoadResult:
    return default_config(registry=registry(), feature_gates=gates)


def build(scenario: dict[str, Any], release: str, *, by_strangers: bool = False) -> MemoryScheduler:
    """Return a scheduler of a minor release for a scenario; its pods to place are pending.

    `by_strangers` replaces each built-in plugin by a copy with another name.
    """
    gates = FeatureGates(scenario.get("featureGates"), parse_versions([release]))
    config = scenario.get("config")
    if config is None:
        loaded = _default(gates)
    else:
        loaded = load_config_data(config, registry=registry(), feature_gates=gates)
    objects = [
        decode_as(raw, kind) for field, kind in OBJECTS.items() for raw in scenario.get(field) or ()
    ]
    return MemoryScheduler(
        objects,
        config=strangers.by_strangers(loaded) if by_strangers else loaded,
        registry=strangers.registry() if by_strangers else registry(),
        features=gates,
        clock=VirtualClock(start=1_800_000_000.0),
        random=First(0),
        choose=by_name,
    )


class First(random.Random):
    """Takes the first where kube-scheduler takes any: the recorder kept the smallest name."""

    def choice(self, seq: Any) -> Any:
        return seq[0]


class Replay:
    """One scenario under way."""

    def __init__(
        self, scenario: dict[str, Any], release: str, *, by_strangers: bool = False
    ) -> None:
        self.scheduler = build(scenario, release, by_strangers=by_strangers)
        self.carries_out = bool(scenario.get("applyPreemption"))
        raw = scenario.get("podSequence") or [scenario["pod"]]
        self.is_sequence = "podSequence" in scenario
        self.pods = [decode_as(pod, Pod) for pod in raw]
        if self.is_sequence:
            for pod in self.pods:
                self.scheduler.cluster.add(pod)

    def plugins(self) -> dict[str, list[str]]:
        resolved = self.scheduler.profiles[self.pods[0].spec.scheduler_name].resolved
        return {
            point.key: names
            for point in CONFIGURABLE_POINTS
            if (names := list(resolved.names(point)))
        }

    def score_weights(self) -> dict[str, int]:
        resolved = self.scheduler.profiles[self.pods[0].spec.scheduler_name].resolved
        return dict(resolved.points[Point.SCORE])

    def one(self, *, examine: bool = True) -> dict[str, Any]:
        """Decide for the scenario's pod, looking at all nodes or only as far as is needed."""
        pod = self.pods[0]
        if not pod.spec.node_name:
            self.scheduler.cluster.add(pod)
        attempt = drive(self.scheduler.decide(pod, examine=examine))
        entry = self._as_recorded(attempt)
        self.scheduler.discard(attempt)
        return entry

    def sequence(self, recorded: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Place the pods in turn; only start times are taken from what was recorded."""
        entries: list[dict[str, Any]] = []
        left = [(pod, 1) for pod in self.pods]
        while left:
            pod, number = left.pop(0)
            start_time = None
            if len(entries) < len(recorded):
                start_time = recorded[len(entries)].get("startTime")
            current = self.scheduler.cluster.pods.get(pod.metadata.name, pod.metadata.namespace)
            if current is None:
                continue
            entry, attempt = self._try(current, start_time)
            if self.carries_out:
                entry["attempt"] = number
                if current.status.nominated_node_name:
                    entry["nominatedNodeName"] = current.status.nominated_node_name
                result = attempt.decision.post_filter
                if result is not None and result.nominated_node and number < MAX_ATTEMPTS:
                    left.append((pod, number + 1))
            entries.append(entry)
        return entries

    def _try(self, pod: Pod, start_time: str | None) -> tuple[dict[str, Any], Attempt]:
        scheduler = self.scheduler
        attempt = drive(scheduler.decide(pod, examine=True))
        entry = self._as_recorded(attempt)
        if attempt.decision.outcome is not Outcome.SCHEDULED:
            if self.carries_out:
                before = _nominations(scheduler)
                drive(scheduler.carry_out(attempt))
                after = _nominations(scheduler)
                cleared = sorted(key for key in before if key not in after and key != pod.key)
                if cleared:
                    entry["clearedNominations"] = cleared
            scheduler.discard(attempt)
            return entry, attempt
        if not drive(scheduler.reserve(attempt)):
            entry["reserve"] = status_entry(attempt.decision.errors[0])
            return entry, attempt
        assert attempt.assumed is not None
        placed = attempt.assumed.pod.status
        status = replace(placed, phase="Running", start_time=start_time, nominated_node_name="")
        scheduler.cluster.add(replace(attempt.assumed.pod, status=status))
        if start_time is not None:
            entry["startTime"] = start_time
        return entry, attempt

    def _as_recorded(self, attempt: Attempt) -> dict[str, Any]:
        """Put an attempt's decision into the form of `expected`."""
        decision = attempt.decision
        entry = as_recorded(decision)
        taken = {}
        for name in () if decision.feasible is None else decision.feasible.names:
            pod, _ = assumed_pod(attempt.profile, attempt.state, bare(decision.pod), name)
            if pod.status.node_allocatable_resource_claim_statuses:
                found = json.encode(pod.status.node_allocatable_resource_claim_statuses)
                taken[name] = json.decode(found)
        if taken:
            entry["nodeResources"] = taken
        return entry


def bare(pod: Pod) -> Pod:
    """Return a pod without the claim statuses that list consumed node resources."""
    return replace(pod, status=replace(pod.status, node_allocatable_resource_claim_statuses=()))


def _nominations(scheduler: MemoryScheduler) -> set[str]:
    nominator = scheduler.nominator
    return {pod.key for node in nominator.nodes() for pod in nominator.nominated_on(node)}


def status_entry(status: Status | None) -> dict[str, Any] | None:
    if status is None:
        return None
    return {
        "code": status.code.label,
        "plugin": status.plugin,
        "reasons": list(status.reasons),
    }


def as_recorded(decision: Decision) -> dict[str, Any]:
    """Put a decision into the form of `expected`."""
    names = [] if decision.feasible is None else list(decision.feasible.names)
    scheduled = decision.outcome is Outcome.SCHEDULED
    reached = decision.skipped_filter is not None
    entry: dict[str, Any] = {
        "pod": decision.pod.key,
        "outcome": decision.outcome.value,
        "preEnqueue": status_entry(decision.pre_enqueue),
        "preFilter": None,
        "filter": None,
        "skippedFilter": _sorted(decision.skipped_filter),
        "skippedScore": _sorted(decision.skipped_score),
        "feasible": sorted(names) if decision.outcome in _SEARCHED else None,
        "scores": None,
        "total": None,
        "best": sorted(decision.best) if scheduled else None,
        "chosen": decision.node_name,
        "message": decision.message,
        "preemption": _preemption(decision.post_filter),
    }
    if reached:
        entry["preFilter"] = {
            "status": status_entry(decision.pre_filter),
            "nodeNames": _sorted(decision.pre_filter_nodes),
        }
    if decision.statuses is not None:
        entry["filter"] = {name: status_entry(status) for name, status in decision.statuses.items()}
    if decision.totals is not None:
        entry["total"] = dict(zip(names, decision.totals.tolist(), strict=True))
        entry["scores"] = {
            plugin: {
                name: {"raw": raw, "normalized": normalized, "weight": scores.weight}
                for name, raw, normalized in zip(
                    names, scores.raw.tolist(), scores.normalized.tolist(), strict=True
                )
            }
            for plugin, scores in decision.scores.items()
        }
    note = event_note(decision.message)
    if note != decision.message:
        entry["eventMessage"] = note
    return entry


def _sorted(names: Any) -> list[str] | None:
    return None if names is None else sorted(names)


def _preemption(result: PostFilterResult | None) -> dict[str, Any] | None:
    if result is None:
        return None
    return {
        "status": status_entry(result.status),
        "nominatedNode": result.nominated_node or "",
        "victims": sorted(pod.key for pod in result.victims) or None,
        "candidates": {
            candidate.node_name: {
                "victims": sorted(pod.key for pod in candidate.victims),
                "numPDBViolations": candidate.pdb_violations,
            }
            for candidate in result.candidates
        }
        or None,
        "acceptable": sorted(c.node_name for c in result.candidates if c.acceptable) or None,
    }
