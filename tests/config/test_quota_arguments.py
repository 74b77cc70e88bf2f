"""podRequests of CapacityScheduling, read from configurations."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.load import load_config_data
from mooring.config.quota_arguments import quota_requests
from mooring.registry import default_registry
from tests.contrib.profiles import configuration


def profile(name: str, **args: Any) -> dict[str, Any]:
    made = configuration(
        "CapacityScheduling", disabled=["DefaultPreemption"], args={"CapacityScheduling": args}
    )
    return {**made["profiles"][0], "schedulerName": name}


@pytest.mark.parametrize(
    ("profiles", "expected"),
    [
        pytest.param([{"schedulerName": "a"}], None, id="no profile has the plugin"),
        pytest.param([profile("a")], None, id="not given"),
        pytest.param(
            [profile("a"), profile("b", podRequests="Containers")], "Containers", id="one gives it"
        ),
        pytest.param(
            [profile("a", podRequests="Containers"), profile("b", podRequests="Scheduler")],
            "Scheduler",
            id="profiles differ",
        ),
    ],
)
def test_the_mode_of_a_configuration(profiles: list[dict[str, Any]], expected: str | None) -> None:
    data = {**configuration(), "profiles": profiles}
    found = load_config_data(data, registry=default_registry())
    assert quota_requests(found.profiles) == expected
