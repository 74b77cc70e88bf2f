"""The cycle as a whole: its outcomes, its messages, and that it never suspends by itself."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.cycle.scheduling_cycle import by_seed
from mooring.framework.decision import Outcome
from mooring.framework.status import Status
from tests.cycle.scheduling import decide, make_nodes, make_pod, make_scheduler, plugin, refuse

NODES = make_nodes("n1", "n2", "n3")


def test_a_cluster_without_nodes() -> None:
    decision = decide([refuse()], [])
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == "no nodes available to schedule pods"
    assert decision.post_filter is None


def test_a_profile_without_filter_and_score_takes_the_next_node() -> None:
    scheduler = make_scheduler([], NODES)
    names = [scheduler.cycle.run_sync(make_pod()).node_name for _ in range(4)]
    assert names == ["n1", "n2", "n3", "n1"]


def test_reasons_are_counted_and_sorted_as_texts() -> None:
    nodes = make_nodes(*(f"n{i}" for i in range(12)))
    most = [f"n{i}" for i in range(10)]
    decision = decide([refuse(*most, called="Z"), refuse("n10", "n11", called="A")], nodes)
    assert decision.message == "0/12 nodes are available: 10 Z said no, 2 A said no."
    assert decision.unschedulable_plugins == {"A", "Z"}
    assert decision.pending_plugins == frozenset()


def test_a_pending_refusal_is_noted_as_such() -> None:
    decision = decide([refuse("n1", "n2", "n3", status=Status.pending("soon"))], NODES)
    assert decision.pending_plugins == {"Refuse"}


def test_an_error_at_post_filter_is_among_the_errors() -> None:
    broken = plugin("A", post_filter=lambda *_: Status.error("lost"))
    decision = decide([refuse("n1", "n2", "n3"), broken], NODES)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert [error.message for error in decision.errors] == ["lost"]
    assert decision.message.endswith("lost")
    calm = plugin("A", post_filter=lambda *_: Status.unschedulable("no help"))
    assert decide([refuse("n1", "n2", "n3"), calm], NODES).errors == ()


def test_examining_changes_nothing_but_the_detail() -> None:
    plugins = [refuse("n1"), plugin("A", score=lambda state, pod, node: int(node.name[1:]))]
    plain, examined = decide(plugins, NODES), decide(plugins, NODES, examine=True)
    assert plain.node_name == examined.node_name == "n3"


def test_a_cycle_that_waits_cannot_run_in_sync() -> None:
    class Later:
        def __await__(self) -> Any:
            yield

    ended: list[bool] = []

    async def post_filter(state: Any, pod: Any, statuses: Any) -> None:
        try:
            await Later()
        finally:
            ended.append(True)

    # The error keeps the frames alive, so the coroutine ends only if the cycle closes it.
    with pytest.raises(RuntimeError, match="pod default/web waits for an extender") as raised:
        decide([refuse("n1", "n2", "n3"), plugin("A", post_filter=post_filter)], NODES)
    assert ended == [True], raised.value


def test_the_seed_of_a_choice_has_32_bits() -> None:
    scheduler = make_scheduler([], make_nodes("n1", "n2"), choose=by_seed)
    generator = scheduler.random.__class__()
    generator.setstate(scheduler.random.getstate())
    seeds = [scheduler.cycle.run_sync(make_pod(), examine=True).seed for _ in range(20)]
    assert seeds == [generator.getrandbits(32) for _ in range(20)]


@pytest.mark.parametrize("nominated", ["n1", "n2"])
def test_a_nominated_node_is_taken_whatever_its_row(nominated: str) -> None:
    scheduler = make_scheduler([], make_nodes("n1", "n2", "n3"))
    pod = make_pod(nominated=nominated)
    assert scheduler.cycle.run_sync(pod).node_name == nominated
