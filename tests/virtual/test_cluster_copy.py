"""Copies of the objects of a cluster, and other weights."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from mooring.api import CustomResource, ObjectMeta
from mooring.config import LoadResult, default_config
from mooring.config.load import load_config_data
from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.points import Point
from mooring.informers.store import Store
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from mooring.testing.builders import make_node, make_pod
from mooring.virtual.cluster_changes import drain
from mooring.virtual.cluster_copy import MOST_WEIGHT, ClusterCopy, copy_cluster, with_weights
from tests.apiserver.api_server import ApiServer
from tests.explain.test_live_examination import asked, node, pod

POLICIES = "policies.v1.example.com"


def weights(config: LoadResult, profile: int = 0) -> dict[str, int]:
    return dict(config.profiles[profile].points[Point.SCORE])


def test_only_the_named_weights_change() -> None:
    config = default_config(registry=default_registry())
    changed = with_weights(config, {"ImageLocality": 7, "NodeAffinity": 0})
    expected = {**weights(config), "ImageLocality": 7}
    del expected["NodeAffinity"]
    assert weights(changed) == expected
    assert "NodeAffinity" not in changed.profiles[0].names(Point.PRE_SCORE)
    assert "NodeAffinity" in changed.profiles[0].names(Point.FILTER)


def test_one_profile_or_all_of_them() -> None:
    document = {
        "apiVersion": "kubescheduler.config.k8s.io/v1",
        "kind": "KubeSchedulerConfiguration",
        "profiles": [{"schedulerName": "a"}, {"schedulerName": "b"}],
    }
    config = load_config_data(document, registry=default_registry())
    both = with_weights(config, {"ImageLocality": 7})
    assert [weights(both, i)["ImageLocality"] for i in range(2)] == [7, 7]
    one = with_weights(config, {"ImageLocality": 7}, "b")
    assert [weights(one, i)["ImageLocality"] for i in range(2)] == [1, 7]


@pytest.mark.parametrize(
    ("changed", "profile", "message"),
    [
        (
            {"NodeName": 1},
            "",
            'no Score plugin is called "NodeName"; Score plugins: Dyn',
        ),
        ({"ImageLocality": -1}, "", "must be 0 to 2147483647, got -1"),
        ({"ImageLocality": MOST_WEIGHT + 1}, "", "must be 0 to 2147483647, got 2147483648"),
        ({"ImageLocality": 1}, "x", 'there is no profile "x"; profiles: default-scheduler'),
    ],
)
def test_weights_that_cannot_be(changed: dict[str, int], profile: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        with_weights(default_config(registry=default_registry()), changed, profile)


class Reader(Plugin):
    """A plugin that reads resources of a kind that is not in the table."""

    seen: set[str] = set()  # noqa: RUF012

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        self.seen.update(one.name for one in self.handle.lister(POLICIES).list())


def test_resources_of_unknown_kinds_keep_their_name() -> None:
    policy = CustomResource(
        api_version="example.com/v1", kind="Policy", metadata=ObjectMeta(name="strict")
    )
    informers = [
        SimpleNamespace(name="nodes.v1.", store=Store([make_node("a"), make_node("b")])),
        SimpleNamespace(name="pods.v1.", store=Store([make_pod(node="a")])),
        SimpleNamespace(name=POLICIES, store=Store([policy])),
    ]
    running: Any = SimpleNamespace(informers=informers)
    registry = default_registry([Reader])
    config = default_config(registry=registry, enabled=[Reader.name])
    copy = copy_cluster(running, config, registry, FeatureGates())
    assert copy.custom == {POLICIES: [policy]}
    assert len(copy.objects) == 3
    drain(copy, ["a"])
    assert Reader.seen == {"strict"}


def test_a_scheduler_that_follows_a_cluster_is_copied_and_left_as_it_is() -> None:
    async def ask(running: RunningScheduler, server: ApiServer) -> tuple[ClusterCopy, Any]:
        registry = default_registry()
        config = default_config(registry=registry)
        copy = copy_cluster(running, config, registry, FeatureGates())
        nodes = running.scheduler.cache.nodes
        return copy, lambda: (nodes.generation, [len(info.pods) for info in nodes.infos()])

    copy, state = asked([node("a"), node("b"), pod("web", nodeName="a")], ask)
    before = state()
    found = drain(copy, ["a"])
    assert [(one.pod, one.from_node, one.to_node) for one in found.moved] == [
        ("default/web", "a", "b")
    ]
    assert state() == before
