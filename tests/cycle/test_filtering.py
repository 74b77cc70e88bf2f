"""Filter: the first refusal counts, overlapping masks join their reasons, faults end the cycle."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.framework.decision import Outcome
from mooring.framework.plugin import Plugin
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from tests.cycle.scheduling import (
    decide,
    make_nodes,
    make_pod,
    make_scheduler,
    plugin,
    refuse,
    refuse_each,
)

NODES = make_nodes("n1", "n2", "n3")
LOW = Status.unschedulable("low")
NEVER = Status.unresolvable("never")


def verdicts(decision: Any) -> dict[str, Status | None]:
    return dict(decision.statuses.items())


def masks(*answers: tuple[Status, set[str]], called: str = "Masks") -> type[Plugin]:
    def filter_nodes(state: Any, pod: Any, nodes: Any) -> Any:
        for status, names in answers:
            yield status, np.array([name in names for name in nodes.names], dtype=np.bool_)

    return plugin(called, filter_nodes=filter_nodes)


@pytest.mark.parametrize("form", [refuse, refuse_each], ids=["vector form", "node form"])
def test_a_node_belongs_to_the_first_plugin_that_refuses_it(form: Any) -> None:
    decision = decide([form("n1", called="A"), form("n1", "n2", called="B")], NODES)
    assert verdicts(decision) == {
        "n1": Status.unschedulable("A said no").by("A"),
        "n2": Status.unschedulable("B said no").by("B"),
        "n3": None,
    }
    assert decision.node_name == "n3"


def test_reasons_of_overlapping_masks_append_and_unresolvable_wins() -> None:
    decision = decide([masks((LOW, {"n1", "n2"}), (NEVER, {"n2", "n3"}))], NODES)
    assert verdicts(decision) == {
        "n1": LOW.by("Masks"),
        "n2": Status.unresolvable("low", "never").by("Masks"),
        "n3": NEVER.by("Masks"),
    }
    assert decision.message == "0/3 nodes are available: 2 low, 2 never."


def test_a_refusal_may_name_each_node() -> None:
    far = Status.unschedulable("{node} is far").per_node()
    decision = decide([masks((LOW, {"n1"}), (far, {"n1", "n2", "n3"}))], NODES)
    assert verdicts(decision) == {
        "n1": Status.unschedulable("low", "n1 is far").by("Masks"),
        "n2": Status.unschedulable("n2 is far").by("Masks"),
        "n3": Status.unschedulable("n3 is far").by("Masks"),
    }


def test_an_error_counts_only_on_a_node_still_in_the_running() -> None:
    error = Status.error("lost")
    assert decide([refuse("n1"), masks((error, {"n1"}))], NODES).outcome is Outcome.SCHEDULED
    decision = decide([masks((error, {"n2"})), refuse("n1")], NODES)
    assert decision.outcome is Outcome.ERROR
    assert decision.message == 'running "Masks" filter plugin: lost'
    assert verdicts(decision)["n1"] == Status.unschedulable("Refuse said no").by("Refuse")


def slow(asked: list[Any], *answers: tuple[Status, set[str]]) -> type[Plugin]:
    """Return a plugin that filters slowly and notes which nodes and answers it was asked for."""

    def filter_nodes(state: Any, pod: Any, nodes: Any) -> Any:
        asked.append(list(nodes.names))
        for status, names in answers:
            asked.append(status)
            yield status, np.array([name in names for name in nodes.names], dtype=np.bool_)

    found = plugin("Slow", filter_nodes=filter_nodes)
    found.filters_slowly = True
    return found


def test_a_slow_plugin_is_asked_only_about_nodes_that_are_left() -> None:
    nodes = make_nodes(*(f"n{i}" for i in range(8)))
    asked: list[Any] = []
    decision = decide([refuse("n1", "n3"), slow(asked, (LOW, {"n0", "n3"}))], nodes)
    assert asked == [["n0", "n2", "n4", "n5", "n6", "n7"], LOW]
    refused = {name for name, status in decision.statuses.items() if status == LOW.by("Slow")}
    assert refused == {"n0"}


@pytest.mark.parametrize("timed", [False, True])
def test_a_slow_plugin_is_not_asked_for_more_after_an_error(timed: bool) -> None:
    error = Status.error("lost")
    asked: list[Any] = []
    scheduler = make_scheduler([slow(asked, (LOW, {"n1"}), (error, {"n2"}), (LOW, {"n3"}))], NODES)
    state = CycleState()
    state.record_plugin_metrics = timed
    decision = scheduler.cycle.run_sync(make_pod(), state)
    assert decision.outcome is Outcome.ERROR
    assert asked == [["n1", "n2", "n3"], LOW, error]


def test_nodes_that_a_slow_plugin_was_not_asked_about_do_not_pass() -> None:
    nodes = make_nodes(*(f"n{i:03}" for i in range(120)))
    error = Status.error("lost")
    asked: list[Any] = []
    # Only one node passes before the error, so a search for 100 of them reaches it.
    refused = {f"n{i:03}" for i in range(1, 50)}
    flat = plugin("Flat", score_nodes=lambda state, pod, nodes: 0)
    plugins = [slow(asked, (LOW, refused), (error, {"n050"})), flat]
    decision = decide(plugins, nodes, percentage=1)
    assert decision.outcome is Outcome.ERROR
    assert decision.message == 'running "Slow" filter plugin: lost'


def test_an_error_of_a_slow_plugin_about_a_refused_node_is_ignored_in_what_if_views() -> None:
    error = Status.error("lost")
    asked: list[Any] = []
    plugins = [refuse("n1"), slow(asked, (error, {"n1"}), (LOW, {"n2"}))]
    scheduler = make_scheduler(plugins, NODES)
    nodes = scheduler.cache.nodes
    view = WhatIf(nodes, np.arange(3))
    profile = scheduler.profiles["default-scheduler"]
    found = profile.handle.run_filters(CycleState(), make_pod(), view, nominated=False)
    no = Status.unschedulable("Refuse said no").by("Refuse")
    assert list(found) == [no, LOW.by("Slow"), None]


def _raise(state: Any, pod: Any, node: Any) -> None:
    raise ValueError("boom")


@pytest.mark.parametrize(
    ("broken", "message"),
    [
        pytest.param(
            plugin("A", filter=_raise),
            'running "A" filter plugin: plugin A, point Filter, node n1: ValueError: boom',
            id="the node form raises",
        ),
        pytest.param(
            plugin("A", filter_nodes=_raise),
            'running "A" filter plugin: plugin A, point Filter: ValueError: boom',
            id="the vector form raises",
        ),
        pytest.param(
            plugin("A", filter=lambda state, pod, node: False),
            "plugin A, point Filter, node n1: filter must return a Status or None, got bool False",
            id="the node form answers with a bool",
        ),
        pytest.param(
            plugin("A", filter_nodes=lambda state, pod, nodes: [(LOW, np.ones(2, dtype=bool))]),
            "plugin A, point Filter: filter_nodes must return (Status, mask) with a bool per node",
            id="the mask has the wrong length",
        ),
        pytest.param(
            plugin("A", filter_nodes=lambda state, pod, nodes: [(LOW, np.ones(3))]),
            "plugin A, point Filter: filter_nodes must return (Status, mask) with a bool per node",
            id="the mask holds numbers",
        ),
        pytest.param(
            plugin("A", filter_nodes=lambda state, pod, nodes: [("no", np.ones(3, dtype=bool))]),
            "plugin A, point Filter: filter_nodes must return (Status, mask) with a bool per node",
            id="the reason is no Status",
        ),
        pytest.param(
            plugin("A", filter=lambda state, pod, node: Status.wait(3, "later")),
            'running "A" filter plugin: later',
            id="a status that Filter does not know",
        ),
    ],
)
def test_a_fault_ends_the_cycle_and_names_plugin_point_and_node(broken: Any, message: str) -> None:
    decision = decide([broken], NODES)
    assert decision.outcome is Outcome.ERROR
    assert decision.message.startswith(message)
    assert decision.errors[0].plugin == "A"


@given(st.lists(st.lists(st.tuples(st.integers(0, 11), st.booleans()), max_size=14), max_size=5))
def test_the_mass_pass_equals_asking_node_by_node(rules: list[list[tuple[int, bool]]]) -> None:
    names = [f"n{i}" for i in range(12)]
    vector, node = [], []
    for number, rule in enumerate(rules):
        name = f"P{number}"
        answers = [((NEVER if final else LOW), {names[index]}) for index, final in rule]

        def each(state: Any, pod: Any, info: Any, answers: Any = answers) -> Status | None:
            mine = [status for status, refused in answers if info.name in refused]
            reasons = [reason for status in mine for reason in status.reasons]
            if not mine:
                return None
            return (Status.unresolvable if NEVER in mine else Status.unschedulable)(*reasons)

        vector.append(masks(*answers, called=name))
        node.append(plugin(name, filter=each))
    nodes = make_nodes(*names)
    ours = decide(vector, nodes, examine=True)
    theirs = decide(node, nodes, examine=True)
    assert verdicts(ours) == verdicts(theirs)
    assert ours.message == theirs.message


@pytest.mark.parametrize("narrowed", [False, True], ids=["all nodes", "those PreFilter left"])
def test_plugins_are_asked_about_the_few_nodes_left(narrowed: bool) -> None:
    """If most nodes are refused, later plugins get a view of the rest."""
    names = [f"n{i:02}" for i in range(44)]
    among = names[4:] if narrowed else names
    left = {"A": names[20:29], "B": names[22:24], "C": names[23:24], "D": names[23:24]}
    seen: dict[str, list[str]] = {}

    def keep(called: str) -> type[Plugin]:
        def filter_nodes(state: Any, pod: Any, nodes: Any) -> Any:
            seen[called] = list(nodes.names)
            refused = [name not in left[called] for name in nodes.names]
            yield Status.unschedulable(called), np.array(refused, dtype=np.bool_)

        return plugin(called, filter_nodes=filter_nodes)

    chosen = plugin("Names", pre_filter=lambda *_: set(among) if narrowed else None)
    decision = decide([chosen, *(keep(name) for name in left)], make_nodes(*names), examine=True)
    assert decision.node_name == "n23"
    assert seen == {"A": among, "B": left["A"], "C": left["B"], "D": left["B"]}
    expected = {name: Status.unschedulable("A").by("A") for name in among}
    expected |= {name: Status.unschedulable("B").by("B") for name in left["A"]}
    expected |= {name: Status.unschedulable("C").by("C") for name in left["B"]}
    found = verdicts(decision)
    assert {name: found[name] for name in among} == {**expected, "n23": None}


@pytest.mark.parametrize("narrowed", [False, True], ids=["all nodes", "those PreFilter left"])
def test_all_of_the_few_nodes_left_may_pass(narrowed: bool) -> None:
    names = [f"n{i:02}" for i in range(20)]
    among = names[2:] if narrowed else names
    chosen = plugin("Names", pre_filter=lambda *_: set(among) if narrowed else None)
    kept = {"n07", "n11"}
    most = refuse(*(name for name in names if name not in kept), called="Most")
    decision = decide([chosen, most, refuse(called="Nobody")], make_nodes(*names), examine=True)
    assert decision.feasible is not None
    assert set(decision.feasible.names) == kept
    found = verdicts(decision)
    assert {name for name in among if found[name] is None} == kept


@pytest.mark.parametrize("order", [1, -1], ids=["an error after", "an error before"])
def test_an_error_beats_a_refusal_of_the_same_plugin(order: int) -> None:
    answers = [(LOW, {"n1", "n2"}), (Status.error("lost"), {"n1"})][::order]
    decision = decide([masks(*answers)], NODES)
    assert decision.outcome is Outcome.ERROR
    assert decision.message == 'running "Masks" filter plugin: lost'


@pytest.mark.parametrize(
    ("answer", "message"),
    [
        pytest.param(None, None, id="nothing"),
        pytest.param([(LOW, np.zeros(1, dtype=np.bool_))], None, id="nobody refused"),
        pytest.param([(LOW, np.ones(1, dtype=np.bool_))], "low", id="refused"),
        pytest.param(
            [(LOW, np.ones(1, dtype=np.bool_)), (NEVER, np.ones(1, dtype=np.bool_))],
            "low, never",
            id="refused twice",
        ),
        pytest.param(
            [(Status.unschedulable("{node} is far").per_node(), np.ones(1, dtype=np.bool_))],
            "n1 is far",
            id="refused by name",
        ),
        pytest.param(
            [(LOW, np.ones(2, dtype=np.bool_))],
            "plugin A, point Filter: filter_nodes must return",
            id="the mask is too long",
        ),
        pytest.param(
            ValueError("boom"),
            'running "A" filter plugin: plugin A, point Filter, node n1: ValueError: boom',
            id="it raises",
        ),
    ],
)
def test_the_vector_form_answers_for_a_single_node(answer: Any, message: str | None) -> None:
    def filter_nodes(state: Any, pod: Any, nodes: Any) -> Any:
        if isinstance(answer, Exception):
            raise answer
        return answer

    scheduler = make_scheduler([plugin("A", filter_nodes=filter_nodes), refuse()], NODES)
    handle: Any = scheduler.profiles["default-scheduler"].handle
    (found,) = handle.run_filters(CycleState(), make_pod(), WhatIf(handle.snapshot, np.arange(1)))
    if message is None:
        assert found is None
    else:
        assert found.message.startswith(message)
        assert found.plugin == "A"


def test_what_if_nodes_are_never_narrowed() -> None:
    """A view of some what-if nodes would show the real nodes instead."""
    names = [f"n{i}" for i in range(10)]
    scheduler = make_scheduler([refuse(*names[:9], called="Most"), Crowd], make_nodes(*names))
    handle: Any = scheduler.profiles["default-scheduler"].handle
    nodes = WhatIf(handle.snapshot, np.arange(10))
    assert handle.run_filters(CycleState(), make_pod(), nodes)[9] is None
    for name in ("a", "b"):
        nodes.add(9, handle.pod_info(make_pod(name)))
    crowded = Status.unschedulable("crowded").by("Crowd")
    assert handle.run_filters(CycleState(), make_pod(), nodes)[9] == crowded


def test_no_node_among_those_named_is_left() -> None:
    gone = plugin("Names", pre_filter=lambda *_: {"gone"})
    decision = decide([gone, refuse()], NODES)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message.startswith("0/3 nodes are available: 3 node(s) didn't satisfy plugin")


class Crowd(Plugin):
    """A plugin that allows two pods per node."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return Status.unschedulable("crowded") if len(node.pods) >= 2 else None

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.unschedulable("crowded"), nodes.pod_count >= 2


