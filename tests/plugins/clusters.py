"""A small cluster for tests of plugins: a cache, listers, and a handle with both."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Mapping
from typing import Any

import msgspec

from mooring.api import Node, Pod
from mooring.cache.cache import Cache
from mooring.framework.features import FeatureGates
from mooring.framework.nodes import Nodes
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.framework.releases import parse_versions
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.informers.store import Store
from mooring.observe.clock import VirtualClock
from mooring.observe.metrics import Metrics

HOSTNAME = "kubernetes.io/hostname"
ZONE = "topology.kubernetes.io/zone"


def make(kind: type[Any], name: str, namespace: str = "", **fields: Any) -> Any:
    """Build any object from JSON field names."""
    metadata = {"name": name, "namespace": namespace, **fields.pop("metadata", {})}
    return msgspec.convert({"metadata": metadata, **fields}, kind)


def make_node(name: str, labels: Mapping[str, str] | None = None, **spec: Any) -> Node:
    """Build a node with its hostname label and these labels."""
    labels = {HOSTNAME: name, **(labels or {})}
    return make(Node, name, metadata={"labels": labels}, spec=spec)


def make_pod(
    name: str,
    labels: Mapping[str, str] | None = None,
    *,
    node: str = "",
    namespace: str = "default",
    metadata: Mapping[str, Any] | None = None,
    **spec: Any,
) -> Pod:
    """Build a pod; `spec` and `metadata` take JSON field names."""
    about = {"uid": f"{namespace}/{name}", "labels": dict(labels or {}), **(metadata or {})}
    return make(Pod, name, namespace, metadata=about, spec={"nodeName": node, **spec})


class Cluster:
    """Nodes, pods and other objects; also the handle of the plugins under test."""

    def __init__(
        self,
        nodes: Iterable[Node] = (),
        pods: Iterable[Pod] = (),
        objects: Iterable[Any] = (),
        gates: Mapping[str, bool] | None = None,
        release: str = "1.37",
    ) -> None:
        self.features = FeatureGates(gates, parse_versions([release]))
        self.metrics = Metrics()
        self.clock = VirtualClock()
        self.random = random.Random(0)
        self._shared: dict[str, Any] = {}
        self._infos = PodInfos(self.features)
        self.cache = Cache(self._infos)
        self._stores: dict[Any, Store[Any]] = {}
        for node in nodes:
            self.cache.add_node(node)
        for pod in pods:
            self.cache.add_pod(pod)
        for one in objects:
            self.lister(type(one)).add(one)

    @property
    def snapshot(self) -> Nodes:
        """All nodes."""
        return self.cache.nodes

    def pod_info(self, pod: Pod) -> PodInfo:
        """Return the PodInfo of a pod."""
        return self._infos.of(pod)

    def lister(self, kind: Any) -> Store[Any]:
        """Return the objects of a kind."""
        return self._stores.setdefault(kind, Store())

    def progress(self) -> None:
        """Do nothing."""

    def shared(self, key: str, make: Callable[[], Any]) -> Any:
        """Return the value shared under a key."""
        return self._shared.setdefault(key, make())


def refusals(plugin: Any, state: CycleState, pod: Pod, nodes: Nodes) -> dict[str, Status]:
    """Run both forms of Filter, check that they agree, and return the refusals by node."""
    answers: dict[str, Status] = {}
    for status, mask in plugin.filter_nodes(state, pod, nodes):
        for name, refused in zip(nodes.names, mask.tolist(), strict=True):
            if refused:
                assert name not in answers, f"{name} is refused twice"
                answers[name] = status
    for info in nodes.infos():
        assert plugin.filter(state, pod, info) == answers.get(info.name), info.name
    return answers


def raw_scores(plugin: Any, state: CycleState, pod: Pod, nodes: Nodes) -> dict[str, int]:
    """Run both forms of Score, check that they agree, and return the scores by node."""
    found = plugin.score_nodes(state, pod, nodes)
    found = [found] * len(nodes) if isinstance(found, int) else found.tolist()
    scores = dict(zip(nodes.names, found, strict=True))
    for info in nodes.infos():
        assert plugin.score(state, pod, info) == scores[info.name], info.name
    return scores
