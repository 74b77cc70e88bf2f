"""Tests of the selector that services and controllers give a pod."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import (
    EVERYTHING,
    ReplicaSet,
    ReplicationController,
    Selector,
    Service,
    StatefulSet,
)
from mooring.plugins.pod_topology_spread.default_selector import DefaultSelectors
from tests.plugins.clusters import Cluster, make, make_pod

_LABELS = {"app": "web", "tier": "front"}


def _service(name: str, selector: dict[str, str], namespace: str = "default") -> Service:
    service: Service = make(Service, name, namespace, spec={"selector": selector})
    return service


def _owned(kind: str, api_version: str = "apps/v1", **more: Any) -> dict[str, Any]:
    owner = {"apiVersion": api_version, "kind": kind, "name": "owner", "controller": True}
    return {"ownerReferences": [{**owner, **more}]}


_BY_HASH = {"selector": {"matchLabels": {"hash": "1"}}}


@pytest.mark.parametrize(
    ("objects", "metadata", "expected"),
    [
        pytest.param([], {}, "", id="nothing claims the pod"),
        pytest.param([_service("a", {"app": "web"})], {}, "app=web", id="one service"),
        pytest.param(
            [_service("a", {"app": "web"}), _service("b", {"tier": "front"})],
            {},
            "app=web,tier=front",
            id="two services",
        ),
        pytest.param(
            [_service("a", {"app": "web", "tier": "back"})],
            {},
            "",
            id="a service that half matches",
        ),
        pytest.param([_service("a", {"app": "web"}, "other")], {}, "", id="a service elsewhere"),
        pytest.param([_service("a", {})], {}, "", id="a service without a selector"),
        pytest.param(
            [make(ReplicaSet, "owner", "default", spec=_BY_HASH)],
            _owned("ReplicaSet"),
            "hash=1",
            id="a replica set, whether or not it matches",
        ),
        pytest.param(
            [_service("a", {"app": "web"}), make(StatefulSet, "owner", "default", spec=_BY_HASH)],
            _owned("StatefulSet"),
            "app=web,hash=1",
            id="a service and a stateful set",
        ),
        pytest.param(
            [make(ReplicationController, "owner", "default", spec={"selector": {"hash": "1"}})],
            _owned("ReplicationController", "v1"),
            "hash=1",
            id="a replication controller",
        ),
        pytest.param(
            [
                _service("a", {"app": "web"}),
                make(
                    ReplicaSet, "owner", "default", spec={"selector": {"matchLabels": {"app": "x"}}}
                ),
            ],
            _owned("ReplicaSet"),
            "app=web,app=x",
            id="a service and a replica set that contradict each other",
        ),
        pytest.param([], _owned("ReplicaSet"), "", id="an owner that is gone"),
        pytest.param(
            [make(ReplicaSet, "owner", "default", spec=_BY_HASH)],
            _owned("ReplicaSet", controller=False),
            "",
            id="an owner that is not the controller",
        ),
        pytest.param(
            [make(ReplicaSet, "owner", "default", spec=_BY_HASH)],
            _owned("ReplicaSet", "example.com/v1"),
            "",
            id="a controller of another group",
        ),
        pytest.param(
            [
                make(
                    ReplicaSet,
                    "owner",
                    "default",
                    spec={"selector": {"matchExpressions": [{"key": "a", "operator": "Near"}]}},
                )
            ],
            _owned("ReplicaSet"),
            "",
            id="a controller with a malformed selector",
        ),
    ],
)
def test_selector(objects: list[Any], metadata: dict[str, Any], expected: str) -> None:
    selectors = DefaultSelectors(Cluster(objects=objects))
    pod = make_pod("x", _LABELS, metadata=metadata)
    assert selectors.of(pod) == Selector.from_text(expected)


def test_an_answer_is_remembered_until_an_object_changes() -> None:
    cluster = Cluster(objects=[_service("a", {"app": "web"})])
    selectors = DefaultSelectors(cluster)
    pod = make_pod("x", _LABELS)
    assert selectors.of(pod) is selectors.of(make_pod("y", _LABELS))
    cluster.lister(Service).delete("a", "default")
    assert selectors.of(pod) == EVERYTHING


def test_a_service_is_found_among_thousands_without_a_scan() -> None:
    cluster = Cluster(
        objects=[_service(f"s{i}", {"app": f"app-{i}", "team": "one"}) for i in range(2000)]
    )
    selectors = DefaultSelectors(cluster)
    services = cluster.lister(Service)
    seen = 0
    by_index = services.by_index

    def counting(index: str, key: Any) -> list[Any]:
        nonlocal seen
        found = list(by_index(index, key))
        seen += len(found)
        return found

    services.by_index = counting  # type: ignore[method-assign]
    found = selectors.of(make_pod("x", {"app": "app-7", "team": "one"}))
    assert found == Selector.from_text("app=app-7,team=one")
    assert seen == 1
