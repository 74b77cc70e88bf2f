"""Translation of a container's command and args to a command line."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.kubelet.command_lines import NoSuchProgramError, command_line, flag_value
from mooring.kubelet.image_contents import Image

MAPPED = Image(("a.py:A", "b.py:B"), mapped=True)
PLUGINS = ["--plugin=a.py:A", "--plugin=b.py:B"]


@pytest.mark.parametrize(
    ("container", "image", "words"),
    [
        pytest.param({}, Image(), ["run"], id="nothing said"),
        pytest.param({"args": ["--v=3"]}, Image(), ["run", "--v=3"], id="flags"),
        pytest.param({"args": ["run", "--v=3"]}, Image(), ["run", "--v=3"], id="run and flags"),
        pytest.param({"command": ["mooring"]}, Image(), ["run"], id="mooring alone"),
        pytest.param(
            {"command": ["mooring", "run"], "args": ["--v=3"]},
            Image(),
            ["run", "--v=3"],
            id="mooring run",
        ),
        pytest.param(
            {"command": ["mooring", "config", "a.yaml"]},
            MAPPED,
            ["config", "a.yaml"],
            id="another command of mooring has no plugins",
        ),
        pytest.param(
            {"command": ["/bin/kube-scheduler", "--v=3"]}, Image(), ["run", "--v=3"], id="a path"
        ),
        pytest.param(
            {"args": ["kube-scheduler", "--v=3"]}, MAPPED, ["run", "--v=3", *PLUGINS], id="in args"
        ),
        pytest.param(
            {"command": ["sample-scheduler", "--v=3"]},
            MAPPED,
            ["run", "--v=3", *PLUGINS],
            id="a mapped image has a program of any name",
        ),
        pytest.param(
            {"args": ["--v=$(LEVEL)", "$$(LEVEL)"]},
            Image(),
            ["run", "--v=7", "$(LEVEL)"],
            id="variables",
        ),
    ],
)
def test_command_lines(container: dict[str, Any], image: Image, words: list[str]) -> None:
    assert command_line(container, image, {"LEVEL": "7"}) == words


@pytest.mark.parametrize(
    ("program", "image"),
    [
        pytest.param("sample-scheduler", Image(), id="a program that is not in the image"),
        pytest.param("/bin/sh", MAPPED, id="a shell"),
    ],
)
def test_a_program_that_is_not_there(program: str, image: Image) -> None:
    with pytest.raises(NoSuchProgramError, match=f'exec: "{program}": executable file not found'):
        command_line({"command": [program]}, image, {})


def test_the_last_of_a_flag_counts() -> None:
    assert flag_value(["--port=1", "--port", "2"], "port") == "2"
    assert flag_value(["--ports=1"], "port") is None
