"""PreFilter: refusals, narrowing and skipping, as in RunPreFilterPlugins."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cycle.pre_filter import run_extension
from mooring.framework.decision import Outcome
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from tests.cycle.scheduling import decide, make_nodes, make_pod, make_scheduler, plugin, refuse

NODES = make_nodes("n1", "n2", "n3")


def answers(called: str, answer: Any) -> Any:
    return plugin(called, pre_filter=lambda state, pod, nodes: answer)


def test_an_unresolvable_refusal_stops_at_once() -> None:
    asked = []

    def later(state: Any, pod: Any, nodes: Any) -> None:
        asked.append(pod)

    decision = decide(
        [answers("A", Status.unresolvable("never")), plugin("B", pre_filter=later)], NODES
    )
    assert asked == []
    assert decision.message == "0/3 nodes are available: never."
    assert decision.pre_filter == Status.unresolvable("never").by("A")
    assert decision.unschedulable_plugins == {"A"}


def test_an_unschedulable_refusal_lets_the_others_run_and_the_last_wins() -> None:
    decision = decide(
        [
            answers("A", Status.unschedulable("first")),
            answers("B", Status.skip()),
            answers("C", Status.unschedulable("last")),
        ],
        NODES,
    )
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == "0/3 nodes are available: last."
    assert decision.skipped_filter == {"B"}


def test_node_names_are_intersected_and_the_others_are_unresolvable() -> None:
    decision = decide([answers("B", {"n1", "n2"}), answers("A", {"n2", "n3", "elsewhere"})], NODES)
    assert decision.node_name == "n2"
    assert decision.pre_filter_nodes == {"n2"}
    assert decision.statuses is not None
    outside = Status.unresolvable("node(s) didn't satisfy plugin(s) [A B]")
    assert dict(decision.statuses.items()) == {"n1": outside, "n2": None, "n3": outside}


@pytest.mark.parametrize(
    ("plugins", "text"),
    [
        pytest.param([answers("A", set())], "node(s) didn't satisfy plugin A", id="one plugin"),
        pytest.param(
            [answers("B", {"n1"}), answers("A", {"n2"})],
            "node(s) didn't satisfy plugin(s) [A B] simultaneously",
            id="two plugins that exclude each other",
        ),
    ],
)
def test_no_name_left_is_a_refusal(plugins: Any, text: str) -> None:
    decision = decide(plugins, NODES)
    assert decision.pre_filter == Status.unresolvable(text)
    assert decision.message == f"0/3 nodes are available: {text}."


def test_names_outside_are_counted_in_the_message() -> None:
    decision = decide([answers("A", {"n2"}), refuse("n2")], NODES)
    assert decision.message == (
        "0/3 nodes are available: 1 Refuse said no, 2 node(s) didn't satisfy plugin(s) [A]."
    )
    assert decision.unschedulable_plugins == {"A", "Refuse"}


def test_a_plugin_that_steps_aside_is_not_asked_to_filter() -> None:
    class Aside(refuse("n1", "n2", "n3", called="Aside")):  # type: ignore[misc]
        name = "Aside"

        def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Status:
            return Status.skip()

    assert decide([Aside], NODES).outcome is Outcome.SCHEDULED


def _raises(state: Any, pod: Any, nodes: Any) -> None:
    raise ValueError("boom")


def _reads(state: Any, pod: Any, nodes: Any) -> None:
    state.read("nothing")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param(
            answers("A", Status.error("disk on fire")),
            'running PreFilter plugin "A": disk on fire',
            id="an error status",
        ),
        pytest.param(
            plugin("A", pre_filter=_raises),
            'running PreFilter plugin "A": plugin A, point PreFilter: ValueError: boom',
            id="an exception",
        ),
        pytest.param(
            plugin("A", pre_filter=_reads),
            'running PreFilter plugin "A": not found',
            id="state that nobody wrote",
        ),
        pytest.param(
            answers("A", ["n1"]),
            "plugin A, point PreFilter: pre_filter must return a set of node names, a Status or "
            "None, got list ['n1']",
            id="the wrong type",
        ),
    ],
)
def test_a_fault_ends_the_cycle(broken: Any, message: str) -> None:
    decision = decide([broken], NODES)
    assert decision.outcome is Outcome.ERROR
    assert decision.message == message
    assert [status.plugin for status in decision.errors] == ["A"]
    assert decision.errors[0].code is Code.ERROR


def test_the_traceback_of_an_exception_is_kept() -> None:
    decision = decide([plugin("A", pre_filter=_raises)], NODES)
    assert 'raise ValueError("boom")' in decision.errors[0].traceback


@pytest.mark.parametrize(
    ("answers", "skipped", "told", "message"),
    [
        pytest.param([None, None, None], "", "ABC", "", id="all"),
        pytest.param([Status.success(), None, None], "", "ABC", "", id="success"),
        pytest.param([Status.success("fine"), None, None], "", "ABC", "", id="success with a text"),
        pytest.param([None, None, None], "A", "BC", "", id="but who stepped aside"),
        pytest.param(
            [None, Status.unschedulable("no"), None],
            "",
            "AB",
            'running AddPod on PreFilter plugin "B": no',
            id="until one fails",
        ),
        pytest.param(
            [None, True, None],
            "",
            "AB",
            'running AddPod on PreFilter plugin "B": plugin B, point PreFilter, node n1: '
            "AddPod must return a Status or None, got bool True",
            id="until one breaks the contract",
        ),
    ],
)
def test_every_plugin_that_precomputes_is_told_of_a_pod(
    answers: list[Any], skipped: str, told: str, message: str
) -> None:
    heard: list[str] = []

    def made(name: str, answer: Any) -> Any:
        return plugin(
            name,
            pre_filter=lambda *_: None,
            add_pod=lambda *_: heard.append(name) or answer,
            filter=lambda *_: None,
        )

    plugins = [made(name, answer) for name, answer in zip("ABC", answers, strict=True)]
    profile = make_scheduler(plugins, make_nodes("n1")).profiles["default-scheduler"]
    handle: Any = profile.handle
    state = CycleState()
    state.skip_filter_plugins = frozenset(skipped)
    info, node = handle.pod_info(make_pod()), handle.snapshot.info(0)
    found = run_extension(profile.add_pod, "AddPod", state, make_pod(), info, node)
    assert heard == list(told)
    assert (found.message if found is not None else "") == message
