"""One plugin in a cluster in memory."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring import Plugin, PluginError, Status
from mooring.errors import ConfigErrors
from mooring.framework.state import CycleState
from mooring.testing import make_node, make_pod
from mooring.testing.bench import Workbench, checked_objects, raise_breach

NODES = [make_node("a", disk="ssd"), make_node("b"), make_node("c", disk="ssd")]
NO = Status.unschedulable("no")


class Disk(Plugin):
    class Args(msgspec.Struct):
        kind: str = "ssd"

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return None if node.labels.get("disk") == self.args.kind else NO

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return len(node.name)


class Narrowing(Disk):
    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        return {"a", "b"} if pod.name != "refused" else NO


def refused(plugin: Any, pod: str = "p", **fields: Any) -> list[bool]:
    bench = Workbench(plugin, **fields).place(NODES)
    return [answer is not None for answer in bench.filter(CycleState(), make_pod(pod))]


def test_a_filter_is_asked_about_every_node() -> None:
    assert refused(Disk) == [False, True, False]
    assert refused(Disk, args={"kind": "hdd"}) == [True, True, True]
    assert refused(Disk, args=Disk.Args(kind="ssd")) == [False, True, False]


def test_nodes_that_pre_filter_leaves_out_are_refused() -> None:
    assert refused(Narrowing) == [False, True, True]
    assert refused(Narrowing, "refused") == [True, True, True]


def test_both_ways_of_asking_agree() -> None:
    bench = Workbench(Disk).place(NODES)
    state, pod = CycleState(), make_pod("p")
    assert bench.ask_each(state, pod, bench.nodes) == bench.ask_nodes(state, pod, bench.nodes)


def test_scores_are_kept_as_they_were_given() -> None:
    bench = Workbench(Disk).place(NODES)
    found = bench.rank(CycleState(), make_pod("p"), bench.nodes).scores["Disk"]
    assert found.raw.tolist() == [1, 1, 1]


def test_an_instance_serves_every_cluster_and_keeps_its_handle() -> None:
    plugin = Disk()
    workbench = Workbench(plugin)
    first = workbench.place(NODES)
    handle = plugin.handle
    second = workbench.place(NODES)
    assert first.plugin is second.plugin is plugin
    assert plugin.handle is handle is not None


@pytest.mark.parametrize(
    ("plugin", "args", "message"),
    [
        (object, None, "expected a plugin class or a plugin"),
        (Disk(), {"kind": "x"}, "args belong to a class; the instance has its own"),
    ],
)
def test_what_cannot_be_tried_is_said(plugin: Any, args: Any, message: str) -> None:
    with pytest.raises(TypeError, match=message):
        Workbench(plugin, args=args)


def test_args_that_do_not_fit_are_errors_of_the_configuration() -> None:
    with pytest.raises(ConfigErrors, match=r"args of Disk.*must be a string"):
        Workbench(Disk, args={"kind": 7})


def test_a_plugin_may_take_the_name_of_an_installed_one() -> None:
    class Mine(Plugin):
        name = "NodeName"

        def filter(self, state: Any, pod: Any, node: Any) -> Status:
            return NO

    assert refused(Mine) == [True, True, True]


class Wrong(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return "no" if node.name == "b" else None

    def score(self, state: Any, pod: Any, node: Any) -> int:
        raise LookupError("no such score")


def test_what_breaks_the_contract_is_raised() -> None:
    bench = Workbench(Wrong).place(NODES)
    with pytest.raises(PluginError, match="must return a Status or None"):
        bench.filter(CycleState(), make_pod("p"))
    with pytest.raises(PluginError, match="LookupError: no such score"):
        bench.rank(CycleState(), make_pod("p"), bench.nodes)


@pytest.mark.parametrize(
    ("status", "is_breach"),
    [
        (None, False),
        (NO, False),
        (Status.error("the plugin says so itself"), False),
        (Status.error("plugin P, point Filter: wrong"), True),
        (msgspec.structs.replace(Status.error("x"), traceback="Traceback"), True),
    ],
)
def test_an_error_that_a_plugin_returns_is_no_breach(status: Any, is_breach: bool) -> None:
    if not is_breach:
        raise_breach(status, "P")
        return
    with pytest.raises(PluginError) as raised:
        raise_breach(status, "P")
    assert raised.value.plugin == "P"


def test_a_pod_needs_its_node() -> None:
    pod = make_pod("p", node="z")
    assert checked_objects([make_node("z"), pod])[1] is pod
    with pytest.raises(ValueError, match="pod default/p is on node z, which is not among"):
        checked_objects([make_node("b"), make_node("a"), pod])
