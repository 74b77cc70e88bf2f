"""Device selectors are refused as the API server refuses them."""

from __future__ import annotations

import pytest

from mooring.api.field_errors import FieldError
from mooring.apiserver.validation.device_claims import check_claim, check_device_class
from mooring.apiserver.validation.device_selectors import check_selector

TEN = "[1, 2, 3, 4, 5, 6, 7, 8, 9, 10]"


def _loops(depth: int) -> str:
    return "".join(f"{TEN}.all(x{i}, " for i in range(depth)) + "true" + ")" * depth


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        pytest.param('device.driver == "x"', "", id="what is right"),
        pytest.param("ip(device.driver).family() == 4", "", id="what is not built here"),
        pytest.param("true" + " " * 10_236, "", id="the longest"),
        pytest.param(
            "true" + " " * 10_237, "Too long: may not be more than 10240 bytes", id="too long"
        ),
        pytest.param(_loops(5), "", id="expensive"),
        pytest.param(_loops(6), "Forbidden: too complex, exceeds cost limit", id="too expensive"),
        pytest.param(
            "device.nothing",
            'Invalid value: "device.nothing": compilation failed: ERROR: <input>:1:7: undefined '
            "field 'nothing'\n | device.nothing\n | ......^",
            id="a field that is not there",
        ),
        pytest.param(
            "1 + 1",
            'Invalid value: "1 + 1": must evaluate to bool or the unknown type, not int',
            id="no boolean",
        ),
        pytest.param(
            "int('x') == 1",
            "Internal error: program instantiation failed: type conversion error from 'string' to "
            "'int'",
            id="a constant that is none",
        ),
    ],
)
def test_a_selector(expression: str, text: str) -> None:
    assert [found.message for found in check_selector(expression, "p")] == ([text] if text else [])


def test_selectors_are_checked_wherever_they_are() -> None:
    selectors = [{"cel": {"expression": "1"}}, {}]
    exactly = {"deviceClassName": "c", "allocationMode": "All", "selectors": selectors}
    requests = [
        {"name": "a", "exactly": exactly},
        {"name": "b", "firstAvailable": [{"name": "s", **exactly}]},
    ]
    claim = {"spec": {"devices": {"requests": requests}}}
    assert [error.path for error in check_claim(claim)] == [
        "spec.devices.requests[0].exactly.selectors[0].cel.expression",
        "spec.devices.requests[0].exactly.selectors[1].cel",
        "spec.devices.requests[1].firstAvailable[0].selectors[0].cel.expression",
        "spec.devices.requests[1].firstAvailable[0].selectors[1].cel",
    ]
    found = check_device_class({"spec": {"selectors": selectors}})
    assert [error.path for error in found] == [
        "spec.selectors[0].cel.expression",
        "spec.selectors[1].cel",
    ]


def test_no_more_than_32_selectors_are_looked_at() -> None:
    many = [{"cel": {"expression": "1"}}] * 33
    assert check_device_class({"spec": {"selectors": many}}) == [
        FieldError(
            "spec.selectors", "Too many: 33: must have at most 32 items", "FieldValueTooMany"
        )
    ]