class Company(Plugin):
    """A plugin that accepts only the node of "friend", which it tracks in add_pod."""

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
        state.write("Company", frozenset())

    def add_pod(self, state: Any, pod: Any, other: Any, node: Any) -> None:
        if other.pod.name == "friend":
            state.write("Company", state.read("Company") | {node.name})

    def remove_pod(self, state: Any, pod: Any, other: Any, node: Any) -> None:
        state.write("Company", state.read("Company") - {node.name})

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        there = state.read("Company")
        return None if node.name in there else Status.unschedulable("lonely")


@pytest.mark.parametrize(
    ("nominated_priority", "refused"),
    [
        pytest.param(10, True, id="of the same priority counts"),
        pytest.param(11, True, id="of higher priority counts"),
        pytest.param(9, False, id="of lower priority does not count"),
    ],
)
def test_a_pod_nominated_to_a_node(nominated_priority: int, refused: bool) -> None:
    existing = make_pod("existing", node="n1")
    nominated = make_pod("other", priority=nominated_priority, nominated="n1")
    scheduler = make_scheduler([Crowd], [*make_nodes("n1", "n2"), existing, nominated])
    decision = scheduler.cycle.run_sync(make_pod(priority=10), examine=True)
    crowded = Status.unschedulable("crowded").by("Crowd")
    assert verdicts(decision) == {"n1": crowded if refused else None, "n2": None}


