from __future__ import annotations

import pytest

from mooring.framework.features import FeatureGates
from mooring.framework.release_metrics import make_metrics
from mooring.framework.releases import parse_versions


@pytest.mark.parametrize(
    ("release", "help"),
    [
        ("1.36", "[STABLE] Number of selected preemption victims"),
        (
            "1.37",
            "[STABLE] Number of selected preemption victims for preemption initiated by a single "
            "pod",
        ),
    ],
)
def test_metrics_are_those_of_the_release(release: str, help: str) -> None:
    metrics = make_metrics(FeatureGates(None, parse_versions([release])))
    lines = metrics.expose().decode().splitlines()
    assert f"# HELP scheduler_preemption_victims {help}" in lines


def test_metrics_of_a_gate_that_is_off_are_not_exposed() -> None:
    for enabled in (False, True):
        metrics = make_metrics(FeatureGates({"GenericWorkload": enabled}))
        found = b"scheduler_workload_preemption_victims" in metrics.expose()
        assert found is enabled
