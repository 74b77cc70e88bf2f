"""Unschedulable pods, found by the plugins that refused them."""

from __future__ import annotations

import math

import pytest

from mooring.queue.queued_pod_info import QueuedPodInfo
from mooring.queue.unschedulable import UnschedulablePods
from tests.queue.pods import PROFILE, pod


def refused(name: str, *plugins: str, gate: str = "", at: float = 100.0) -> QueuedPodInfo:
    info = QueuedPodInfo(pod(name), at, 0)
    info.unschedulable_plugins = frozenset(plugins)
    info.gating_plugin = gate
    return info


def filled(*infos: QueuedPodInfo) -> UnschedulablePods:
    pods = UnschedulablePods()
    for info in infos:
        pods.add(info)
    pods.validate()
    return pods


def found(pods: UnschedulablePods, *plugins: str) -> list[str]:
    return sorted(info.pod.metadata.name for info in pods.refused_by(PROFILE, plugins))


@pytest.mark.parametrize(
    ("plugins", "names"),
    [
        pytest.param(["Fit"], ["both", "fit"], id="by one plugin"),
        pytest.param(["Fit", "Taints"], ["both", "fit", "taints"], id="by several, each pod once"),
        pytest.param(["Gate"], ["gated"], id="a gated pod by its gate"),
        pytest.param(["Other"], [], id="by a plugin that refused nobody"),
        pytest.param([], [], id="by none"),
    ],
)
def test_refused_by(plugins: list[str], names: list[str]) -> None:
    pods = filled(
        refused("fit", "Fit"),
        refused("taints", "Taints"),
        refused("both", "Fit", "Taints"),
        refused("gated", "Fit", "Gate", gate="Gate"),
    )
    assert found(pods, *plugins) == names
    assert pods.refused_by("another-profile", plugins) == []


def test_a_pod_whose_gate_changes_is_filed_anew() -> None:
    info = refused("a", "Gate", gate="Gate")
    pods = filled(info)
    assert pods.gated == 1
    info.gating_plugin = "Other"
    info.unschedulable_plugins |= {"Other"}
    pods.add(info)
    assert (found(pods, "Gate"), found(pods, "Other"), len(pods), pods.gated) == ([], ["a"], 1, 1)
    info.gating_plugin = ""
    pods.remove(info)
    assert (len(pods), pods.gated, pods.refusers(PROFILE)) == (0, 0, [])
    pods.validate()


def test_the_oldest_is_known_without_a_search() -> None:
    assert UnschedulablePods().oldest == math.inf
    old, young = refused("old", "P", at=100.0), refused("young", "P", at=200.0)
    pods = filled(young, old)
    assert pods.oldest == 100.0
    assert [info.key for info in pods.older_than(150.0)] == ["default/old"]
    old.flush_timestamp = 300.0
    assert pods.older_than(150.0) == []
    assert pods.oldest == 200.0
    assert pods.older_than(200.0) == []
    assert pods.older_than(math.nextafter(200.0, math.inf)) == [young]
