"""Where the rules of an explanation differ from those of a profile."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mooring.cycle.profile import Profile
from mooring.testing.builders import make_node
from mooring.ui.rule_differences import rule_differences
from tests.explain.runs import make_scheduler


def own_profile() -> Profile:
    scheduler = make_scheduler([make_node("n1")])
    return scheduler.profiles["default-scheduler"]


def explained(
    filters: Sequence[str] = (), scores: dict[str, int] | None = None, skipped: Sequence[str] = ()
) -> dict[str, Any]:
    return {
        "profile": "default-scheduler",
        "filterPlugins": [{"name": name} for name in filters],
        "totals": None if scores is None else [1],
        "scorePlugins": [
            {"name": name, "weight": weight} for name, weight in (scores or {}).items()
        ],
        "skippedScorePlugins": list(skipped),
    }


def own_weights() -> dict[str, int]:
    return {step.name: step.weight for step in own_profile().score}


def without(name: str) -> dict[str, int]:
    return {key: weight for key, weight in own_weights().items() if key != name}


@pytest.mark.parametrize(
    ("data", "differences"),
    [
        pytest.param(explained(["NodeName"]), [], id="plugins of both"),
        pytest.param(
            explained(["NodeName", "Mine"]),
            ["only the leader has the filter Mine"],
            id="a filter of the leader",
        ),
        pytest.param(explained(scores=own_weights()), [], id="the same weights"),
        pytest.param(
            explained(scores=without("NodeAffinity"), skipped=["NodeAffinity"]),
            [],
            id="a plugin that the leader skipped for this pod",
        ),
        pytest.param(
            explained(scores=without("NodeAffinity")),
            ["only this page has scores of NodeAffinity"],
            id="scores of this page",
        ),
        pytest.param(
            explained(scores={**own_weights(), "Mine": 1}),
            ["only the leader has scores of Mine"],
            id="scores of the leader",
        ),
        pytest.param(
            explained(scores={**own_weights(), "NodeAffinity": 7}),
            ["NodeAffinity has the weight 7 there and 2 here"],
            id="another weight",
        ),
    ],
)
def test_differences_that_an_explanation_shows(
    data: dict[str, Any], differences: list[str]
) -> None:
    assert rule_differences(data, own_profile()) == differences


def test_a_profile_that_only_the_leader_has() -> None:
    assert rule_differences({"profile": "gpu"}, None) == ["only the leader has the profile gpu"]