def test_the_pod_must_fit_without_the_nominated_pods_too() -> None:
    friend = make_pod("friend", priority=10, nominated="n1")
    scheduler = make_scheduler([Company], [*make_nodes("n1", "n2"), friend])
    decision = scheduler.cycle.run_sync(make_pod(priority=10))
    lonely = Status.unschedulable("lonely").by("Company")
    assert verdicts(decision) == {"n1": lonely, "n2": lonely}


@pytest.mark.parametrize("precomputes", [False, True], ids=["at once", "node by node"])
@pytest.mark.parametrize("count", [1, 3], ids=["one node", "three nodes"])
def test_nodes_with_nominated_pods_are_refused_each_for_its_own(
    count: int, precomputes: bool
) -> None:
    """A node with one pod is full with a nominated one; a node without pods is not."""
    plugins: list[type[Plugin]] = [Crowd]
    if precomputes:
        plugins.append(plugin("Counts", filter=lambda *_: None, add_pod=lambda *_: None))
        plugins[-1].pre_filter = lambda *_: None  # type: ignore[attr-defined]
    names = [f"n{i}" for i in range(5)]
    pods = [make_pod("e1", node="n1"), make_pod("e3", node="n3")]
    pods += [make_pod(f"o{i}", priority=10, nominated=f"n{i}") for i in range(1, 1 + count)]
    scheduler = make_scheduler(plugins, [*make_nodes(*names), *pods])
    decision = scheduler.cycle.run_sync(make_pod(priority=10), examine=True)
    crowded = Status.unschedulable("crowded").by("Crowd")
    refused = {"n1"} if count == 1 else {"n1", "n3"}
    assert verdicts(decision) == {name: crowded if name in refused else None for name in names}


