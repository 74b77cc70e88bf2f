"""One search serves a group of nodes, and its answer is that of every node of the group."""

from __future__ import annotations

from typing import Any

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from mooring.api import DeviceClass, ResourceClaim, ResourceSlice
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources import DynamicResources
from mooring.plugins.dynamic_resources.cel_budget import BudgetExceededError, CelBudget
from mooring.plugins.dynamic_resources.claim_reads import ClaimReads
from mooring.plugins.dynamic_resources.node_devices import NodeBlocks, NodeDevices
from mooring.plugins.dynamic_resources.node_groups import (
    GroupAnswer,
    GroupCache,
    NodeGroups,
    group_sequences,
)
from mooring.plugins.dynamic_resources.selectors import SelectorCache
from mooring.plugins.dynamic_resources.tracker import ClaimTracker
from tests.plugins.clusters import Cluster, make
from tests.plugins.dynamic_resources import clusters_of_devices as drawn
from tests.plugins.dynamic_resources.devices import (
    DRIVER,
    allocated_on,
    claim,
    device_class,
    pod,
)

POD = pod("pod", "c0", "c1")


def _start(cluster: Cluster) -> Any:
    handle: Any = cluster
    plugin = DynamicResources(handle=handle)
    plugin.start()
    return plugin


def _cluster(*slices: ResourceSlice) -> Cluster:
    nodes = [drawn.node(name, drawn.ZONES[i % 2]) for i, name in enumerate(drawn.NODES)]
    classes = [drawn.device_class("any"), drawn.device_class("a", drawn.SELECTORS[8])]
    return Cluster(nodes, objects=[*classes, *slices], gates=drawn.GATES)


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
            gone = self.bound.pop(what % len(self.bound))
            cluster.lister(ResourceClaim).delete(gone.metadata.name, "default")

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


@settings(max_examples=100, deadline=None)
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
    for wanted in claims:
        world.cluster.lister(ResourceClaim).add(wanted)
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
    nodes = [info.node for info in cluster.snapshot.infos()]
    return Cluster(nodes, objects=objects, gates=drawn.GATES)


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


# How often nodes are searched.


def _models(node_name: str, *models: str) -> ResourceSlice:
    devices = [
        {
            "name": f"d{i}",
            "attributes": {"model": {"string": model}, "uuid": {"string": f"{node_name}-{i}"}},
        }
        for i, model in enumerate(models)
    ]
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "nodeName": node_name, "pool": pool, "devices": devices}
    return make(ResourceSlice, f"slice-{node_name}", spec=spec)


class _Counted:
    """Nodes in groups, and the nodes that were searched."""

    def __init__(self, *slices: ResourceSlice) -> None:
        self.cluster = Cluster([drawn.node(name, "x") for name in drawn.NODES])
        self.slices = Store(slices)
        self.claims: Store[ResourceClaim] = Store()
        tracker = ClaimTracker(self.claims)
        self.devices = NodeDevices(self.slices, tracker, partitions=True, lists=False, shares=True)
        selectors = SelectorCache()
        reads = ClaimReads(self.devices.columns, selectors, lists=False, capacity=True)
        self.cache = GroupCache(self.devices, reads)
        self.classes = Store([device_class()])
        self.searched: list[str] = []

    def _search(self, node: NodeBlocks) -> GroupAnswer:
        self.searched.append(node.node.metadata.name)
        assert node.pools is not None
        refusal = None if node.pools.devices else Status.unresolvable("no devices")
        return GroupAnswer(node.pools, (), refusal)

    def ask(self, expression: str) -> tuple[list[str], set[str]]:
        """Return the nodes that were searched, and those that were refused."""
        self.searched.clear()
        selector = {"cel": {"expression": expression}}
        exactly = {"deviceClassName": "gpu", "selectors": [selector]}
        spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
        nodes = self.cluster.snapshot
        self.devices.refresh(nodes)
        groups = self.cache.of(
            [make(ResourceClaim, "c", "ns", spec=spec)], self.classes, CelBudget()
        )
        refused = {
            nodes.names[position]
            for _, mask in groups.ask(nodes, None, self._search, CelBudget())
            for position in np.flatnonzero(mask).tolist()
        }
        return list(self.searched), refused


MODEL = f'device.attributes["{DRIVER}"].model == "A"'
UUID = f'device.attributes["{DRIVER}"].uuid == "n1-0"'


def test_each_distinct_node_is_searched_once() -> None:
    one = _Counted(
        _models("n0", "A", "B"), _models("n1", "A", "B"), _models("n2", "B", "A"), _models("n3")
    )
    # n0 and n1 look the same; n3 and n4 have no devices, but only n3 has a pool.
    assert one.ask(MODEL) == (["n0", "n2", "n3", "n4"], {"n3", "n4"})
    assert one.ask(MODEL) == ([], {"n3", "n4"})
    # Only one device has the uuid of the other selector; models do not matter to it.
    assert one.ask(UUID)[0] == ["n0", "n1", "n3", "n4"]


def test_a_change_of_a_slice_concerns_only_its_node() -> None:
    one = _Counted(*(_models(name, "A", "B") for name in drawn.NODES))
    assert one.ask(MODEL)[0] == ["n0"]
    gathered = one.devices.gathered
    one.slices.add(_models("n2", "B", "B"))
    assert one.ask(MODEL)[0] == ["n2"]
    one.slices.add(_models("n4", "B", "B"))
    assert one.ask(MODEL)[0] == []
    assert one.devices.gathered == gathered + 2


