"""Every decision recorded from kube-scheduler is decided again, field by field the same.

The release that recorded it is the one that is emulated.
"""

from __future__ import annotations

from typing import Any

import pytest

from tests.conformance import replay
from tests.conformance.recordings import SCENARIOS, identifier, record

#: What does not depend on how many nodes are looked at.
ALWAYS = ("outcome", "preEnqueue", "preFilter", "skippedFilter", "message", "preemption")


@pytest.mark.parametrize(
    ("release", "group", "index"),
    [pytest.param(*scenario[:3], id=identifier(scenario)) for scenario in SCENARIOS],
)
def test_decides_as_recorded(release: str, group: str, index: int) -> None:
    scenario, expected = record(release, group, index)
    run = replay.Replay(scenario, release)
    if "plugins" in expected:
        assert run.plugins() == expected["plugins"]
        assert run.score_weights() == expected.get("scoreWeights", {})
    if not run.is_sequence:
        assert differences(run.one(), expected) == []
        brief = replay.Replay(scenario, release).one(examine=False)
        assert {field: brief[field] for field in ALWAYS} == {
            field: expected[field] for field in ALWAYS
        }
        assert brief["chosen"] in (expected["best"] or [""])
        return
    recorded = expected["sequence"]
    entries = run.sequence(recorded)
    assert [entry["pod"] for entry in entries] == [entry["pod"] for entry in recorded]
    assert [
        f"#{number} {entry['pod']} {difference}"
        for number, (entry, wanted) in enumerate(zip(entries, recorded, strict=True))
        for difference in differences(entry, wanted)
    ] == []


def differences(ours: dict[str, Any], recorded: dict[str, Any]) -> list[str]:
    """Return where our decision and the recorded one differ, as "path: ours, recorded"."""
    found: list[str] = []
    for field in sorted({*ours, *recorded} - {"plugins", "scoreWeights", "scoringSkipped"}):
        _compare(field, ours.get(field), recorded.get(field), found)
    return found


def _compare(path: str, ours: Any, recorded: Any, found: list[str]) -> None:
    if isinstance(ours, dict) and isinstance(recorded, dict):
        for key in sorted({*ours, *recorded}):
            _compare(f"{path}/{key}", ours.get(key, "absent"), recorded.get(key, "absent"), found)
    elif ours != recorded:
        found.append(f"{path}: ours {ours!r}, recorded {recorded!r}")
