"""Compatibility groups decide which devices may consume from the same counters."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.api import ResourceSlice
from mooring.api.resource import Device
from mooring.plugins.dynamic_resources.compatibility_groups import admitted, groups_of, uses_groups
from tests.plugins.clusters import make


def device(*groups: str, also: list[str] | None = None) -> Device:
    """Return a device that consumes from the counter set "c", and perhaps from "d" too."""
    consumed = [{"counterSet": "c", "compatibilityGroups": list(groups)}]
    if also is not None:
        consumed.append({"counterSet": "d", "compatibilityGroups": also})
    return msgspec.convert({"name": "x", "consumesCounters": consumed}, Device)


@pytest.mark.parametrize(
    ("users", "one", "admits"),
    [
        pytest.param([], device("g"), True, id="the first one with groups"),
        pytest.param([], device(), True, id="the first one without groups"),
        pytest.param([device()], device(), True, id="none has groups"),
        pytest.param([device()], device("g"), False, id="only the new one has groups"),
        pytest.param([device("g")], device(), False, id="only the user has groups"),
        pytest.param([device("g", "h")], device("h", "i"), True, id="a group in common"),
        pytest.param([device("g")], device("h"), False, id="no group in common"),
        pytest.param(
            [device("g", "h"), device("h", "i")], device("g"), False, id="common with one user only"
        ),
        pytest.param([device("g")], device("g", also=["h"]), True, id="another set is unused"),
        pytest.param(
            [device("g", also=["h"])], device("g", also=["i"]), False, id="refused by another set"
        ),
        # Devices in use can exclude each other if their slice was changed meanwhile.
        pytest.param([device("g"), device("h")], device("g"), False, id="nothing in common"),
        pytest.param([device("g"), device("h")], device(), False, id="nothing but groups"),
        pytest.param([device("g"), device()], device("g"), True, id="the first user decides"),
        pytest.param([device(), device("g")], device(), True, id="the first one has no groups"),
    ],
)
def test_which_devices_may_use_the_same_counters(
    users: list[Device], one: Device, admits: bool
) -> None:
    assert (admitted(one, groups_of(users)) is not None) is admits


def test_a_device_that_joins_narrows_the_groups() -> None:
    users = admitted(device("g", "h"), {})
    assert users is not None
    narrowed = admitted(device("h"), users)
    assert narrowed is not None and narrowed["c"].groups == {"h"}
    # The earlier value is unchanged, so that the search can take the device back.
    assert users["c"].groups == {"g", "h"}


@pytest.mark.parametrize(
    ("devices", "uses"),
    [
        pytest.param([], False, id="no devices"),
        pytest.param([{"name": "x"}], False, id="no counters"),
        pytest.param([{"name": "x", "consumesCounters": [{"counterSet": "c"}]}], False, id="no"),
        pytest.param(
            [
                {"name": "x"},
                {
                    "name": "y",
                    "consumesCounters": [{"counterSet": "c", "compatibilityGroups": ["g"]}],
                },
            ],
            True,
            id="one device has groups",
        ),
    ],
)
def test_slices_with_groups(devices: list[dict[str, Any]], uses: bool) -> None:
    assert uses_groups(make(ResourceSlice, "s", spec={"devices": devices})) is uses
