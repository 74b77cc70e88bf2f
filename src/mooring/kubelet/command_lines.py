"""Translation of a container's command and args to the command line of a process."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Mapping
from typing import Any

from mooring.kubelet.image_contents import OWN, Image

Object = dict[str, Any]

_SCHEDULERS = ("kube-scheduler", "mooring-kube-scheduler")
_SHELLS = ("sh", "bash", "ash", "dash", "busybox")
# "$$" is a dollar sign, "$(NAME)" a variable.
_REFERENCE = re.compile(r"\$(?:\$|\(([^)]*)\))")
_RUN = "run"


class NoSuchProgramError(Exception):
    """A program that an image does not contain, reported in the words of runc."""

    def __init__(self, program: str) -> None:
        super().__init__(
            "failed to create containerd task: failed to create shim task: OCI runtime create "
            "failed: runc create failed: unable to start container process: error during "
            f'container init: exec: "{program}": executable file not found in $PATH'
        )


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace each `$(NAME)` with the variable's value; unknown names stay as they are.

    >>> expand("--v=$(LEVEL) $$(LEVEL) $(NONE)", {"LEVEL": "3"})
    '--v=3 $(LEVEL) $(NONE)'
    """
    # kubernetes: third_party/forked/golang/expansion/expand.go

    def value(found: re.Match[str]) -> str:
        name = found[1]
        return "$" if name is None else variables.get(name, f"$({name})")

    return _REFERENCE.sub(value, text)


def command_line(container: Object, image: Image, environment: Mapping[str, str]) -> list[str]:
    """Return the arguments of `mooring` for a container's command and args.

    An image's own entry point is `mooring run`. The usual program names of schedulers also stand
    for it, and in a mapped image (`--image`) any program name does.
    """
    command = [expand(one, environment) for one in container.get("command") or ()]
    words = [expand(one, environment) for one in container.get("args") or ()]
    if command:
        program, words = command[0], [*command[1:], *words]
        name = posixpath.basename(program)
        if name == OWN:
            words = words or [_RUN]
        elif name in _SCHEDULERS or (image.mapped and name not in _SHELLS):
            words = [_RUN, *words]
        else:
            raise NoSuchProgramError(program)
    elif not words or words[0].startswith("-"):
        words = [_RUN, *words]
    elif posixpath.basename(words[0]) in (*_SCHEDULERS, OWN) or (
        # The image may have no entry point; then the first word is the program.
        image.mapped and words[0] != _RUN
    ):
        return command_line({"command": words}, image, {})
    if words[0] != _RUN:
        return words
    return [*words, *(f"--plugin={one}" for one in image.plugins)]


def flag_value(words: list[str], name: str) -> str | None:
    """Return the last value of a flag, written with or without "="; None if it is absent."""
    found = None
    for place, word in enumerate(words):
        if word == f"--{name}" and place + 1 < len(words):
            found = words[place + 1]
        elif word.startswith(f"--{name}="):
            found = word.partition("=")[2]
    return found
