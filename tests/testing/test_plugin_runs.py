from __future__ import annotations

from collections import Counter
from typing import Any

import msgspec
import numpy as np
import pytest

from mooring import Plugin, PluginError, Status
from mooring.api import Service, decode_as
from mooring.errors import ConfigErrors
from mooring.plugins.node_name import NodeName
from mooring.plugins.node_resources import Fit
from mooring.testing import make_node, make_pod, run_filter, run_score

LACKS = "node(s) lacked the label disk=ssd"


class OnSsd(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return None if node.labels.get("disk") == "ssd" else Status.unschedulable(LACKS)


class FastOnSsd(Plugin):
    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.unschedulable(LACKS), ~nodes.label_is("disk", "ssd")


class Narrowing(Plugin):
    class Args(msgspec.Struct):
        names: tuple[str, ...] = ("b",)

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        return set(self.args.names)

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return len(node.pods)

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        return scores * 10


class Spoilt(Plugin):
    """A plugin that returns the answer it is given."""

    def __init__(self, answer: Any) -> None:
        super().__init__()
        self._answer = answer

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return self._answer()

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 101


NODES = [make_node("a", disk="ssd"), make_node("b"), make_node("c")]


@pytest.mark.parametrize("plugin", [OnSsd, OnSsd(), FastOnSsd])
def test_filter_answers_for_every_node(plugin: Any) -> None:
    result = run_filter(plugin, pod=make_pod(), nodes=NODES)
    assert result.feasible == ["a"]
    assert result.reasons == {LACKS: 2}
    assert result.statuses["a"] is None
    assert result.statuses["b"] == Status.unschedulable(LACKS).by(
        type(plugin()).name if isinstance(plugin, type) else plugin.name
    )


def test_nodes_outside_the_set_of_pre_filter_are_refused() -> None:
    result = run_filter(Narrowing, pod=make_pod(), nodes=NODES)
    assert result.feasible == ["b"]
    assert result.reasons == {"node(s) didn't satisfy plugin(s) [Narrowing]": 2}


@pytest.mark.parametrize("args", [{"names": ["a", "c"]}, Narrowing.Args(("a", "c"))])
def test_args_are_given_as_in_a_file_or_as_the_plugin_declares_them(args: Any) -> None:
    assert run_filter(Narrowing, pod=make_pod(), nodes=NODES, args=args).feasible == ["a", "c"]


def test_args_are_checked() -> None:
    with pytest.raises(ConfigErrors, match="args of Narrowing"):
        run_filter(Narrowing, pod=make_pod(), nodes=NODES, args={"names": 1})


def test_an_instance_has_its_own_args() -> None:
    result = run_filter(Narrowing(Narrowing.Args(("c",))), pod=make_pod(), nodes=NODES)
    assert result.feasible == ["c"]
    with pytest.raises(TypeError, match="the instance has its own"):
        run_filter(Narrowing(), pod=make_pod(), nodes=NODES, args={})


def test_a_built_in_sees_the_pods_that_are_there() -> None:
    there = [make_pod("there", node="a", cpu="3")]
    result = run_filter(Fit, pod=make_pod(cpu="2"), nodes=NODES, pods=there)
    assert result.feasible == ["b", "c"]
    assert result.reasons == Counter({"Insufficient cpu": 1})


def test_a_pod_that_names_its_node_is_asked_about_and_not_there() -> None:
    assert run_filter(NodeName, pod=make_pod(node="b"), nodes=NODES).feasible == ["b"]


def test_a_plugin_may_ask_for_other_objects() -> None:
    class Asking(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
            found = [service.name for service in self.handle.lister(Service).list()]
            return Status.unschedulable(*found)

    service = decode_as({"metadata": {"name": "web", "namespace": "default"}}, Service)
    assert run_filter(Asking(), pod=make_pod(), nodes=NODES, objects=[service]).reasons == {
        "web": 3
    }


def test_a_pod_must_not_be_on_a_node_that_is_not_there() -> None:
    with pytest.raises(ValueError, match="pod default/lost is on node z, which is not among"):
        run_filter(OnSsd, pod=make_pod(), nodes=NODES, pods=[make_pod("lost", node="z")])


def test_a_plugin_that_raises_is_reported_with_its_traceback() -> None:
    with pytest.raises(PluginError, match=r"(?s)node a: ZeroDivisionError.*test_plugin_runs\.py"):
        run_filter(Spoilt(lambda: 1 / 0), pod=make_pod(), nodes=NODES)


def test_an_answer_of_the_wrong_type_is_reported() -> None:
    with pytest.raises(PluginError, match="filter must return a Status or None, got int 3"):
        run_filter(Spoilt(lambda: 3), pod=make_pod(), nodes=NODES)


def test_an_error_that_a_plugin_answers_is_an_answer() -> None:
    result = run_filter(Spoilt(lambda: Status.error("no answer")), pod=make_pod(), nodes=NODES)
    status = result.statuses["a"]
    assert status is not None
    assert status.is_error


def test_scores_come_raw_and_normalised_for_the_nodes_that_pass() -> None:
    pods = [make_pod("p", node="a"), make_pod("q", node="a"), make_pod("r", node="c")]
    result = run_score(Narrowing, pod=make_pod(), nodes=NODES, pods=pods, args={"names": ["a"]})
    assert (result.raw, result.normalized, result.best) == ({"a": 2}, {"a": 20}, ["a"])


def test_a_score_out_of_range_is_reported() -> None:
    with pytest.raises(PluginError, match="invalid score 101"):
        run_score(Spoilt(lambda: None), pod=make_pod(), nodes=NODES)


def test_a_plugin_that_steps_aside_scores_nothing() -> None:
    class Aside(Plugin):
        def pre_score(self, state: Any, pod: Any, nodes: Any) -> Status:
            return Status.skip()

        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            return np.zeros(len(nodes), dtype=np.int64)

    assert run_score(Aside, pod=make_pod(), nodes=NODES).raw == {}
