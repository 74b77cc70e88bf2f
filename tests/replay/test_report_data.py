"""Reports as plain data."""

from __future__ import annotations

import json

from mooring.replay.attempt_comparison import AttemptVerdict
from mooring.replay.report_data import own_history_data, replay_data, side_data
from mooring.shadow.comparison import Verdict
from tests.replay.reports import (
    compared_report,
    deviating_report,
    own_report,
    shadow_report,
)


def test_a_check() -> None:
    data = replay_data(deviating_report())
    assert (data["version"], data["history"], data["reproduced"]) == (1, "recorded", False)
    assert (data["attempts"], data["pods"], data["deviating"]) == (2, 2, 1)
    assert data["first"] == "2027-01-15T08:00:00.000000Z"
    (one,) = data["deviations"]
    assert (one["pod"], one["attempt"], one["what"], one["plugin"]) == (
        "shop/web",
        2,
        "message",
        "NodeResourcesFit",
    )
    assert "counts" not in data
    json.dumps(data)


def test_a_comparison() -> None:
    data = replay_data(compared_report())
    assert data["counts"] == {verdict.value: 1 for verdict in AttemptVerdict}
    assert {one["verdict"] for one in data["differences"]} == {
        verdict.value for verdict in AttemptVerdict if verdict is not AttemptVerdict.SAME
    }
    assert data["differences"][0]["examples"][0]["points"] == 12


def test_a_shadow() -> None:
    data = replay_data(shadow_report())
    assert set(data["shadow"]) == {"recorded"}
    recorded = data["shadow"]["recorded"]
    assert (recorded["decided"], recorded["agreement"], recorded["pointsLost"]) == (1, 0.0, 7)
    assert recorded["counts"] == {
        verdict.value: verdict.value == "other node" for verdict in Verdict
    }
    other = replay_data(shadow_report(other_rules=True))["shadow"]
    assert other["now"]["agreement"] == 1.0
    assert other["changes"] == [{"recorded": "other node", "now": "agreed", "pods": 1}]
    assert "shadow" not in replay_data(compared_report())


def test_both_histories() -> None:
    report = own_report()
    data = own_history_data(report)
    assert data["history"] == "own"
    assert data["own"]["pendingSeconds"] == {
        "mean": 7.0,
        "median": 4.0,
        "p90": 10.0,
        "longest": 10.0,
    }
    assert data["recorded"]["pendingSeconds"]["longest"] == 100.0
    assert (data["recorded"]["bound"], data["own"]["bound"]) == (1, 2)
    assert data["recorded"]["preemptions"] == 3


def test_a_history_without_pods() -> None:
    report = own_report()
    report.own.pods.clear()
    assert side_data(report.own, 1.0)["pendingSeconds"]["p90"] == 0.0
