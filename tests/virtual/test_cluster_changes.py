"""Questions about changes of a cluster: cordon, drain, more nodes, other weights."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pytest

from mooring.api import KubeObject, Pod
from mooring.config import default_config
from mooring.config.load import load_config_data
from mooring.errors import ConfigError, ObjectError
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.registry import default_registry
from mooring.testing.builders import make_node, make_pod
from mooring.virtual.cluster_changes import (
    add_nodes,
    change_config,
    change_weights,
    cordon,
    drain,
    may_move,
)
from mooring.virtual.cluster_copy import ClusterCopy, with_weights
from mooring.virtual.consequences import Consequences, MovedPod, PlacedPod, UnplacedPod

MIRROR = {"kubernetes.io/config.mirror": "hash"}
CORDONED = "node(s) were unschedulable"


def owned(kind: str) -> dict[str, Any]:
    owner = {"apiVersion": "apps/v1", "kind": kind, "name": "o", "uid": "o", "controller": True}
    return {"ownerReferences": [owner]}


def copy_of(objects: Iterable[KubeObject], *plugins: type[Plugin]) -> ClusterCopy:
    registry = default_registry(plugins)
    config = default_config(registry=registry, enabled=[plugin.name for plugin in plugins])
    return ClusterCopy(list(objects), config, registry, FeatureGates())


def requested(found: Consequences) -> tuple[dict[str, int], dict[str, int]]:
    """Return the cpu that is requested on each node, before and after."""
    before, after = (
        dict(zip(one.nodes, one.requested["cpu"].tolist(), strict=True))
        for one in (found.before, found.after)
    )
    return before, after


def test_a_drained_node_gives_its_pods_to_the_others() -> None:
    objects = [make_node("n1"), make_node("n2"), make_pod("web", cpu="1", node="n1")]
    found = drain(copy_of(objects), ["n1"])
    assert found.moved == [
        MovedPod("default/web", "n1", "n2", "NodeUnschedulable", 0, CORDONED),
    ]
    assert (found.unplaced, found.placed) == ([], [])
    assert requested(found) == ({"n1": 1000, "n2": 0}, {"n1": 0, "n2": 1000})


def test_pods_of_daemon_sets_mirror_pods_and_terminating_pods_stay() -> None:
    there = [
        make_pod("daemon", node="n1", metadata=owned("DaemonSet")),
        make_pod("mirror", node="n1", annotations=MIRROR),
        make_pod("leaving", node="n1", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"}),
        make_pod("web", node="n1", metadata=owned("ReplicaSet")),
    ]
    assert [may_move(pod) for pod in there] == [False, False, False, True]
    found = drain(copy_of([make_node("n1"), make_node("n2"), *there]), ["n1"])
    assert [one.pod for one in found.moved] == ["default/web"]
    assert found.unplaced == []


def test_what_no_longer_fits_is_named_with_the_message() -> None:
    objects = [
        make_node("n1", cpu="4"),
        make_node("n2", cpu="1"),
        make_pod("big", cpu="3", node="n1"),
        make_pod("small", cpu="1", node="n1"),
    ]
    found = drain(copy_of(objects), ["n1"])
    assert [(one.pod, one.to_node) for one in found.moved] == [("default/small", "n2")]
    (lost,) = found.unplaced
    assert (lost.pod, lost.from_node) == ("default/big", "n1")
    assert lost.message.startswith(
        "0/2 nodes are available: 1 Insufficient cpu, 1 node(s) were unschedulable."
    )


def test_a_pod_that_is_drained_may_preempt_and_its_victim_moves_on() -> None:
    objects = [
        make_node("n1"),
        make_node("n2"),
        make_node("n3", cpu="2"),
        make_pod("high", cpu="4", node="n1", priority=9),
        make_pod("low", cpu="2", node="n2", priority=1),
        make_pod("lowest", cpu="2", node="n3", priority=0),
    ]
    found = drain(copy_of(objects), ["n1"])
    assert {(one.pod, one.from_node, one.to_node, one.plugin) for one in found.moved} == {
        ("default/high", "n1", "n2", "NodeUnschedulable"),
        ("default/low", "n2", "n3", "NodeResourcesFit"),
    }
    assert [(one.pod, one.from_node) for one in found.unplaced] == [("default/lowest", "n3")]
    assert found.unplaced[0].message.startswith("0/3 nodes are available: ")


def test_pods_of_other_schedulers_are_left_to_them() -> None:
    objects = [make_node("n1"), make_pod("p", node="n1", scheduler_name="other")]
    found = drain(copy_of(objects), ["n1"])
    assert found.unserved == [
        UnplacedPod("default/p", "n1", 'no profile serves schedulerName "other"')
    ]
    assert (found.moved, found.unplaced) == ([], [])


def test_a_cordon_concerns_pending_pods_alone() -> None:
    objects = [
        make_node("n1", cpu="8", disk="ssd"),
        make_node("n2"),
        make_pod("there", node="n1"),
        make_pod("any", cpu="1"),
        make_pod("choosy", cpu="1", node_selector={"disk": "ssd"}),
        make_pod("huge", cpu="99"),
    ]
    found = cordon(copy_of(objects), ["n1"])
    assert [(one.pod, one.from_node, one.to_node) for one in found.moved] == [
        ("default/any", "n1", "n2")
    ]
    # The pod that was pending before is not a consequence.
    assert [(one.pod, one.from_node) for one in found.unplaced] == [("default/choosy", "n1")]


def test_new_nodes_let_pending_pods_in() -> None:
    objects = [
        make_node("n1", cpu="4", unschedulable=True, disk="ssd"),
        make_pod("there", cpu="3", node="n1"),
        make_pod("daemon", cpu="1", node="n1", metadata=owned("DaemonSet")),
        make_pod("a", cpu="3", node_selector={"disk": "ssd"}),
        make_pod("b", cpu="3"),
        make_pod("c", cpu="4"),
    ]
    found = add_nodes(copy_of(objects), "n1", 2)
    assert sorted(found.placed, key=lambda one: one.pod) == [
        PlacedPod("default/a", "n1-copy-1"),
        PlacedPod("default/b", "n1-copy-2"),
    ]
    # The third one does not fit beside the pod of the DaemonSet.
    before, after = requested(found)
    assert before == {"n1": 4000}
    assert after == {"n1": 4000, "n1-copy-1": 4000, "n1-copy-2": 4000}


def test_a_preemption_that_a_new_node_makes_unnecessary() -> None:
    objects = [
        make_node("n1"),
        make_pod("low", cpu="4", node="n1", priority=1),
        make_pod("high", cpu="4", priority=9),
    ]
    found = add_nodes(copy_of(objects), "n1", 1)
    assert [(one.pod, one.from_node, one.to_node) for one in found.moved] == [
        ("default/high", "n1", "n1-copy-1")
    ]
    assert found.placed == [PlacedPod("default/low", "n1")]


WEIGHTED = [
    make_node("empty", cpu="16", memory="64Gi"),
    make_node("images", cpu="4", images={"app:1": 200_000_000}),
    make_pod("web", cpu="1", memory="2Gi", image="app:1", node="empty", metadata=owned("X")),
    make_pod("other", cpu="1", memory="2Gi", node="empty", metadata=owned("X")),
]


def test_other_weights_place_pods_elsewhere() -> None:
    found = change_weights(copy_of(WEIGHTED), {"ImageLocality": 50})
    (moved,) = found.moved
    assert (moved.pod, moved.from_node, moved.to_node) == ("default/web", "empty", "images")
    assert moved.plugin == "ImageLocality"
    assert moved.change > 0
    # No pod that runs is moved by a scheduler.
    before, after = requested(found)
    assert before == after == {"empty": 2000, "images": 0}


def test_a_pod_that_would_go_elsewhere_anyway_is_not_moved_by_the_weights() -> None:
    objects = [*WEIGHTED, make_pod("astray", cpu="1", memory="2Gi", node="images")]
    found = change_weights(copy_of(objects), {"ImageLocality": 50})
    assert [one.pod for one in found.moved] == ["default/web"]


@pytest.mark.parametrize(
    ("weights", "moves"),
    [({"NodeResourcesFit": 9, "ImageLocality": 0}, True), ({"NodeAffinity": 1}, False)],
)
def test_weights_are_answered_as_a_configuration_with_them(
    weights: dict[str, int], moves: bool
) -> None:
    nodes = [
        make_node(f"n{i}", cpu=str(3 + i), images={"app:1": 10**9} if i % 2 else {})
        for i in range(9)
    ]
    pods = [
        make_pod(f"p{i}", cpu=f"{i % 4}00m", image="app:1", node=f"n{i % 9}") for i in range(25)
    ]
    copy = copy_of([*nodes, *pods, make_pod("waiting", cpu="1")])
    quick = change_weights(copy, weights)
    whole = change_config(copy, with_weights(copy.config, weights))
    assert (quick.moved, quick.unplaced) == (whole.moved, whole.unplaced)
    assert bool(quick.moved) is moves


def test_a_weight_of_nothing_takes_a_plugin_out() -> None:
    pod = make_pod(
        "picky",
        cpu="1",
        node="b",
        affinity={
            "nodeAffinity": {
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {
                        "weight": 1,
                        "preference": {
                            "matchExpressions": [
                                {"key": "disk", "operator": "In", "values": ["ssd"]}
                            ]
                        },
                    }
                ]
            }
        },
    )
    copy = copy_of([make_node("a", cpu="16"), make_node("b", disk="ssd"), pod])
    (moved,) = change_weights(copy, {"NodeAffinity": 0}).moved
    assert (moved.from_node, moved.to_node, moved.plugin) == ("b", "a", "NodeAffinity")
    assert moved.change == 200


def test_another_configuration_may_refuse_a_pods_node_or_all_nodes() -> None:
    copy = copy_of(
        [
            make_node("a", cpu="64", memory="64Gi", zone="x"),
            make_node("b", zone="y"),
            make_pod("p", cpu="1", node="a"),
            make_pod("q", cpu="9", node="a"),
        ]
    )
    rule = {"key": "topology.kubernetes.io/zone", "operator": "In", "values": ["y"]}
    terms = {"nodeSelectorTerms": [{"matchExpressions": [rule]}]}
    added = {"addedAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": terms}}
    config = load_config_data(
        {
            "apiVersion": "kubescheduler.config.k8s.io/v1",
            "kind": "KubeSchedulerConfiguration",
            "profiles": [{"pluginConfig": [{"name": "NodeAffinity", "args": added}]}],
        },
        registry=copy.registry,
    )
    found = change_config(copy, config)
    assert [(one.pod, one.to_node, one.plugin) for one in found.moved] == [
        ("default/p", "b", "NodeAffinity")
    ]
    assert "scheduler-enforced" in found.moved[0].reason
    assert [(one.pod, one.from_node) for one in found.unplaced] == [("default/q", "a")]
    # And back again: the node was refused before.
    back = change_config(
        ClusterCopy(copy.objects, config, copy.registry, copy.features), copy.config
    )
    assert {(one.pod, one.to_node, one.plugin) for one in back.moved} == {
        ("default/p", "a", "NodeAffinity")
    }


@pytest.mark.parametrize(
    ("ask", "message"),
    [
        (lambda copy: drain(copy, ["n1", "n9"]), 'there is no node "n9"'),
        (lambda copy: cordon(copy, ["n9"]), 'there is no node "n9"'),
        (lambda copy: add_nodes(copy, "n9", 1), 'there is no node "n9"'),
        (lambda copy: add_nodes(copy, "n1", 0), "must be at least 1, got 0"),
        (lambda copy: change_weights(copy, {"Imagelocality": 1}), 'no Score plugin is called "Ima'),
    ],
)
def test_a_question_that_cannot_be_answered(ask: Any, message: str) -> None:
    with pytest.raises((ConfigError, ObjectError), match=message):
        ask(copy_of([make_node("n1")]))


class Meddler(Plugin):
    """A plugin that starts work and keeps what it saw."""

    worked: list[str] = []  # noqa: RUF012

    def filter(self, state: Any, pod: Pod, node: Any) -> Status | None:
        self.handle.spawn(self._work(pod), pod)
        return None

    async def _work(self, pod: Pod) -> None:
        self.worked.append(pod.key)


def test_work_of_plugins_is_discarded_where_nothing_is_scheduled() -> None:
    change_weights(copy_of(WEIGHTED, Meddler), {"ImageLocality": 50})
    assert Meddler.worked == []


def test_a_question_can_be_ended() -> None:
    class EndedError(Exception):
        pass

    def end(tried: int, left: int) -> None:
        raise EndedError

    objects = [make_node("n1"), make_node("n2"), make_pod("web", node="n1")]
    with pytest.raises(EndedError):
        drain(copy_of(objects), ["n1"], end)
    with pytest.raises(EndedError):
        change_weights(copy_of(objects), {"ImageLocality": 2}, progress=end)


def test_the_objects_are_left_alone_and_the_same_question_gets_the_same_answer() -> None:
    nodes = [make_node(f"n{i}", cpu=str(2 + i % 3)) for i in range(12)]
    pods = [make_pod(f"p{i}", cpu="500m", node=f"n{i % 12}") for i in range(30)]
    copy = copy_of([*nodes, *pods, make_pod("waiting", cpu="1")])
    names = ["n1", "n4", "n7"]
    first, second = drain(copy, names), drain(copy, names)
    assert first.moved == second.moved
    assert len(first.moved) == sum(pod.spec.node_name in names for pod in pods)
    assert [obj.spec.node_name for obj in copy.objects if isinstance(obj, Pod)] == [
        *(pod.spec.node_name for pod in pods),
        "",
    ]
