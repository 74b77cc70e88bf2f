"""Small clusters for plugin tests, which check that all forms of a plugin agree."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from mooring.api import Node, Pod, decode_as
from mooring.cache import Cache
from mooring.framework.features import FeatureGates
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.framework.releases import parse_versions
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.framework.what_if import WhatIf
from mooring.informers.store import Store

Verdict = tuple[str, tuple[str, ...]] | None


def make_node(name: str, **parts: Any) -> Node:
    """Make a node: `labels`, `taints`, `allocatable`, `images`, `features`, `unschedulable`."""
    allocatable = {"cpu": "4", "memory": "8Gi", "pods": "110", **parts.get("allocatable", {})}
    return decode_as(
        {
            "metadata": {"name": name, "labels": parts.get("labels", {})},
            "spec": {
                "taints": parts.get("taints", []),
                "unschedulable": parts.get("unschedulable", False),
            },
            "status": {
                "allocatable": {key: value for key, value in allocatable.items() if value},
                "images": [
                    {"names": [image], "sizeBytes": size}
                    for image, size in parts.get("images", {}).items()
                ],
                "declaredFeatures": parts.get("features", []),
            },
        },
        Node,
    )


def make_pod(name: str = "pod", node: str = "", **parts: Any) -> Pod:
    """Make a pod: `requests` of its one container, `spec` and `status` for everything else."""
    spec: dict[str, Any] = {
        "containers": [{"name": "c", "resources": {"requests": parts.get("requests", {})}}],
        "nodeName": node,
        **parts.get("spec", {}),
    }
    return decode_as(
        {
            "metadata": {"name": name, "namespace": "default", "uid": parts.get("uid", name)},
            "spec": spec,
            "status": parts.get("status", {}),
        },
        Pod,
    )


class StubHandle:
    """A handle with what the node plugins use."""

    def __init__(self, features: FeatureGates, stores: Mapping[type, Store[Any]]) -> None:
        self.features = features
        self.pod_infos = PodInfos(self.features)
        self.cache = Cache(self.pod_infos)
        self._stores = stores

    @property
    def snapshot(self) -> Nodes:
        return self.cache.nodes

    def pod_info(self, pod: Pod) -> PodInfo:
        return self.pod_infos.of(pod)

    def lister(self, kind: type) -> Store[Any]:
        return self._stores.get(kind) or Store()


class Cluster:
    """Nodes and pods in a cache, with a handle on it."""

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        pods: Iterable[Pod] = (),
        gates: Mapping[str, bool] | None = None,
        objects: Iterable[Any] = (),
        release: str = "1.37",
    ) -> None:
        stores: dict[type, Store[Any]] = {}
        for obj in objects:
            stores.setdefault(type(obj), Store()).add(obj)
        self.handle: Any = StubHandle(FeatureGates(gates, parse_versions([release])), stores)
        for node in nodes:
            self.handle.cache.add_node(node)
        for pod in pods:
            self.handle.cache.add_pod(pod)

    @property
    def nodes(self) -> Nodes:
        return self.handle.snapshot

    def make(self, plugin: type[Plugin], args: Any = None) -> Any:
        return plugin(args, self.handle)

    def filter(self, plugin: Any, pod: Pod) -> dict[str, Verdict] | Status:
        """Run PreFilter and every form of Filter; return each node's verdict, None if it passes.

        If PreFilter refuses or returns Skip, its status is returned.
        """
        state = CycleState()
        if hasattr(plugin, "pre_filter"):
            answer = plugin.pre_filter(state, pod, self.nodes)
            if isinstance(answer, Status):
                return answer
        return self.filter_only(plugin, pod, state)

    def filter_only(self, plugin: Any, pod: Pod, state: CycleState) -> dict[str, Verdict]:
        verdicts = [_verdict(plugin.filter(state, pod, info)) for info in self.nodes.infos()]
        assert _vector_verdicts(plugin, state, pod, self.nodes) == verdicts
        backwards = np.arange(len(self.nodes), dtype=np.intp)[::-1]
        for some in (self.nodes.select(backwards), WhatIf(self.nodes, backwards)):
            assert _vector_verdicts(plugin, state, pod, some) == verdicts[::-1]
        for row in range(len(self.nodes)):
            one = self.nodes.select(np.array([row], dtype=np.intp))
            assert _vector_verdicts(plugin, state, pod, one) == [verdicts[row]]
        return dict(zip(self.nodes.names, verdicts, strict=True))

    def score(self, plugin: Any, pod: Pod) -> dict[str, int] | Status:
        """Run PreScore and both forms of Score; return each node's raw score."""
        state = CycleState()
        if hasattr(plugin, "pre_score"):
            answer = plugin.pre_score(state, pod, self.nodes)
            if answer is not None:
                return answer
        return self.score_only(plugin, pod, state)

    def score_only(self, plugin: Any, pod: Pod, state: CycleState) -> dict[str, int]:
        scores = [plugin.score(state, pod, info) for info in self.nodes.infos()]
        assert _scores(plugin, state, pod, self.nodes) == scores
        backwards = np.arange(len(self.nodes), dtype=np.intp)[::-1]
        assert _scores(plugin, state, pod, self.nodes.select(backwards)) == scores[::-1]
        return dict(zip(self.nodes.names, scores, strict=True))

    def normalized(self, plugin: Any, pod: Pod) -> dict[str, int]:
        """Return each node's normalised score."""
        scores = self.score(plugin, pod)
        assert isinstance(scores, dict)
        raw = np.array(list(scores.values()), dtype=np.int64)
        normal = plugin.normalize_score(CycleState(), pod, raw)
        return dict(zip(scores, normal.tolist(), strict=True))


def _scores(plugin: Any, state: CycleState, pod: Pod, nodes: Nodes) -> list[int]:
    found = plugin.score_nodes(state, pod, nodes)
    if isinstance(found, int):
        return [found] * len(nodes)
    assert found.dtype == np.int64
    return found.tolist()


def _verdict(status: Status | None) -> Verdict:
    return None if status is None else (status.code.label, status.reasons)


def _vector_verdicts(plugin: Any, state: CycleState, pod: Pod, nodes: Nodes) -> list[Verdict]:
    reasons: list[tuple[str, ...]] = [()] * len(nodes)
    codes: list[Code | None] = [None] * len(nodes)
    for status, mask in plugin.filter_nodes(state, pod, nodes):
        assert mask.shape == (len(nodes),)
        for position in np.flatnonzero(mask).tolist():
            reasons[position] += status.reasons
            if codes[position] is not Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                codes[position] = status.code
    return [
        None if code is None else (code.label, why)
        for code, why in zip(codes, reasons, strict=True)
    ]


def hints(plugin: Any) -> dict[tuple[str, str], Any]:
    """Return the hint functions of a plugin's events, by resource and actions."""
    return {
        (event.resource.value, actions_of(event)): event.hint
        for event in plugin.events_to_register()
    }


def actions_of(event: Any) -> str:
    """Return the actions of an event as text, single bits joined by "|"."""
    return "|".join(action.label for action in type(event.actions) if action & event.actions)


def refused(*reasons: str) -> Verdict:
    """Return the verdict of a refusal that preemption might resolve."""
    return "Unschedulable", reasons


def unresolvable(*reasons: str) -> Verdict:
    """Return the verdict of a refusal that preemption cannot resolve."""
    return "UnschedulableAndUnresolvable", reasons
