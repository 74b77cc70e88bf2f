"""Device selectors are refused as the API server refuses them."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from mooring.api.field_errors import FieldError
from mooring.apiserver.validation import device_selectors
from mooring.apiserver.validation.device_claims import check_claim, check_device_class
from mooring.apiserver.validation.device_selectors import UncompiledSelectors, check_selector
from mooring.cel.environment import Expression
from mooring.plugins.dynamic_resources.selectors import DeviceEnvironment

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


@pytest.fixture
def compiled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the expressions that are compiled, in order."""
    sources: list[str] = []
    real = DeviceEnvironment.compile

    def compile_counted(environment: DeviceEnvironment, source: str) -> Expression:
        sources.append(source)
        return real(environment, source)

    monkeypatch.setattr(DeviceEnvironment, "compile", compile_counted)
    return sources


def _request(name: str, *expressions: str, **more: Any) -> dict[str, Any]:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    exactly = {"deviceClassName": "c", "allocationMode": "All", "selectors": selectors}
    return {"name": name, "exactly": exactly, **more}


def _claim(*requests: dict[str, Any]) -> dict[str, Any]:
    return {"spec": {"devices": {"requests": list(requests)}}}


def _long(number: int) -> str:
    return f'device.driver != "{number}"' + " " * 9_000


def test_what_exceeds_a_limit_is_not_compiled(compiled: list[str]) -> None:
    many = _claim(*(_request(f"r{i}", f"not compiled {i}") for i in range(33)))
    assert check_claim(many) == [
        FieldError(
            "spec.devices.requests", "Too many: 33: must have at most 32 items", "FieldValueTooMany"
        )
    ]
    parts = [{"name": f"s{i}", **_request("", f"not compiled {i}")["exactly"]} for i in range(9)]
    assert check_claim(_claim({"name": "r", "firstAvailable": parts})) == [
        FieldError(
            "spec.devices.requests[0].firstAvailable",
            "Too many: 9: must have at most 8 items",
            "FieldValueTooMany",
        )
    ]
    both = _request("r", "not compiled", firstAvailable=parts[:1])
    assert [found.message for found in check_claim(_claim(both))] == [
        "Invalid value: null: exactly one of `exactly` or `firstAvailable` is required, but "
        "multiple fields are set"
    ]
    assert compiled == []


def test_references_and_configurations_are_limited_too() -> None:
    references = [f"r{i}" for i in range(33)]
    config = {"opaque": {"driver": "d", "parameters": {}}}
    devices = {
        "requests": [_request("r")],
        "constraints": [{"requests": references, "matchAttribute": "a/b"}],
        "config": [config] * 33,
    }
    limited = ["spec.devices.constraints[0].requests", "spec.devices.config"]
    assert check_claim({"spec": {"devices": devices}}) == [
        FieldError(path, "Too many: 33: must have at most 32 items", "FieldValueTooMany")
        for path in limited
    ]
    assert [found.path for found in check_device_class({"spec": {"config": [config] * 33}})] == [
        "spec.config"
    ]


async def test_long_selectors_are_compiled_once_and_before_the_check(compiled: list[str]) -> None:
    expressions = [_long(number) for number in range(5)]
    claim = _claim(_request("a", *expressions), _request("b", *expressions))
    with pytest.raises(UncompiledSelectors) as missing:
        check_claim(claim)
    assert compiled == []
    await missing.value.compile(asyncio.Lock())
    assert compiled == expressions
    assert check_claim(claim) == []
    assert check_claim(claim) == []
    assert compiled == expressions


async def test_other_requests_get_as_much_time_as_a_selector_took(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    claim = _claim(_request("a", *(_long(number) for number in range(200, 203))))
    with pytest.raises(UncompiledSelectors) as missing:
        check_claim(claim)
    slept: list[float] = []

    async def sleep(seconds: float) -> None:
        slept.append(seconds)

    monkeypatch.setattr(asyncio.get_running_loop(), "time", lambda: 2.0 * len(compiled))
    monkeypatch.setattr(asyncio, "sleep", sleep)
    await missing.value.compile(asyncio.Lock())
    assert slept == [2.0, 2.0, 2.0]


def test_selectors_with_regular_expressions_count_as_long_ones(compiled: list[str]) -> None:
    expressions = [f'device.driver.matches("[a-z]+{number}")' for number in range(3)]
    assert check_device_class({"spec": {"selectors": _selectors(expressions[:2])}}) == []
    with pytest.raises(UncompiledSelectors):
        more = [f'device.driver.find("[a-z]+{number}") == ""' for number in range(3)]
        check_device_class({"spec": {"selectors": _selectors(more)}})
    assert compiled == expressions[:2]


def test_short_selectors_are_compiled_by_the_check(compiled: list[str]) -> None:
    expressions = [f'device.driver != "short {number}"' for number in range(5)]
    assert check_device_class({"spec": {"selectors": _selectors(expressions)}}) == []
    assert compiled == expressions


def test_a_device_class_with_long_selectors_is_not_compiled_at_once() -> None:
    expressions = [_long(number) for number in range(100, 103)]
    with pytest.raises(UncompiledSelectors):
        check_device_class({"spec": {"selectors": _selectors(expressions)}})


def test_results_are_forgotten_when_they_take_too_much_memory(
    compiled: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(device_selectors, "_REMEMBERED", 40)
    first, second = "1 == 1000000000001", "1 == 1000000000002"
    for expression in (first, second, second, first):
        assert check_selector(expression, "p") == []
    assert compiled == [first, second]
    assert check_selector("1 == 1000000000003", "p") == []
    assert check_selector(first, "p") == []
    assert compiled[3:] == [first]


def _selectors(expressions: list[str]) -> list[dict[str, Any]]:
    return [{"cel": {"expression": expression}} for expression in expressions]
