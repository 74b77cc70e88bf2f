"""The releases that can be emulated, and the flags that choose one."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates
from mooring.framework.points import Point
from mooring.framework.releases import NEWEST, RELEASES, V1_36, V1_37, parse_versions
from mooring.testing.builders import make_node, make_pod
from mooring.virtual.memory_scheduler import MemoryScheduler


def test_the_newest_release_is_the_default() -> None:
    found = parse_versions()
    assert found.release is NEWEST is V1_37
    assert (found.min_compatibility_text, found.is_newest_only) == ("1.36", False)


@pytest.mark.parametrize("text", ["1.36", "v1.36", "kube=1.36", " kube = 1.36", "1.36.0"])
def test_a_release_is_named_by_its_minor_version(text: str) -> None:
    found = parse_versions([text])
    assert found.release is V1_36
    assert found.min_compatibility_text == "1.35"


def test_the_minimum_compatibility_version_is_at_most_the_emulated_one() -> None:
    assert parse_versions([], ["1.37"]).is_newest_only
    assert parse_versions(["1.36"], ["kube=1.36"]).is_newest_only
    assert parse_versions([], ["1.34"]).min_compatibility == (1, 34)


@pytest.mark.parametrize(
    ("emulated", "compatible", "error"),
    [
        (["foo"], [], 'could not parse "foo" as version'),
        (["1"], [], 'illegal version string "1"'),
        (["01.36"], [], 'illegal zero-prefixed version component "01" in "01.36"'),
        (["1.36.4"], [], "patch version not allowed, got: kube=1.36.4"),
        (["1.36", "kube=1.37"], [], "duplicate version flag, kube=1.36 and kube=1.37"),
        (["wardle=1.36"], [], "component not registered: wardle"),
        (["1.35"], [], "emulation version 1.35 is not between [1.36, 1.37.0]"),
        (["1.38"], [], "emulation version 1.38 is not between [1.36, 1.37.0]"),
        ([], ["1.33"], "minCompatibilityVersion version 1.33 is not between [1.34, 1.37]"),
        (["1.36"], ["1.37"], "minCompatibilityVersion version 1.37 is not between [1.34, 1.36]"),
        (
            ["1.20"],
            ["1.37"],
            "[emulation version 1.20 is not between [1.36, 1.37.0], "
            "minCompatibilityVersion version 1.37 is not between [1.34, 1.20]]",
        ),
    ],
)
def test_wrong_versions_are_refused_in_one_line(
    emulated: list[str], compatible: list[str], error: str
) -> None:
    with pytest.raises(ConfigError) as raised:
        parse_versions(emulated, compatible)
    assert str(raised.value) == error


def test_releases_are_in_order_and_differ_in_every_field() -> None:
    numbers = [release.number for release in RELEASES]
    assert numbers == sorted(numbers)
    for field in type(V1_36).__struct_fields__:
        assert getattr(V1_36, field) != getattr(V1_37, field), field


def scheduler(release: str, *objects: Any) -> MemoryScheduler:
    return MemoryScheduler(objects, features=FeatureGates(None, parse_versions([release])))


@pytest.mark.parametrize(
    ("release", "priority", "message"),
    [
        (
            "1.36",
            0,
            "no new claims to deallocate, preemption: 0/1 nodes are available: 1 No preemption "
            "victims found for incoming pod.",
        ),
        (
            "1.37",
            0,
            "preemption: 0/1 nodes are available: 1 No preemption victims found for incoming pod.",
        ),
        ("1.36", 1, ""),
        (
            "1.37",
            1,
            "preemption: found a potential placement for pod on node n1, preempting 1 victims",
        ),
    ],
)
def test_messages_of_unschedulable_pods(release: str, priority: int, message: str) -> None:
    pod = make_pod("pod", cpu="2", priority=priority)
    found = scheduler(release, make_node("n1", cpu="2"), make_pod("other", cpu="1", node="n1"), pod)
    decision = asyncio.run(found.schedule_one(pod))
    text = "0/1 nodes are available: 1 Insufficient cpu."
    assert decision.message == f"{text} {message}".strip()


@pytest.mark.parametrize(
    ("release", "names"),
    [
        ("1.36", ["NodeAffinity", "NodePorts", "NodeResourcesFit"]),
        ("1.37", ["NodeName", "NodeUnschedulable", "TaintToleration"]),
    ],
)
def test_plugins_at_pre_filter(release: str, names: list[str]) -> None:
    (profile,) = scheduler(release).profiles.values()
    assert list(profile.resolved.names(Point.PRE_FILTER))[:3] == names
    assert set(profile.resolved.names(Point.FILTER)) >= {"NodeName", "NodeUnschedulable"}


@pytest.mark.parametrize(
    ("release", "reason"),
    [
        ("1.36", "node(s) didn't match the requested node name"),
        ("1.37", "node(s) didn't satisfy plugin(s) [NodeName]"),
    ],
)
def test_a_pod_that_names_its_node(release: str, reason: str) -> None:
    pod = make_pod("pod", cpu="2", spec={"nodeName": "n1"})
    found = scheduler(release, make_node("n1", cpu="1"), make_node("n2", cpu="4"))
    message = asyncio.run(found.decide(pod)).decision.message
    assert message.startswith(f"0/2 nodes are available: 1 Insufficient cpu, 1 {reason}.")
