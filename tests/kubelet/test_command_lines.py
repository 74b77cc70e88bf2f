"""Translation of a container's command and args to a command line."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.kubelet.command_lines import (
    NoSuchProgramError,
    RefusedCommandError,
    command_line,
)
from mooring.kubelet.image_contents import Image

FREE = Image()
CONFINED = Image(("a.py:A", "b.py:B"))


@pytest.mark.parametrize("image", [FREE, CONFINED], ids=["free", "confined"])
@pytest.mark.parametrize(
    ("container", "words"),
    [
        pytest.param({}, ["run"], id="nothing said"),
        pytest.param({"args": ["--v=3"]}, ["run", "--v=3"], id="flags"),
        pytest.param({"args": ["run", "--v=3"]}, ["run", "--v=3"], id="run and flags"),
        pytest.param({"command": ["mooring"]}, ["run"], id="mooring alone"),
        pytest.param(
            {"command": ["mooring", "run"], "args": ["--v=3"]}, ["run", "--v=3"], id="mooring run"
        ),
        pytest.param({"command": ["/bin/kube-scheduler", "--v=3"]}, ["run", "--v=3"], id="a path"),
        pytest.param({"args": ["kube-scheduler", "--v=3"]}, ["run", "--v=3"], id="in args"),
        pytest.param(
            {"command": ["sample-scheduler", "--v=3"]}, ["run", "--v=3"], id="a program of any name"
        ),
        pytest.param(
            {"args": ["--v=$(LEVEL)", "$$(LEVEL)"]}, ["run", "--v=7", "$(LEVEL)"], id="variables"
        ),
        pytest.param(
            {"command": ["python", "-c", "print()"]}, ["run", "-c", "print()"], id="no interpreter"
        ),
    ],
)
def test_command_lines(container: dict[str, Any], image: Image, words: list[str]) -> None:
    assert command_line(container, image, {"LEVEL": "7"}) == words


@pytest.mark.parametrize(
    ("container", "words"),
    [
        ({"command": ["mooring", "config", "a.yaml"]}, ["config", "a.yaml"]),
        ({"command": ["/bin/mooring"], "args": ["extender"]}, ["extender"]),
        ({"args": ["mooring", "up"]}, ["up"]),
        ({"command": ["mooring"], "args": ["$(WHAT)"]}, ["new-plugin"]),
    ],
    ids=lambda value: str(value),
)
def test_other_commands_run_only_without_a_plugin(
    container: dict[str, Any], words: list[str]
) -> None:
    environment = {"WHAT": "new-plugin"}
    assert command_line(container, FREE, environment) == words
    with pytest.raises(RefusedCommandError, match=f'"{words[0]}" is refused'):
        command_line(container, CONFINED, environment)


def test_arguments_of_a_free_image_may_name_a_command() -> None:
    assert command_line({"args": ["extender", "--v=3"]}, FREE, {}) == ["extender", "--v=3"]
    assert command_line({"args": ["extender", "--v=3"]}, CONFINED, {}) == ["run", "--v=3"]


@pytest.mark.parametrize("image", [FREE, CONFINED], ids=["free", "confined"])
def test_a_shell_is_not_there(image: Image) -> None:
    with pytest.raises(NoSuchProgramError, match='exec: "/bin/sh": executable file not found'):
        command_line({"command": ["/bin/sh"]}, image, {})
