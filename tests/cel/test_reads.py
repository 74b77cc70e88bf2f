from __future__ import annotations

import pytest

from mooring.cel.parser import parse
from mooring.cel.reads import Reads, find_reads

MODEL = ("device", "attributes", "d", "model")


@pytest.mark.parametrize(
    ("source", "reads"),
    [
        pytest.param("1 + 2 == 3", {}, id="nothing"),
        pytest.param("device.driver.size() > 1", {("device", "driver"): None}, id="a field"),
        pytest.param(
            'device.attributes["d"].model.startsWith("A")', {MODEL: None}, id="a key and a field"
        ),
        pytest.param('device.attributes["d"].model == "A"', {MODEL: frozenset("A")}, id="compared"),
        pytest.param(
            '"A" != device.attributes["d"].model', {MODEL: frozenset("A")}, id="from the right"
        ),
        pytest.param(
            'device.attributes["d"].model in ["A", "B"]',
            {MODEL: frozenset("AB")},
            id="one of several strings",
        ),
        pytest.param(
            'device.attributes["d"].model == "A" && device.attributes["d"].model.size() > 0',
            {MODEL: None},
            id="compared and used otherwise",
        ),
        pytest.param('device.attributes["d"].model == 3', {MODEL: None}, id="with a number"),
        pytest.param(
            'device.attributes["d"].model == device.driver',
            {MODEL: None, ("device", "driver"): None},
            id="with another part",
        ),
        pytest.param('has(device.attributes["d"].model)', {MODEL: None}, id="whether it exists"),
        pytest.param('"model" in device.attributes["d"]', {MODEL: None}, id="whether a key exists"),
        pytest.param(
            'device.attributes["d"].?model.orValue("A") == "A"', {MODEL: None}, id="optional"
        ),
        pytest.param('device.attributes["d"][?"model"].hasValue()', {MODEL: None}, id="by index"),
        pytest.param(
            "device.attributes[device.driver].model",
            {("device", "attributes"): None, ("device", "driver"): None},
            id="a key that is not constant",
        ),
        pytest.param(
            'device.attributes["d"].all(key, key != "model")',
            {("device", "attributes", "d"): None},
            id="all keys",
        ),
        pytest.param(
            'cel.bind(a, device.attributes["d"], a.model == "A")',
            {MODEL: frozenset("A")},
            id="by another name",
        ),
        pytest.param(
            'cel.bind(a, device.driver + "x", a == "A")',
            {("device", "driver"): None},
            id="computed",
        ),
        pytest.param(
            '[1, 2].all(i, device.attributes["d"].model == "A")',
            {MODEL: None},
            id="compared in a loop",
        ),
        pytest.param("[1].all(device, device > 0)", {}, id="a variable that hides another"),
    ],
)
def test_what_an_expression_reads(source: str, reads: Reads) -> None:
    assert find_reads(parse(source)) == reads
