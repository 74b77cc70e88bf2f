from __future__ import annotations

import gc
from typing import Any

import msgspec
import pytest

from mooring import Plugin, PluginError, Status
from mooring.contrib import samples
from mooring.framework.points import Point, points_of
from mooring.plugins import BUILT_INS
from mooring.plugins.deferred_pod_scheduling import DeferredPodScheduling
from mooring.plugins.image_locality import ImageLocality
from mooring.plugins.inter_pod_affinity import InterPodAffinity
from mooring.plugins.node_ports import NodePorts
from mooring.plugins.node_resources import Fit
from mooring.plugins.pod_topology_spread import PodTopologySpread
from mooring.plugins.volumes import VolumeBinding, VolumeRestrictions
from mooring.testing import check_plugin, make_node, make_pod
from tests.testing import broken

SAMPLES = [getattr(samples, name) for name in samples.__all__]

#: Built-ins that rarely apply need more clusters until they have given both answers.
ROUNDS = 30


@pytest.mark.parametrize("plugin", BUILT_INS, ids=lambda plugin: plugin.name)
def test_a_built_in_keeps_the_contract(plugin: type[Plugin]) -> None:
    report = check_plugin(plugin, rounds=ROUNDS)
    points = points_of(plugin)
    assert report.attempts
    if Point.FILTER in points:
        assert report.passed
    # The gate of DeferredPodScheduling is off.
    if Point.FILTER in points and plugin.name != "DeferredPodScheduling":
        assert report.refused
        assert report.tried
    if Point.SCORE in points and plugin.name != "VolumeBinding":
        assert report.scored
    if Point.RESERVE in points:
        assert report.reserved


def test_storage_capacity_is_scored_where_its_gate_is_on() -> None:
    assert check_plugin(VolumeBinding, features={"StorageCapacityScoring": True}).scored


def test_deferred_resizes_are_refused_where_their_gate_is_on() -> None:
    deferred = {"type": "PodResizePending", "status": "True", "reason": "Deferred"}
    policy = {"podPreemptionPolicy": {"disableResizePreemption": ["someone"]}}
    report = check_plugin(
        DeferredPodScheduling,
        nodes=[make_node("strict", spec=policy)],
        pods=[make_pod("grown", status={"conditions": [deferred]})],
        features={"InPlacePodVerticalScalingSchedulerPreemption": True},
    )
    assert report.passed
    assert report.refused


@pytest.mark.parametrize("plugin", SAMPLES, ids=lambda plugin: plugin.__name__)
def test_a_sample_keeps_the_contract(plugin: type[Plugin]) -> None:
    report = check_plugin(plugin)
    if plugin is not samples.SamplePlugin and Point.FILTER in points_of(plugin):
        assert report.passed
        assert report.refused


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (broken.Misspelt, "has a method `pre_bnd`: did you mean `pre_bind`"),
        (broken.Remembers, "the same input gives the same answer"),
        (broken.LikesTheFirstRow, "the order of nodes does not matter"),
        (broken.ScoresTooHigh, r"returns an invalid score \d+, it should in the range of \[0, 100"),
        (broken.NormalisesTooHigh, "returns an invalid score -1"),
        (broken.RemembersNodes, "a change of the cluster is seen"),
        (broken.FilterRaises, r"(?s)node n\d: LookupError: no such label.*broken\.py"),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else "",
)
def test_a_broken_promise_is_named(plugin: Any, message: str) -> None:
    broken.check(plugin, message)


def _mutant(plugin: type[Plugin], **methods: Any) -> type[Plugin]:
    """Return a built-in plugin with some methods replaced."""
    return type(plugin.__name__, (plugin,), {"name": plugin.name, **methods})


def _nothing(self: Any, *args: Any) -> None: ...


def _scores_one_more(self: Any, state: Any, pod: Any, node: Any) -> int:
    return min(Fit.score(self, state, pod, node) + 1, 100)


@pytest.mark.parametrize(
    ("plugin", "message"),
    [
        (_mutant(InterPodAffinity, add_pod=_nothing), "add_pod"),
        (_mutant(InterPodAffinity, remove_pod=_nothing), "remove_pod"),
        (_mutant(PodTopologySpread, add_pod=_nothing), "add_pod"),
        (_mutant(VolumeRestrictions, remove_pod=_nothing), "remove_pod"),
        (_mutant(NodePorts, filter=_nothing), "both forms agree"),
        (_mutant(Fit, score=_scores_one_more), "both forms agree"),
        (_mutant(VolumeBinding, unreserve=_nothing), "unreserve takes back"),
        (_mutant(ImageLocality, score_nodes=lambda self, *args: 3), "both forms agree"),
    ],
    ids=[
        "InterPodAffinity that adds no pod",
        "InterPodAffinity that removes no pod",
        "PodTopologySpread that adds no pod",
        "VolumeRestrictions that removes no pod",
        "NodePorts that refuses no single node",
        "NodeResourcesFit whose node form is off by one",
        "VolumeBinding that gives nothing back",
        "ImageLocality whose vector form knows no image",
    ],
)
def test_a_built_in_that_is_broken_is_found_out(plugin: type[Plugin], message: str) -> None:
    with pytest.raises(PluginError, match=message):
        check_plugin(plugin, rounds=200)


def test_a_failure_can_be_seen_again() -> None:
    with pytest.raises(PluginError, match=r"the same again: seed=(\d+), rounds=1") as caught:
        check_plugin(broken.FiltersDiffer, seed=100)
    seed = int(str(caught.value).partition("seed=")[2].partition(",")[0])
    assert seed >= 100
    with pytest.raises(PluginError) as again:
        check_plugin(broken.FiltersDiffer, seed=seed, rounds=1)
    assert str(again.value) == str(caught.value)


class Rare(Plugin):
    """A plugin that is wrong only in a case that no generated cluster contains."""

    class Args(msgspec.Struct):
        limit: int = 1

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("rare") if node.allocatable.get("x.io/y", 0) > 6 else None

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.unschedulable("rare"), nodes.allocatable("x.io/y") > self.args.limit


def test_own_nodes_bring_in_what_no_generated_cluster_has() -> None:
    check_plugin(Rare)
    nodes = [make_node("own", resources={"x.io/y": 5})]
    with pytest.raises(PluginError, match="node own: both forms agree"):
        check_plugin(Rare, nodes=nodes)
    check_plugin(Rare, nodes=nodes, args={"limit": 6})


def test_own_pods_are_asked_about() -> None:
    class Picky(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> None:
            if pod.name == "own":
                raise LookupError(pod.name)

    check_plugin(Picky)
    with pytest.raises(PluginError, match="LookupError: own"):
        check_plugin(Picky, pods=[make_pod("own")])


class Spawns(Plugin):
    """A plugin that begins work beside the cycle."""

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
        """Begin the work."""
        self.handle.spawn(self._work(), pod)

    async def _work(self) -> None:
        """Do nothing."""


def test_work_that_a_plugin_spawns_causes_no_warning(recwarn: pytest.WarningsRecorder) -> None:
    check_plugin(Spawns, rounds=1)
    gc.collect()
    assert [str(one.message) for one in recwarn] == []
