"""PostFilter: which plugins run, whose message is kept, and what happens to the nomination."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.framework.decision import Outcome
from mooring.framework.plugin import Nominate
from mooring.framework.status import Status
from tests.cycle.scheduling import decide, make_nodes, plugin, refuse

NODES = make_nodes("n1", "n2", "n3")


@pytest.mark.parametrize(
    ("answers", "tail", "status", "nominated"),
    [
        pytest.param(
            [Status.unschedulable("a"), Status.unschedulable("b")],
            " a, b",
            Status.unschedulable("a", "b").by("P0"),
            None,
            id="refusals append, the first plugin signs",
        ),
        pytest.param(
            [Status.unschedulable("a"), Nominate("n2"), Status.error("never asked")],
            "",
            Status.success(),
            "n2",
            id="the first success ends it",
        ),
        pytest.param(
            [Status.unresolvable("a"), Nominate("n2")],
            " a",
            Status.unresolvable("a").by("P0"),
            None,
            id="an unresolvable answer ends it",
        ),
        pytest.param(
            [Status.error("lost"), Nominate("n2")],
            " lost",
            Status.error("lost").by("P0"),
            None,
            id="an error ends it",
        ),
        pytest.param(
            [Nominate("", Status.unschedulable("a")), Status.unschedulable("b")],
            " a, b",
            Status.unschedulable("a", "b").by("P0"),
            "",
            id="a nomination that is cleared is remembered",
        ),
        pytest.param(
            [7],
            " plugin P0, point PostFilter: post_filter must return a Nominate, a Status or None, "
            "got int 7",
            None,
            None,
            id="the wrong type is an error",
        ),
    ],
)
def test_post_filter(
    answers: list[Any], tail: str, status: Status | None, nominated: str | None
) -> None:
    plugins = [
        plugin(f"P{i}", post_filter=lambda state, pod, statuses, answer=answer: answer)
        for i, answer in enumerate(answers)
    ]
    decision = decide([refuse("n1", "n2", "n3"), *plugins], NODES)
    assert decision.outcome is Outcome.UNSCHEDULABLE
    assert decision.message == f"0/3 nodes are available: 3 Refuse said no.{tail}"
    assert decision.post_filter is not None
    assert decision.post_filter.nominated_node == nominated
    if status is not None:
        assert decision.post_filter.status == status