@pytest.mark.parametrize("count", [1, 2], ids=["one node", "two nodes"])
def test_an_error_for_a_nominated_pod_ends_the_cycle(count: int) -> None:
    def fails(state: Any, pod: Any, nodes: Any) -> Any:
        if nodes.pod_count.any():
            yield Status.error("lost"), nodes.pod_count > 0

    others = [make_pod(f"o{i}", priority=10, nominated=f"n{i}") for i in range(1, 1 + count)]
    scheduler = make_scheduler([plugin("A", filter_nodes=fails)], [*NODES, *others])
    decision = scheduler.cycle.run_sync(make_pod(priority=10))
    assert decision.outcome is Outcome.ERROR
    assert decision.message == 'running "A" filter plugin: lost'
    assert decision.node_name == ""


def test_a_plugin_that_fails_to_count_a_nominated_pod_ends_the_cycle() -> None:
    counts = plugin(
        "Counts",
        pre_filter=lambda *_: None,
        filter=lambda *_: None,
        add_pod=lambda *_: Status.error("lost"),
    )
    other = make_pod("other", priority=10, nominated="n1")
    scheduler = make_scheduler([counts], [*NODES, other])
    decision = scheduler.cycle.run_sync(make_pod(priority=10))
    assert decision.outcome is Outcome.ERROR
    assert decision.message == 'running AddPod on PreFilter plugin "Counts": lost'


