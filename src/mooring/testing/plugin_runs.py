"""Runs of a single plugin on a few pods and nodes, without a cluster."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
import numpy as np

from mooring.api import KubeObject, Node, Pod
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.testing.bench import Workbench, checked_objects


class FilterResult(msgspec.Struct, frozen=True):
    """The answers of a plugin's PreFilter and Filter."""

    #: The answer for every node, in the order of the nodes; None if the node passes.
    statuses: dict[str, Status | None]

    @property
    def feasible(self) -> list[str]:
        """Return the names of the nodes that pass."""
        return [name for name, status in self.statuses.items() if status is None]

    @property
    def reasons(self) -> Counter[str]:
        """Return how many nodes were refused for each reason."""
        refusals = (status for status in self.statuses.values() if status is not None)
        return Counter(reason for status in refusals for reason in status.reasons)


class ScoreResult(msgspec.Struct, frozen=True):
    """The scores of a plugin for the nodes that pass its own Filter."""

    raw: dict[str, int]
    #: After NormalizeScore, from 0 to 100; the same as `raw` if the plugin does not normalise.
    normalized: dict[str, int]

    @property
    def best(self) -> list[str]:
        """Return the names of the nodes with the highest normalised score."""
        top = max(self.normalized.values(), default=0)
        return [name for name, score in self.normalized.items() if score == top]


def run_filter(
    plugin: type[Plugin] | Plugin,
    *,
    pod: Pod,
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    objects: Iterable[KubeObject] = (),
    args: Any = None,
    features: Mapping[str, bool] | None = None,
) -> FilterResult:
    """Run one plugin alone and return which nodes it allows for a pod.

    `pods` are other pods, on nodes or pending; `objects` are other objects that the plugin may
    read. `args` is what a configuration file would contain, or the plugin's Args. Raise
    PluginError if the plugin raises or returns the wrong type.
    """
    workbench = Workbench(plugin, args=args, features=features)
    bench = workbench.place(cluster_of(pod, nodes, pods, objects))
    answers = bench.filter(CycleState(), pod)
    return FilterResult(dict(zip(bench.nodes.names, answers, strict=True)))


def run_score(
    plugin: type[Plugin] | Plugin,
    *,
    pod: Pod,
    nodes: Iterable[Node],
    pods: Iterable[Pod] = (),
    objects: Iterable[KubeObject] = (),
    args: Any = None,
    features: Mapping[str, bool] | None = None,
) -> ScoreResult:
    """Run one plugin alone and return its scores of the nodes for a pod.

    If the plugin filters too, only the nodes that pass are scored. The arguments are those of
    `run_filter`. If PreScore returns Skip, the result is empty.
    """
    workbench = Workbench(plugin, args=args, features=features)
    bench = workbench.place(cluster_of(pod, nodes, pods, objects))
    state = CycleState()
    answers = bench.filter(state, pod)
    feasible = bench.nodes.where(np.array([answer is None for answer in answers], dtype=np.bool_))
    found = bench.rank(state, pod, feasible).scores.get(bench.plugin.name)
    if found is None:
        return ScoreResult({}, {})
    names = feasible.names
    return ScoreResult(
        dict(zip(names, found.raw.tolist(), strict=True)),
        dict(zip(names, found.normalized.tolist(), strict=True)),
    )


def cluster_of(
    pod: Pod | None,
    nodes: Iterable[Node],
    pods: Iterable[Pod],
    objects: Iterable[KubeObject],
) -> list[KubeObject]:
    """Return the objects of a cluster in which a pod is tried."""
    # A pod that names its node is passed to the plugin but not added to the cluster.
    pending = [] if pod is None or pod.node_name else [pod]
    return checked_objects([*nodes, *objects, *pods, *pending])
