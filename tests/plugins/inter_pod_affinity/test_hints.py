"""Tests of the queueing hints of InterPodAffinity."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Node, Pod
from mooring.framework.cluster_events import QueueingHint
from mooring.plugins.inter_pod_affinity import InterPodAffinity
from tests.plugins.clusters import Cluster, make_node, make_pod


def _required(**terms: tuple[str, str]) -> dict[str, Any]:
    """Return one term for each app of a text, separated by commas."""
    return {
        side: {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}
                for app in apps.split(",")
            ]
        }
        for side, (apps, key) in terms.items()
    }


_LIKING = make_pod("waiting", {"app": "me"}, affinity=_required(podAffinity=("web", "zone")))
_HATING = make_pod("waiting", {"app": "me"}, affinity=_required(podAntiAffinity=("web", "zone")))
_PLAIN = make_pod("waiting", {"app": "me"})


def _other(app: str, **fields: Any) -> Pod:
    return make_pod("other", {"app": app}, **{"node": "a", **fields})


@pytest.mark.parametrize(
    ("pod", "old", "new", "queued"),
    [
        pytest.param(_LIKING, None, _other("web"), True, id="a liked pod is added"),
        pytest.param(_LIKING, None, _other("db"), False, id="another pod is added"),
        pytest.param(_LIKING, None, _other("web", node=""), False, id="a liked pod has no node"),
        pytest.param(
            _LIKING, None, _other("web", namespace="elsewhere"), False, id="a liked pod elsewhere"
        ),
        pytest.param(_HATING, None, _other("web"), False, id="a hated pod is added"),
        pytest.param(_LIKING, _other("db"), _other("web"), True, id="a pod comes to be liked"),
        pytest.param(_LIKING, _other("web"), _other("db"), False, id="a pod is liked no longer"),
        pytest.param(_HATING, _other("web"), _other("db"), True, id="a pod is hated no longer"),
        pytest.param(_HATING, _other("db"), _other("web"), False, id="a pod comes to be hated"),
        pytest.param(_HATING, _other("web"), None, True, id="a hated pod is deleted"),
        pytest.param(_LIKING, _other("web"), None, False, id="a liked pod is deleted"),
        pytest.param(
            _PLAIN,
            _other("web", affinity=_required(podAntiAffinity=("me", "zone"))),
            None,
            True,
            id="a pod that hated the pod is deleted",
        ),
    ],
)
@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_pod_change(pod: Pod, old: Pod | None, new: Pod | None, queued: bool, release: str) -> None:
    hint = InterPodAffinity(None, Cluster(release=release)).events_to_register()[0].hint
    assert hint is not None
    assert hint(pod, old, new) is (QueueingHint.QUEUE if queued else QueueingHint.SKIP)


_HATING_TWO = make_pod(
    "waiting", {"app": "me"}, affinity=_required(podAntiAffinity=("web,db", "z"))
)


@pytest.mark.parametrize(
    ("pod", "old", "new"),
    [
        pytest.param(_HATING_TWO, _other("web"), None, id="one of two hated pods is deleted"),
        pytest.param(_HATING_TWO, _other("web"), _other("x"), id="it is hated no longer"),
        pytest.param(
            _PLAIN,
            _other("web", affinity=_required(podAntiAffinity=("me,you", "zone"))),
            None,
            id="a pod that hated the pod and others is deleted",
        ),
    ],
)
def test_one_of_several_terms_is_enough_since_1_37(pod: Pod, old: Pod, new: Pod | None) -> None:
    for release, expected in (("1.36", QueueingHint.SKIP), ("1.37", QueueingHint.QUEUE)):
        hint = InterPodAffinity(None, Cluster(release=release)).events_to_register()[0].hint
        assert hint is not None
        assert hint(pod, old, new) is expected


def _node(**labels: str) -> Node:
    return make_node("n", labels)


@pytest.mark.parametrize(
    ("pod", "old", "new", "queued"),
    [
        pytest.param(_LIKING, None, _node(zone="x"), True, id="liking: a node with the key"),
        pytest.param(_LIKING, None, _node(), False, id="liking: a node without the key"),
        pytest.param(_LIKING, _node(), _node(zone="x"), True, id="liking: a node gets the key"),
        pytest.param(_LIKING, _node(zone="x"), _node(zone="y"), True, id="liking: a node moves"),
        pytest.param(_LIKING, _node(zone="x"), _node(), False, id="liking: a node loses the key"),
        pytest.param(
            _LIKING, _node(zone="x"), _node(zone="x", a="b"), False, id="liking: another label"
        ),
        pytest.param(_HATING, None, _node(), True, id="hating: any node"),
        pytest.param(_HATING, _node(), _node(zone="x"), False, id="hating: a node gets the key"),
        pytest.param(_HATING, _node(zone="x"), _node(zone="y"), True, id="hating: a node moves"),
        pytest.param(_HATING, _node(zone="x"), _node(), True, id="hating: a node loses the key"),
        pytest.param(_PLAIN, None, _node(zone="x"), False, id="neither"),
    ],
)
def test_node_change(pod: Pod, old: Node | None, new: Node, queued: bool) -> None:
    hint = InterPodAffinity(None, Cluster()).events_to_register()[2].hint
    assert hint is not None
    assert hint(pod, old, new) is (QueueingHint.QUEUE if queued else QueueingHint.SKIP)
