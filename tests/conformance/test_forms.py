"""Either form of the built-ins alone decides as recorded: node by node, and by columns.

The vector form serves the mass pass and the node form single questions; here each also does the
other's work.
"""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from tests.conformance import replay
from tests.conformance.test_vectors import SCENARIOS, differences

SINGLE = [
    (group, index, name) for group, index, name in SCENARIOS if not group.startswith("sequence")
]
#: Where single nodes are asked about: dry runs, and pods nominated to nodes.
DRY_RUNS = ("preemption", "preemption-choice", "nominated")


@pytest.mark.parametrize(
    ("group", "index"), [pytest.param(group, index, id=name) for group, index, name in SINGLE]
)
def test_the_node_form_decides_as_recorded(group: str, index: int) -> None:
    scenario, expected = replay.record(group, index)
    run = replay.Replay(scenario)
    for profile in run.scheduler.profiles.values():
        assert all(step.node for step in (*profile.filter, *profile.score))
        profile.filter = tuple(replace(step, vector=None) for step in profile.filter)
        profile.score = tuple(replace(step, vector=None) for step in profile.score)
    assert differences(run.one(), expected) == []


@pytest.mark.parametrize(
    ("group", "index"),
    [pytest.param(group, index, id=name) for group, index, name in SINGLE if group in DRY_RUNS],
)
def test_the_vector_form_decides_as_recorded(group: str, index: int) -> None:
    scenario, expected = replay.record(group, index)
    run = replay.Replay(scenario)
    for profile in run.scheduler.profiles.values():
        assert all(step.vector for step in (*profile.filter, *profile.score))
        profile.filter = tuple(replace(step, node=None) for step in profile.filter)
    assert differences(run.one(), expected) == []
