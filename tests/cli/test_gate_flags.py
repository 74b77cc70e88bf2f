from __future__ import annotations

import argparse

import pytest

from mooring.cli.gate_flags import add_gate_flags, read_gates
from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates


def read(*argv: str) -> FeatureGates:
    parser = argparse.ArgumentParser()
    add_gate_flags(parser)
    return read_gates(parser.parse_args(argv))


def test_without_flags_the_newest_release_has_its_defaults() -> None:
    assert read() == FeatureGates()


def test_gates_are_those_of_the_emulated_release() -> None:
    gates = read("--emulated-version=1.36", "--feature-gates=StorageCapacityScoring=true")
    assert gates.release.version == "1.36"
    assert gates.enabled("StorageCapacityScoring")
    assert not read("--emulated-version=1.36").enabled("StorageCapacityScoring")


def test_a_release_out_of_range_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"emulation version 1.12 is not between"):
        read("--emulated-version=1.12")
