from __future__ import annotations

from typing import Any

import pytest

from mooring.api import DeviceClass, ResourceClaim, ResourceSlice
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.cel_budget import CelBudget
from mooring.plugins.dynamic_resources.claim_reads import ClaimReads
from mooring.plugins.dynamic_resources.derived_attributes import DerivedAttributes
from mooring.plugins.dynamic_resources.device_columns import DeviceColumns
from mooring.plugins.dynamic_resources.selectors import SelectorCache
from mooring.typing import Codes
from tests.plugins.clusters import make
from tests.plugins.dynamic_resources.devices import DRIVER, device_class

MODEL = f'device.attributes["{DRIVER}"].model == "A"'


def _columns(*devices: dict[str, Any]) -> DeviceColumns:
    columns = DeviceColumns(lists=False)
    named = [{"name": f"d{i}", **device} for i, device in enumerate(devices)]
    pool = {"name": "p", "generation": 1, "resourceSliceCount": 1}
    spec = {"driver": DRIVER, "pool": pool, "devices": named}
    columns.change(None, make(ResourceSlice, "s", spec=spec))
    return columns


def _claim(*selectors: str, constraints: Any = (), **more: Any) -> ResourceClaim:
    exactly = {
        "deviceClassName": "gpu",
        "selectors": [{"cel": {"expression": one}} for one in selectors],
        **more,
    }
    devices = {"requests": [{"name": "r", "exactly": exactly}], "constraints": list(constraints)}
    return make(ResourceClaim, "c", "ns", spec={"devices": devices})


def _are_same(columns: DeviceColumns, claim: ResourceClaim, *selectors: str) -> bool:
    classes = Store([device_class(selectors=[{"cel": {"expression": one}} for one in selectors])])
    reads = ClaimReads(
        columns, SelectorCache(), lists=False, capacity=True, derived=DerivedAttributes()
    )
    codes = _codes(reads, claim, classes)
    return bool(codes[0] == codes[1])


def _codes(reads: ClaimReads, claim: ResourceClaim, classes: Store[DeviceClass]) -> Codes:
    view = reads.of([claim], classes)
    view.evaluate([claim], CelBudget(10**9))
    view.codes.refresh()
    return view.codes.codes


def _with(**attributes: Any) -> dict[str, Any]:
    return {"attributes": {name.replace("__", "/"): value for name, value in attributes.items()}}


A, B = {"string": "A"}, {"string": "B"}


def _deriving(expression: str, compared: str = "x/a") -> ResourceClaim:
    derived = [{"name": "x/a", "expression": expression}]
    return _claim(derivedAttributes=derived, constraints=[{"matchAttribute": compared}])


def _consuming(group: str) -> dict[str, Any]:
    counters = {"m": {"value": "1"}}
    one = {"counterSet": "c", "counters": counters, "compatibilityGroups": [group]}
    return {"consumesCounters": [one]}


