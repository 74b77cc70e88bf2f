from __future__ import annotations

from random import Random
from types import SimpleNamespace
from typing import Any

import pytest

from mooring.api import Pod
from mooring.framework.state import CycleState
from mooring.informers.store import Store
from mooring.testing import make_pod
from tests.soak.witness import Belief, Witness
from tests.support.virtual_loop import Process, run_virtually


def reserve(known: list[Pod], pod: Pod) -> dict[Any, Any]:
    """Reserve "node" for a pod in a scheduler that knows some pods; return the notes."""
    store: Store[Pod] = Store()
    for one in known:
        store.add(one)
    witness = Witness(None, SimpleNamespace(lister=lambda kind: store))
    process = Process("scheduler")

    async def place() -> None:
        assert witness.reserve(CycleState(), pod, "node") is None

    async def run() -> None:
        await process.start(place())

    run_virtually(run(), Random(0))
    return process.notes


PENDING = make_pod("pod", metadata={"uid": "1"})


@pytest.mark.parametrize(
    ("known", "expected"),
    [
        pytest.param([PENDING], Belief(), id="an empty node"),
        pytest.param(
            [
                PENDING,
                make_pod("a", metadata={"uid": "2"}, node="node"),
                make_pod("b", metadata={"uid": "3"}, node="other"),
            ],
            Belief(frozenset("2")),
            id="pods on that node and no other",
        ),
        pytest.param(
            [make_pod("pod", metadata={"uid": "1"}, node="other")],
            Belief(bound=True),
            id="a pod that has a node",
        ),
        pytest.param(
            [make_pod("pod", metadata={"uid": "9"}, node="other")],
            Belief(),
            id="another pod of its name",
        ),
    ],
)
def test_what_was_known_is_noted_with_the_process(known: list[Pod], expected: Belief) -> None:
    assert reserve(known, PENDING) == {"1": expected}


def test_outside_a_simulation_nothing_is_noted() -> None:
    assert Witness(None, None).reserve(CycleState(), PENDING, "node") is None