def test_a_class_that_changes_makes_all_answers_old() -> None:
    one = _Counted(*(_models(name, "A", "B") for name in drawn.NODES))
    assert one.ask(MODEL)[0] == ["n0"]
    one.classes.add(device_class(selectors=[{"cel": {"expression": UUID}}]))
    assert one.ask(MODEL)[0] == ["n0", "n1"]


def test_a_device_that_is_taken_concerns_only_its_node() -> None:
    one = _Counted(*(_models(name, "A", "B") for name in drawn.NODES))
    assert one.ask(MODEL)[0] == ["n0"]
    gathered = one.devices.gathered
    for name in ("n3", "n1"):
        one.claims.add(claim(f"of-{name}", status=allocated_on(name)))
    assert one.ask(MODEL)[0] == ["n1"]
    one.claims.delete("of-n3", "default")
    assert one.ask(MODEL)[0] == []
    assert one.devices.gathered == gathered


def test_many_changes_at_once_are_applied_as_one_by_one() -> None:
    nodes = [drawn.node(f"m{i}", "x") for i in range(200)]
    one = _Counted()
    one.cluster = Cluster(nodes)
    for i in range(200):
        one.slices.add(_models(f"m{i}", "A" if i % 2 else "B"))
    assert one.ask(MODEL)[0] == ["m0", "m1"]
    for i in range(0, 200, 2):
        one.claims.add(claim(f"of-{i}", status=allocated_on(f"m{i}")))
    assert one.ask(MODEL)[0] == ["m0"]


def test_answers_of_nodes_that_share_a_pool_change_together() -> None:
    pool = {"name": "net", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "allNodes": True, "pool": pool, "devices": [{"name": "d0"}]}
    shared = make(ResourceSlice, "net", spec=spec)
    one = _Counted(shared, _models("n1", "A"))
    assert one.ask(MODEL)[0] == ["n0", "n1"]
    gathered = one.devices.gathered
    one.claims.add(claim("of-net", status=allocated_on("net")))
    assert one.ask(MODEL)[0] == ["n0", "n1"]
    assert one.devices.gathered == gathered


def test_an_error_comes_after_the_refusals_before_it_and_others_are_asked_only_then() -> None:
    one = _Counted(_models("n1", "A"), _models("n2", "B"), _models("n3", "C"))
    nodes = one.cluster.snapshot
    one.ask(MODEL)
    fresh = _Counted(*one.slices)
    fresh.devices.refresh(nodes)
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": MODEL}}]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    question = make(ResourceClaim, "c", "ns", spec=spec)
    groups = fresh.cache.of([question], fresh.classes, CelBudget())
    asked: list[str] = []

    def search(node: NodeBlocks) -> GroupAnswer | Status:
        name = node.node.metadata.name
        asked.append(name)
        assert node.pools is not None
        if name == "n1":
            return Status.error("lost")
        return GroupAnswer(node.pools, (), Status.unresolvable("no"))

    answers = groups.ask(nodes, None, search, CelBudget())
    first = next(answers)
    assert (first[0], first[1].tolist()) == (
        Status.unresolvable("no"),
        [True, False, False, False, True],
    )
    status, mask = next(answers)
    assert (status, mask.tolist()) == (Status.error("lost"), [False, True, False, False, False])
    assert asked == ["n0", "n1"]
    ((_, mask),) = answers
    assert mask.tolist() == [False, False, True, True, False]
    assert asked == ["n0", "n1", "n2"]


def _groups(one: _Counted) -> NodeGroups:
    exactly = {"deviceClassName": "gpu", "selectors": [{"cel": {"expression": MODEL}}]}
    spec = {"devices": {"requests": [{"name": "r", "exactly": exactly}]}}
    one.devices.refresh(one.cluster.snapshot)
    return one.cache.of([make(ResourceClaim, "c", "ns", spec=spec)], one.classes, CelBudget())


def test_searches_are_charged_in_every_attempt() -> None:
    one = _Counted(*(_models(name, "A", "B") for name in drawn.NODES[:2]), _models("n2", "B"))

    def search(node: NodeBlocks) -> GroupAnswer:
        one.searched.append(node.node.metadata.name)
        assert node.pools is not None
        return GroupAnswer(node.pools, (), cost=30)

    for _ in range(2):
        budget = CelBudget(100)
        assert list(_groups(one).ask(one.cluster.snapshot, None, search, budget)) == []
        # Three kinds of nodes, the last without devices.
        assert (len(one.searched), budget.left) == (3, 10)
    with pytest.raises(BudgetExceededError):
        list(_groups(one).ask(one.cluster.snapshot, None, search, CelBudget(89)))
    only = np.arange(len(drawn.NODES)) < 2
    budget = CelBudget(89)
    assert list(_groups(one).ask(one.cluster.snapshot, only, search, budget)) == []
    assert budget.left == 59


def test_a_search_that_exceeded_the_budget_is_not_repeated_with_the_same() -> None:
    one = _Counted(*(_models(name, "A", "B") for name in drawn.NODES))

    def search(node: NodeBlocks) -> GroupAnswer:
        one.searched.append(node.node.metadata.name)
        assert node.pools is not None
        if budget.left < 1000:
            raise BudgetExceededError
        return GroupAnswer(node.pools, (), cost=1000)

    for limit, searches, left in ((100, 1, 100), (100, 1, 100), (50, 1, 50), (5000, 2, 4000)):
        budget = CelBudget(limit)
        try:
            list(_groups(one).ask(one.cluster.snapshot, None, search, budget))
        except BudgetExceededError:
            assert limit < 1000
        assert (len(one.searched), budget.left) == (searches, left)
