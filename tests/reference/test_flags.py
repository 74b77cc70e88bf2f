"""The command line: every flag and feature gate of the reference, with its type and default."""

from __future__ import annotations

import os
import re
import subprocess

import pytest

from tests.reference.differences import idle, unexpected
from tests.reference.sides import Side

FLAG = re.compile(r"^ +(?:-\w, )?--(?P<name>[\w-]+)(?: (?P<type>[\w.=,]+))? {2,}(?P<help>.*)$")
# pflag prints some empty defaults, but not others.
EMPTY = "[]"
DEFAULT = re.compile(r"\(default (.+)\)$")
GATE = re.compile(r"\b(\w+)=true\|false \((\w+) - default=(\w+)\)")


def help_of(side: Side) -> str:
    # Wide enough that no line is wrapped.
    environment = {**os.environ, "COLUMNS": "100000"}
    command = [*side.command, "--help"]
    return subprocess.run(
        command, capture_output=True, text=True, timeout=60, check=True, env=environment
    ).stdout


@pytest.fixture(scope="module")
def helps(sides: tuple[Side, Side]) -> tuple[str, str]:
    return help_of(sides[0]), help_of(sides[1])


def flags(text: str) -> dict[str, tuple[str, str]]:
    """Return name -> (type, default)."""
    found = {}
    for line in text.splitlines():
        if match := FLAG.match(line):
            default = DEFAULT.search(match["help"])
            found[match["name"]] = (match["type"] or "", default[1] if default else EMPTY)
    return found


def test_every_flag_of_the_reference_is_known(helps: tuple[str, str]) -> None:
    reference, ours = flags(helps[0]), flags(helps[1])
    assert len(reference) > 50
    assert reference.keys() - ours.keys() == set()


def test_flags_have_the_types_and_defaults_of_the_reference(helps: tuple[str, str]) -> None:
    reference, ours = flags(helps[0]), flags(helps[1])
    assert {name: ours.get(name) for name in reference} == reference


def test_flags_beyond_the_reference_are_listed(helps: tuple[str, str]) -> None:
    more = flags(helps[1]).keys() - flags(helps[0]).keys()
    assert unexpected("flag", more) == []
    assert idle("flag", more) == []


def test_feature_gates_are_those_of_the_reference(helps: tuple[str, str]) -> None:
    reference, ours = (set(GATE.findall(text)) for text in helps)
    assert len(reference) > 100
    assert ours == reference


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param("CompositePodGroup=true", id="two gates are missing"),
        pytest.param("CompositePodGroup=true,GenericWorkload=true", id="one gate is missing"),
        pytest.param("DRAWorkloadResourceClaims=true", id="claims without groups"),
        pytest.param("GangScheduling=true", id="a gate that is gone"),
        pytest.param("NodeDeclaredFeatures=false", id="a gate that is locked"),
    ],
)
def test_a_gate_that_cannot_be_set_stops_both(sides: tuple[Side, Side], gates: str) -> None:
    theirs, ours = (side.run(f"--feature-gates={gates}") for side in sides)
    assert (theirs.returncode, ours.returncode) == (1, 1)
    said = [re.findall(r'err="(.*)"', one.stderr)[-1] for one in (theirs, ours)]
    assert said[1] == said[0]
