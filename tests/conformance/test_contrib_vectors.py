"""Every decision recorded from the scheduler-plugins family is decided again, field by field the
same; where the original panics or its order is none, ours does what the docs promise.

`-k podstate` replays one file, MOORING_CONTRIB_VECTORS names another folder.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance.contrib import cluster, queue_sort, reading, sequences, single_cycle

SCENARIOS = reading.scenarios()


@pytest.mark.parametrize(
    ("group", "index"),
    [pytest.param(group, index, id=name) for group, index, name in SCENARIOS],
)
def test_decides_as_recorded(group: str, index: int) -> None:
    scenario, expected = reading.record(group, index)
    if expected["outcome"] == "initError":
        with pytest.raises(cluster.INIT_ERRORS):
            cluster.build(scenario)
        return
    if "plugins" in expected:
        scheduler = cluster.build(scenario)
        assert cluster.plugins(scheduler) == expected["plugins"]
        assert cluster.score_weights(scheduler) == expected.get("scoreWeights", {})
    assert _kind(scenario).check(scenario, expected) == []


def _kind(scenario: dict[str, Any]) -> Any:
    """Return the module that replays scenarios of this kind."""
    if "steps" in scenario:
        return sequences
    return queue_sort if "queue" in scenario else single_cycle
