"""Tests of Go's logarithm."""

from __future__ import annotations

import math

import pytest

from mooring.plugins.pod_topology_spread.logarithm import log

# Printed by Go's math.Log on amd64; the C library differs in the last bit of 3, 14, 48, 74, 1080.
_GO = {
    2: "0x1.62e42fefa39efp-01",
    3: "0x1.193ea7aad030ap+00",
    7: "0x1.f2272ae325a57p+00",
    14: "0x1.51cca16d7bba8p+01",
    48: "0x1.ef8383c50bb74p+01",
    74: "0x1.1375cd6fcab1cp+02",
    1080: "0x1.bf059799afb4ep+02",
    5002: "0x1.10901f6dc84b9p+03",
    50002: "0x1.5a3bf38d989c9p+03",
}


@pytest.mark.parametrize("number", _GO)
def test_every_bit_is_as_in_go(number: int) -> None:
    assert log(number) == float.fromhex(_GO[number])


def test_it_is_a_logarithm() -> None:
    assert all(math.isclose(log(n), math.log(n), rel_tol=1e-15) for n in range(2, 3000))
