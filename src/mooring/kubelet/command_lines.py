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


class RefusedCommandError(Exception):
    """A command of Mooring that an image with one plugin does not run."""

    def __init__(self, command: str) -> None:
        super().__init__(
            f'"{command}" is refused: an image that `mooring up --image NAME=PLUGIN` names runs '
            "only `mooring run`"
        )


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

    An image's own entry point is `mooring run`. Any program name but `mooring` and those of shells
    also stands for it. The plugins of a confined image are not part of the command line.
    """
    command = [expand(one, environment) for one in container.get("command") or ()]
    words = [expand(one, environment) for one in container.get("args") or ()]
    if command:
        program, words = command[0], [*command[1:], *words]
        name = posixpath.basename(program)
        if name == OWN:
            words = words or [_RUN]
        elif name in _SHELLS:
            raise NoSuchProgramError(program)
        else:
            words = [_RUN, *words]
    elif not words or words[0].startswith("-"):
        words = [_RUN, *words]
    elif words[0] != _RUN and (image.is_confined or _is_program(words[0])):
        # The image may have no entry point; then the first word is the program.
        return command_line({"command": words}, image, {})
    if words[0] != _RUN and image.is_confined:
        raise RefusedCommandError(words[0])
    return words


def _is_program(word: str) -> bool:
    """Return whether the first argument names a program, not a command of `mooring`."""
    return "/" in word or word in (OWN, *_SCHEDULERS)
