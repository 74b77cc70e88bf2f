"""Whether this process runs one plugin for a container that others may have written.

The local cluster runs the containers of `mooring up --image NAME=PLUGIN` as the user, with
arguments, variables and files of whoever created the pod. None of those may load other code, start
a program, or write outside of the container's folder.
"""

from __future__ import annotations

import os

from mooring.errors import ConfigError

#: The environment variable that says so. The local cluster sets it, and overrides the pod's own.
CONFINED = "MOORING_CONFINED"

_REFUSED = (
    "{} is refused: `mooring up --image NAME=PLUGIN` runs that plugin alone; `--image NAME` runs "
    "whatever a pod names"
)


def is_confined() -> bool:
    """Return whether this process may load no code but the plugin that it was started with."""
    return bool(os.environ.get(CONFINED))


def refuse_if_confined(what: str) -> None:
    """Raise ConfigError about `what` if this process is confined."""
    if is_confined():
        raise ConfigError(_REFUSED.format(what))