def test_the_pods_own_nomination_does_not_count_against_it() -> None:
    existing = make_pod("existing", node="n1")
    pod = make_pod(priority=10, nominated="n1")
    scheduler = make_scheduler([Crowd], [*make_nodes("n1", "n2"), existing, pod])
    assert scheduler.cycle.run_sync(pod).node_name == "n1"


def test_a_nominated_node_that_passes_is_the_only_one() -> None:
    asked = []

    def note(state: Any, pod: Any, node: Any) -> None:
        asked.append(node.name)

    decision = decide([plugin("A", filter=note)], NODES, make_pod(nominated="n3"))
    assert decision.node_name == "n3"
    assert asked == ["n3"]


def test_a_nominated_node_that_is_refused_leaves_the_others() -> None:
    decision = decide([refuse("n3")], NODES, make_pod(nominated="n3"))
    assert decision.node_name == "n1"
    assert verdicts(decision)["n3"] == Status.unschedulable("Refuse said no").by("Refuse")


@pytest.mark.parametrize("form", [refuse, refuse_each], ids=["vector form", "node form"])
def test_plugins_behind_the_one_that_refuses_the_last_node_are_not_asked(form: Any) -> None:
    asked: list[str] = []
    behind = plugin("Behind", filter_nodes=lambda *_: asked.append("Behind"))
    decision = decide([form("n1", called="A"), form("n2", "n3", called="B"), behind], NODES)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert asked == []


@pytest.mark.parametrize(
    ("count", "place"),
    [
        pytest.param(1, "point Filter, node n1", id="one node is asked alone"),
        pytest.param(2, "point Filter", id="several are asked at once"),
    ],
)
def test_an_exception_for_nominated_pods_names_what_was_asked(count: int, place: str) -> None:
    def fails(state: Any, pod: Any, nodes: Any) -> Any:
        if nodes.pod_count.any():
            raise ValueError("boom")

    others = [make_pod(f"o{i}", priority=10, nominated=f"n{i}") for i in range(1, 1 + count)]
    scheduler = make_scheduler([plugin("A", filter_nodes=fails)], [*NODES, *others])
    decision = scheduler.cycle.run_sync(make_pod(priority=10))
    assert decision.message == f'running "A" filter plugin: plugin A, {place}: ValueError: boom'


@pytest.mark.parametrize(
    ("left", "asked"),
    [
        pytest.param(10, 40, id="a quarter of the nodes is left: all are shown"),
        pytest.param(9, 9, id="fewer: only those are shown"),
    ],
)
def test_when_plugins_are_asked_about_the_nodes_left_alone(left: int, asked: int) -> None:
    names = [f"n{i:02}" for i in range(40)]
    shown: list[int] = []
    counts = plugin("Counts", filter_nodes=lambda state, pod, nodes: shown.append(len(nodes)))
    decide([refuse(*names[left:]), counts], make_nodes(*names), examine=True)
    assert shown == [asked]
