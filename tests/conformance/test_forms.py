"""Either form of the built-ins alone decides as recorded: node by node, and by columns.

The vector form serves the mass pass and the node form single questions; here each also does the
other's work.
"""

from __future__ import annotations

from msgspec.structs import replace

from tests.conformance import replay
from tests.conformance.batches import in_batches
from tests.conformance.recordings import SCENARIOS, record
from tests.conformance.test_vectors import differences

SINGLE = [scenario for scenario in SCENARIOS if not scenario[1].startswith("sequence")]
#: Where single nodes are asked about: dry runs, and pods nominated to nodes.
DRY_RUNS = (
    "preemption",
    "preemption-choice",
    "nominated",
    "changes-preemption",
    "changes-node-allocatable",
)


@in_batches(SINGLE)
def test_the_node_form_decides_as_recorded(release: str, group: str, index: int) -> None:
    scenario, expected = record(release, group, index)
    run = replay.Replay(scenario, release)
    for profile in run.scheduler.profiles.values():
        assert all(step.node for step in (*profile.filter, *profile.score))
        profile.filter = tuple(replace(step, vector=None) for step in profile.filter)
        profile.score = tuple(replace(step, vector=None) for step in profile.score)
    assert differences(run.one(), expected) == []


@in_batches(scenario for scenario in SINGLE if scenario[1] in DRY_RUNS)
def test_the_vector_form_decides_as_recorded(release: str, group: str, index: int) -> None:
    scenario, expected = record(release, group, index)
    run = replay.Replay(scenario, release)
    for profile in run.scheduler.profiles.values():
        assert all(step.vector for step in (*profile.filter, *profile.score))
        profile.filter = tuple(replace(step, node=None) for step in profile.filter)
    assert differences(run.one(), expected) == []
