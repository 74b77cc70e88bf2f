"""Tests of the queueing hints of PodTopologySpread."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import Node, Pod
from mooring.framework.cluster_events import QueueingHint
from mooring.plugins.pod_topology_spread import PodTopologySpread
from tests.plugins.clusters import ZONE, Cluster, make_node, make_pod

_TWO_KEYS = (ZONE, "rack")


def _waiting(taints: str | None = None, tolerations: Any = ()) -> Pod:
    return make_pod(
        "waiting",
        {"app": "web"},
        tolerations=tolerations,
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": {"app": "web"}},
                "nodeTaintsPolicy": taints,
            }
            for key in _TWO_KEYS
        ],
    )


def _other(app: str, **fields: Any) -> Pod:
    return make_pod("other", {"app": app}, **{"node": "a", **fields})


_TOLERATION = [{"key": "gpu", "operator": "Exists"}]


@pytest.mark.parametrize(
    ("pod", "old", "new", "queued"),
    [
        pytest.param(_waiting(), None, _other("web"), True, id="a matching pod is added"),
        pytest.param(_waiting(), None, _other("db"), False, id="another pod is added"),
        pytest.param(
            _waiting(), None, _other("web", node=""), False, id="a matching pod without a node"
        ),
        pytest.param(
            _waiting(),
            None,
            _other("web", namespace="elsewhere"),
            False,
            id="a matching pod of another namespace",
        ),
        pytest.param(_waiting(), _other("web"), None, True, id="a matching pod is deleted"),
        pytest.param(_waiting(), _other("db"), None, False, id="another pod is deleted"),
        pytest.param(_waiting(), _other("db"), _other("web"), True, id="a pod comes to match"),
        pytest.param(_waiting(), _other("web"), _other("db"), True, id="a pod matches no longer"),
        pytest.param(
            _waiting(), _other("x"), _other("y"), False, id="labels that do not matter change"
        ),
        pytest.param(_waiting(), _other("web"), _other("web"), False, id="something else changes"),
        pytest.param(
            _waiting("Honor"),
            _waiting("Honor"),
            _waiting("Honor", _TOLERATION),
            True,
            id="the pod tolerates more, and taints are honoured",
        ),
        pytest.param(
            _waiting(),
            _waiting(),
            _waiting(None, _TOLERATION),
            False,
            id="the pod tolerates more, and taints are ignored",
        ),
    ],
)
def test_pod_change(pod: Pod, old: Pod | None, new: Pod | None, queued: bool) -> None:
    hint = PodTopologySpread(None, Cluster()).events_to_register()[0].hint
    assert hint is not None
    assert hint(pod, old, new) is (QueueingHint.QUEUE if queued else QueueingHint.SKIP)


def _node(*keys: str, value: str = "1", **spec: Any) -> Node:
    return make_node("n", dict.fromkeys(keys, value), **spec)


_TAINT = {"taints": [{"key": "gpu", "effect": "NoSchedule"}]}


@pytest.mark.parametrize(
    ("old", "new", "queued"),
    [
        pytest.param(None, _node(*_TWO_KEYS), True, id="a node with all keys is added"),
        pytest.param(None, _node(ZONE), False, id="a node with some keys is added"),
        pytest.param(_node(*_TWO_KEYS), None, True, id="a node with all keys is deleted"),
        pytest.param(_node(ZONE), None, False, id="a node with some keys is deleted"),
        pytest.param(_node(ZONE), _node(*_TWO_KEYS), True, id="a node gets all keys"),
        pytest.param(_node(*_TWO_KEYS), _node(ZONE), True, id="a node loses a key"),
        pytest.param(_node(*_TWO_KEYS), _node(*_TWO_KEYS, value="2"), True, id="a node moves"),
        pytest.param(
            _node(*_TWO_KEYS),
            _node(*_TWO_KEYS, "colour"),
            False,
            id="a label that does not matter changes",
        ),
        pytest.param(_node(*_TWO_KEYS, **_TAINT), _node(*_TWO_KEYS), True, id="a taint is removed"),
        pytest.param(
            _node(ZONE, **_TAINT), _node(ZONE), False, id="a taint is removed where keys lack"
        ),
    ],
)
def test_node_change(old: Node | None, new: Node | None, queued: bool) -> None:
    hint = PodTopologySpread(None, Cluster()).events_to_register()[2].hint
    assert hint is not None
    assert hint(_waiting(), old, new) is (QueueingHint.QUEUE if queued else QueueingHint.SKIP)
