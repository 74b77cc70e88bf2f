"""One search serves a group of nodes, and its answer is that of every node of the group."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.api import DeviceClass, ResourceClaim, ResourceSlice
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.dynamic_resources import DynamicResources
from mooring.plugins.dynamic_resources.node_groups import group_sequences
from tests.plugins.clusters import Cluster
from tests.plugins.dynamic_resources import clusters_of_devices as drawn
from tests.plugins.dynamic_resources.devices import pod

POD = pod("pod", "c0", "c1")


def _start(cluster: Cluster) -> Any:
    handle: Any = cluster
    plugin = DynamicResources(handle=handle)
    plugin.start()
    return plugin


def _cluster(*slices: ResourceSlice) -> Cluster:
    nodes = [drawn.node(name, drawn.ZONES[i % 2]) for i, name in enumerate(drawn.NODES)]
    classes = [drawn.device_class("any"), drawn.device_class("a", drawn.SELECTORS[8])]
    return Cluster(nodes, objects=[*classes, *slices])


def _allocations(plugin: Any, state: CycleState, name: str) -> Any:
    """Return what Reserve allocates on a node, or its refusal."""
    status = plugin.reserve(state, POD, name)
    kept = state.read("DynamicResources")
    found = msgspec.to_builtins(kept.allocations)
    plugin.unreserve(state, POD, name)
    for allocation in found:
        for result in () if allocation is None else allocation["devices"]["results"]:
            if "shareID" in result:
                result["shareID"] = "*"
    return found if status is None else status


def _by_node(plugin: Any, cluster: Cluster) -> tuple[dict[str, Any], dict[str, int]]:
    """Ask node by node, up to the first error: return refusals or allocations, and scores."""
    state = CycleState()
    if plugin.pre_filter(state, POD, cluster.snapshot) is not None:
        return {}, {}
    answers: dict[str, Any] = {}
    for info in cluster.snapshot.infos():
        answers[info.name] = plugin.filter(state, POD, info)
        if answers[info.name] is not None and answers[info.name].is_error:
            return {"error": answers[info.name]}, {}
    scores = {info.name: plugin.score(state, POD, info) for info in cluster.snapshot.infos()}
    for name, status in answers.items():
        if status is None:
            answers[name] = _allocations(plugin, state, name)
    return answers, scores


def _by_group(plugin: Any, cluster: Cluster) -> tuple[dict[str, Any], dict[str, int]]:
    """Ask all nodes at once: return the same."""
    state, nodes = CycleState(), cluster.snapshot
    if plugin.pre_filter(state, POD, nodes) is not None:
        return {}, {}
    answers: dict[str, Any] = dict.fromkeys(nodes.names)
    for status, mask in plugin.filter_nodes(state, POD, nodes):
        if status.is_error:
            return {"error": status}, {}
        for position in np.flatnonzero(mask).tolist():
            assert answers[nodes.names[position]] is None, "refused twice"
            answers[nodes.names[position]] = status
    scored = plugin.score_nodes(state, POD, nodes)
    scores = [scored] * len(nodes) if isinstance(scored, int) else scored.tolist()
    for name, status in answers.items():
        if status is None:
            answers[name] = _allocations(plugin, state, name)
    return answers, dict(zip(nodes.names, scores, strict=True))


@st.composite
def _changes(draw: Any) -> tuple[str, Any]:
    """Draw a change of the cluster, or a pod to schedule."""
    kind = draw(
        st.sampled_from(["slice", "slice", "gone", "pod", "pod", "free", "label", "node", "class"])
    )
    if kind == "slice":
        return kind, draw(drawn.slices())
    if kind in ("label", "node"):
        return kind, (draw(st.sampled_from(drawn.NODES)), draw(st.sampled_from(drawn.ZONES)))
    return kind, draw(st.integers(0, 100))


class _World:
    """A cluster, the plugin under test, and the claims that were allocated."""

    def __init__(self, cluster: Cluster) -> None:
        self.cluster = cluster
        self.plugin = _start(cluster)
        self.bound: list[ResourceClaim] = []

    def change(self, kind: str, what: Any) -> None:
        """Make a change."""
        cluster = self.cluster
        slices = cluster.lister(ResourceSlice)
        if kind == "slice":
            slices.add(what)
        elif kind == "gone" and len(slices):
            slices.delete(list(slices)[what % len(slices)].metadata.name)
        elif kind == "label":
            node = drawn.node(*what)
            cluster.cache.update_node(node) if what[0] in cluster.snapshot.names else None
        elif kind == "node":
            if what[0] in cluster.snapshot.names and len(cluster.snapshot) > 1:
                cluster.cache.remove_node(what[0])
            elif what[0] not in cluster.snapshot.names:
                cluster.cache.add_node(drawn.node(*what))
        elif kind == "class":
            selectors = drawn.SELECTORS[what % len(drawn.SELECTORS)]
            cluster.lister(DeviceClass).add(drawn.device_class("a", selectors))
        elif kind == "free" and self.bound:
            claim = self.bound.pop(what % len(self.bound))
            cluster.lister(ResourceClaim).delete(claim.metadata.name, "default")

    def take(self, answers: dict[str, Any], number: int) -> None:
        """Let another claim have the devices that were found on a node."""
        names = [name for name, found in sorted(answers.items()) if isinstance(found, list)]
        if not names:
            return
        for i, allocation in enumerate(answers[names[number % len(names)]]):
            stored = self.cluster.lister(ResourceClaim).get(f"c{i}", "default")
            assert stored is not None
            name = f"bound-{number}-{i}-{len(self.bound)}"
            status = msgspec.convert({"allocation": allocation}, type(stored.status))
            metadata = replace(stored.metadata, name=name, uid=f"uid-{name}")
            self.bound.append(replace(stored, metadata=metadata, status=status))
            self.cluster.lister(ResourceClaim).add(self.bound[-1])


@settings(max_examples=150, deadline=None)
@given(
    first=st.lists(drawn.slices(), max_size=12),
    claims=st.tuples(drawn.claims("c0"), drawn.claims("c1")),
    changes=st.lists(_changes(), max_size=8),
)
def test_groups_answer_as_their_nodes_do(
    first: list[ResourceSlice],
    claims: tuple[ResourceClaim, ResourceClaim],
    changes: list[tuple[str, Any]],
) -> None:
    world = _World(_cluster(*first))
    for claim in claims:
        world.cluster.lister(ResourceClaim).add(claim)
    for kind, what in [("pod", 0), *changes, ("pod", 0)]:
        world.change(kind, what)
        found, scores = _by_group(world.plugin, world.cluster)
        assert (found, scores) == _by_node(world.plugin, world.cluster)
        # A plugin that has just started has seen none of the changes.
        assert (found, scores) == _by_node(_start(_copy(world.cluster)), world.cluster)
        if kind == "pod":
            world.take(found, what)


def _copy(cluster: Cluster) -> Cluster:
    """Return a cluster with the same nodes and objects."""
    kinds = (DeviceClass, ResourceClaim, ResourceSlice)
    objects = [one for kind in kinds for one in cluster.lister(kind)]
    return Cluster([info.node for info in cluster.snapshot.infos()], objects=objects)


@given(
    sequences=st.lists(
        st.tuples(st.integers(0, 2), st.lists(st.integers(0, 3), max_size=4)), max_size=12
    )
)
def test_equal_sequences_are_one_group(sequences: list[tuple[int, list[int]]]) -> None:
    values = np.array([value for _, one in sequences for value in one], dtype=np.int64)
    counts = np.array([len(one) for _, one in sequences], dtype=np.intp)
    extras = np.array([extra for extra, _ in sequences], dtype=np.intp)
    first, groups = group_sequences(values, counts, extras)
    for i, group in enumerate(groups.tolist()):
        assert sequences[int(first[group])] == sequences[i]
    assert len(first) == len({(extra, tuple(one)) for extra, one in sequences})


def test_a_status_is_a_refusal() -> None:
    assert not Status.unschedulable("x").is_error
