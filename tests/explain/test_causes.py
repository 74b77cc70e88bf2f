"""Refused nodes grouped by cause, and the nearest misses."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from mooring.explain.causes import Cause, NearMiss
from mooring.framework.diagnosis import Shortfall
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain

GI = 2**30


class Odd(Plugin):
    """Refuses nodes whose name ends with an odd digit."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("odd") if int(node.name[-1]) % 2 else None

    def diagnose(self, state: Any, pod: Any, node: Any) -> str:
        return f"{node.name[-1]} is odd"


def test_nodes_are_grouped_by_their_first_refusal() -> None:
    nodes = [make_node(f"n{i}", cpu="1" if i < 3 else "4") for i in range(8)]
    (found,) = explain([*nodes, make_pod(cpu="2", memory="1Gi")], plugins=[Odd])
    assert [(cause.nodes, cause.status.plugin, cause.example) for cause in found.causes] == [
        (3, "NodeResourcesFit", "n0"),
        (3, "Odd", "n3"),
    ]
    assert found.causes[0].diagnosis == (Shortfall("cpu", 2000, 1000, 1000),)
    assert found.causes[1].diagnosis == "3 is odd"


def test_a_plugin_without_diagnose_adds_nothing() -> None:
    (found,) = explain([make_node("n1", unschedulable=True), make_pod()])
    (cause,) = found.causes
    assert cause == Cause(cause.status, 1, "n1", None)


def test_near_misses_are_refused_by_one_plugin_alone() -> None:
    nodes = [
        make_node("n0", cpu="1", memory="8Gi"),
        make_node("n1", cpu="1", memory="8Gi", taints=["a=b:NoSchedule"]),
        make_node("n2", cpu="4", memory="8Gi", taints=["a=b:NoSchedule"]),
    ]
    (found,) = explain([*nodes, make_pod(cpu="2")])
    assert [(miss.status.plugin, miss.nodes, miss.example) for miss in found.near_misses] == [
        ("TaintToleration", 1, "n2"),
        ("NodeResourcesFit", 1, "n0"),
    ]
    assert [dict(miss.missing) for miss in found.near_misses] == [{}, {"cpu": 1000}]


def test_nodes_that_lack_least_come_before_all_that_lack_the_same() -> None:
    sizes = ["3", "3", "2", "1"]
    nodes = [make_node(f"n{i}", cpu=cpu, memory="8Gi") for i, cpu in enumerate(sizes)]
    (found,) = explain([*nodes, make_pod(cpu="4")])
    status = found.causes[0].status
    assert list(found.near_misses) == [
        NearMiss(status, 2, "n0", {"cpu": 1000}),
        NearMiss(status, 2, found.near_misses[1].example, {"cpu": 3000}),
    ]
    # The example is one of the nodes that are counted.
    assert found.near_misses[1].example in ("n2", "n3")


def test_many_nodes_of_one_kind_are_diagnosed_once() -> None:
    asked = []

    class Counted(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status:
            return Status.unschedulable("full")

        def diagnose(self, state: Any, pod: Any, node: Any) -> list[Shortfall]:
            asked.append(node.name)
            return [Shortfall.of("example.com/disk", 2, 0)]

    nodes = [make_node(f"n{i}") for i in range(50)]
    attempts = explain([*nodes, make_pod()], plugins=[Counted])
    (miss,) = attempts[-1].near_misses
    assert (miss.nodes, dict(miss.missing)) == (50, {"example.com/disk": 2})
    assert len(asked) == len(attempts)


def test_a_diagnose_that_raises_is_logged_and_ignored(caplog: pytest.LogCaptureFixture) -> None:
    class Broken(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status:
            return Status.unschedulable("broken")

        def diagnose(self, state: Any, pod: Any, node: Any) -> str:
            raise KeyError("disk")

    with caplog.at_level(logging.WARNING):
        found = explain([make_node("n1"), make_pod()], plugins=[Broken])[-1]
    assert found.causes[0].diagnosis is None
    assert "plugin Broken: diagnose: " in caplog.text
