"""Resources with weights, as configuration files have them."""

from __future__ import annotations

import msgspec
import pytest

from mooring.contrib.resource_weights import ResourceWeight


def test_a_weight_that_is_not_given_is_0() -> None:
    assert msgspec.convert({"name": "cpu"}, ResourceWeight) == ResourceWeight("cpu", 0)


def test_a_weight_is_an_int64() -> None:
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"name": "cpu", "weight": 2**63}, ResourceWeight)
