"""`check_plugin` on plugins with `diagnose`."""

from __future__ import annotations

from typing import Any

import pytest

from mooring import Plugin, PluginError, Status
from mooring.framework.diagnosis import Detail, Shortfall
from mooring.plugins.node_resources.fit import Fit
from mooring.plugins.taint_toleration import TaintToleration
from mooring.testing import check_plugin, make_node, make_pod


class Narrow(Plugin):
    """Refuses nodes with less than 64 cores."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("small") if node.allocatable.get("cpu", 0) < 64_000 else None

    def diagnose(self, state: Any, pod: Any, node: Any) -> Any:
        return [Shortfall.of("cpu", 64_000, node.allocatable.get("cpu", 0))]


class Short(Narrow):
    def diagnose(self, state: Any, pod: Any, node: Any) -> Any:
        return [Shortfall.of("cpu", 63_000, node.allocatable.get("cpu", 0))]


class Empty(Narrow):
    def diagnose(self, state: Any, pod: Any, node: Any) -> Any:
        return ""


class EmptyDetail(Narrow):
    def diagnose(self, state: Any, pod: Any, node: Any) -> Any:
        return Detail("", ("disk",))


class Number(Narrow):
    def diagnose(self, state: Any, pod: Any, node: Any) -> Any:
        return 3


class Raises(Narrow):
    def diagnose(self, state: Any, pod: Any, node: Any) -> Any:
        raise KeyError("x")


class Forgets(Narrow):
    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
        state.write("Forgets", True)

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("small") if state.get("Forgets") else None

    def diagnose(self, state: Any, pod: Any, node: Any) -> Any:
        state.write("Forgets", False)
        return "small"


def test_answers_about_refused_nodes_are_counted() -> None:
    report = check_plugin(Narrow, rounds=3)
    assert report.diagnosed == report.refused > 0


@pytest.mark.parametrize("plugin", [Fit, TaintToleration])
def test_plugins_of_kube_scheduler_keep_the_contract(plugin: type[Plugin]) -> None:
    node = make_node("tainted", taints=["a=b:NoSchedule"])
    report = check_plugin(plugin, nodes=[node], pods=[make_pod("big", cpu="900")], rounds=5)
    assert report.diagnosed


@pytest.mark.parametrize(
    ("plugin", "text"),
    [
        (Short, "a node that is given what diagnose calls short passes: small"),
        (Empty, "diagnose returns a text, a Detail, Shortfalls or None: it returned ''"),
        (EmptyDetail, "diagnose returns a text, a Detail, Shortfalls or None: it returned Detail("),
        (Number, "diagnose returns a text, a Detail, Shortfalls or None: it returned 3"),
        (Raises, "diagnose raises nothing: KeyError: 'x'"),
        (Forgets, "diagnose changes no answer"),
    ],
)
def test_a_wrong_answer_is_named(plugin: type[Plugin], text: str) -> None:
    with pytest.raises(PluginError) as caught:
        check_plugin(plugin, rounds=3)
    assert text in str(caught.value)
