"""TopologicalSort orders the pods of an AppGroup by index, and everything else by priority."""

from __future__ import annotations

import itertools
import random

import pytest

from mooring import QueuedPod
from mooring.api import AppGroup, Pod, decode_as
from mooring.api.app_group import APP_GROUP_LABEL, WORKLOAD_LABEL
from mooring.contrib.topological_sort import TopologicalSort
from mooring.testing import check_plugin, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler


def group(name: str, created: str = "2026-01-01T00:00:00Z") -> AppGroup:
    order = [{"workload": {"selector": f"w{index}"}, "index": index} for index in range(4)]
    return decode_as(
        {
            "metadata": {"name": name, "namespace": "default", "creationTimestamp": created},
            "status": {"topologyOrder": order},
        },
        AppGroup,
    )


def member(name: str, group: str, workload: str, priority: int = 0) -> Pod:
    labels = {APP_GROUP_LABEL: group, WORKLOAD_LABEL: workload}
    return make_pod(name, labels=labels, priority=priority)


def plugin_with(*objects: AppGroup | Pod) -> TopologicalSort:
    scheduler = MemoryScheduler(objects)
    plugin = TopologicalSort(None, next(iter(scheduler.profiles.values())).handle)
    plugin.start()
    return plugin


def order(plugin: TopologicalSort, pods: list[Pod]) -> list[str]:
    queued = [QueuedPod(pod, float(index)) for index, pod in enumerate(pods)]
    return [one.pod.name for one in sorted(queued, key=plugin.sort_key)]


def test_what_others_depend_on_goes_first_whatever_its_priority() -> None:
    pods = [member("c", "shop", "w3", 9), member("b", "shop", "w1"), member("a", "shop", "w0", 5)]
    assert order(plugin_with(group("shop"), *pods), pods) == ["a", "b", "c"]


def test_pods_outside_groups_go_by_priority_and_time() -> None:
    pods = [make_pod("a"), make_pod("b", priority=5), make_pod("c", priority=5)]
    assert order(plugin_with(*pods), pods) == ["b", "c", "a"]


def test_a_pod_whose_group_does_not_exist_counts_as_one_outside_groups() -> None:
    pods = [make_pod("a"), member("b", "missing", "w1", 5), member("c", "missing", "w0")]
    assert order(plugin_with(*pods), pods) == ["b", "a", "c"]


def test_a_group_goes_where_its_highest_priority_belongs() -> None:
    pods = [make_pod("low"), make_pod("high", priority=9)]
    pods += [member("w1", "shop", "w1", 5), member("w0", "shop", "w0")]
    plugin = plugin_with(group("shop", "2030-01-01T00:00:00Z"), *pods)
    assert order(plugin, pods) == ["high", "w0", "w1", "low"]


@pytest.mark.parametrize("seed", range(20))
def test_it_is_a_strict_weak_order(seed: int) -> None:
    rng = random.Random(seed)
    pods = [
        member(
            f"p{n}",
            rng.choice(("", "shop", "bank", "gone")),
            f"w{rng.randrange(5)}",
            rng.randrange(3),
        )
        for n in range(8)
    ]
    plugin = plugin_with(group("shop"), group("bank"), *pods)
    queued = [QueuedPod(pod, float(rng.randrange(3))) for pod in pods]
    less = plugin.less
    for a, b, c in itertools.product(queued, repeat=3):
        assert not less(a, a)
        assert not (less(a, b) and less(b, a))
        assert not less(a, b) or less(a, c) or less(c, b)


def test_it_keeps_the_contract() -> None:
    pods = [member("a", "shop", "w1"), member("b", "shop", "w0", 7), make_pod("c")]
    report = check_plugin(TopologicalSort, pods=pods, objects=[group("shop")], rounds=5)
    assert report.attempts


def test_an_empty_list_of_namespaces_is_the_default_one() -> None:
    assert TopologicalSort.Args(namespaces=()).namespaces == ("default",)