@pytest.mark.parametrize(
    ("devices", "claim", "same"),
    [
        pytest.param([_with(uuid=A), _with(uuid=B)], _claim(), True, id="nothing is read"),
        pytest.param([_with(model=A), _with(model=B)], _claim(MODEL), False, id="a selector"),
        pytest.param(
            [_with(model=A, uuid=A), _with(model=A, uuid=B)], _claim(MODEL), True, id="another one"
        ),
        pytest.param(
            [_with(model=A), {"attributes": {f"{DRIVER}/model": A}}],
            _claim(MODEL),
            True,
            id="with its domain",
        ),
        pytest.param([_with(model=B), {}], _claim(MODEL), False, id="an error"),
        pytest.param(
            [_with(uuid=A), _with(uuid=B)],
            _claim(f'device.attributes["{DRIVER}"].exists(k, k == "x")'),
            True,
            id="everything is read, with the same result",
        ),
        pytest.param(
            [_with(model=A), _with(model=A, firmware={"version": "x"})],
            _claim(MODEL),
            False,
            id="an attribute that cannot be read",
        ),
        pytest.param(
            [_with(size=A), _with(size=B)],
            _claim(constraints=[{"matchAttribute": f"{DRIVER}/size"}]),
            False,
            id="a constraint",
        ),
        pytest.param(
            [_with(size=A), _with(size=B)],
            _claim(constraints=[{"distinctAttribute": f"{DRIVER}/size"}]),
            False,
            id="a distinct attribute",
        ),
        pytest.param(
            [{"capacity": {"m": {"value": "1"}}}, {"capacity": {"m": {"value": "2"}}}],
            _claim(),
            True,
            id="capacity that nobody asks for",
        ),
        pytest.param(
            [{"capacity": {"m": {"value": "1"}}}, {"capacity": {"m": {"value": "2"}}}],
            _claim(capacity={"requests": {"m": "2"}}),
            False,
            id="capacity that only one has",
        ),
        pytest.param(
            [{"capacity": {"m": {"value": "1"}}}, {"capacity": {"m": {"value": "2"}}}],
            _claim(f'device.capacity["{DRIVER}"].m.compareTo(quantity("2")) < 0'),
            False,
            id="capacity in a selector",
        ),
        pytest.param([_with(model=A), _with(model=B)], _claim("a b"), True, id="a syntax error"),
        pytest.param(
            [_with(model=A), _with(model=B)],
            _deriving(f'device.attributes["{DRIVER}"].model'),
            False,
            id="a derived attribute",
        ),
        pytest.param(
            [_with(model=A), _with(model=B)],
            _deriving(f'device.attributes["{DRIVER}"].model + device.driver == "A"'),
            True,
            id="a derived attribute of the same value",
        ),
        pytest.param(
            [_with(model=A), {}],
            _deriving(f'device.attributes["{DRIVER}"].model'),
            False,
            id="a derived attribute that fails",
        ),
        pytest.param(
            [_with(model=A), _with(model=B)],
            _deriving(f'device.attributes["{DRIVER}"].model', compared="x/b"),
            True,
            id="a derived attribute that no constraint compares",
        ),
        pytest.param(
            [_with(model=A), _with(model=B)], _deriving("a b"), True, id="one that is wrong"
        ),
        pytest.param(
            [_consuming("g"), _consuming("h")], _claim(), False, id="compatibility groups"
        ),
    ],
)
def test_which_devices_are_the_same_to_a_claim(
    devices: list[dict[str, Any]], claim: ResourceClaim, same: bool
) -> None:
    assert _are_same(_columns(*devices), claim) is same


def test_selectors_of_a_class_are_read() -> None:
    columns = _columns(_with(model=A), _with(model=B))
    assert _are_same(columns, _claim())
    assert not _are_same(columns, _claim(), MODEL)


def test_an_attribute_that_appears_later_is_read() -> None:
    columns = _columns({}, {})
    classes = Store([device_class()])
    reads = ClaimReads(columns, SelectorCache(), lists=False, capacity=True)
    _codes(reads, _claim(MODEL), classes)
    epoch = columns.epoch
    pool = {"name": "q", "generation": 1, "resourceSliceCount": 1}
    devices = [{"name": "x", **_with(model=A)}, {"name": "y", **_with(model=B)}]
    spec = {"driver": DRIVER, "pool": pool, "devices": devices}
    columns.change(None, make(ResourceSlice, "t", spec=spec))
    assert columns.epoch > epoch
    codes = _codes(reads, _claim(MODEL), classes)
    assert codes[2] != codes[3]


def test_too_many_selectors_make_every_device_different() -> None:
    columns = _columns(_with(model=A), _with(model=A))
    few, many = ([f"{MODEL} && {i} >= 0" for i in range(count)] for count in (30, 300))
    assert _are_same(columns, _claim(*few))
    assert not _are_same(columns, _claim(*many))
