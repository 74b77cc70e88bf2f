"""How a plugin's breach of contract is reported: as a Status that names it, not an exception."""

from __future__ import annotations

from typing import Any

from mooring.errors import PluginError, cut_text
from mooring.framework.plugin_errors import error_text, raise_if_external, traceback_text
from mooring.framework.points import Point
from mooring.framework.state import StateNotFoundError
from mooring.framework.status import Code, Status

#: The most bytes of a wrong value that an error shows.
_MAX_VALUE = 60


def fault(plugin: str, point: Point, error: BaseException, node: str | None = None) -> Status:
    """Return the error status of a plugin that raised, whatever it raised.

    An exception raised into the plugin from outside is raised again. Reading state that was never
    written is not a breach of contract: kube-scheduler reports "not found".
    """
    raise_if_external(error)
    if isinstance(error, StateNotFoundError):
        text = str(error)
    else:
        text = str(PluginError(error_text(error), plugin=plugin, point=point.label, node=node))
    return Status(Code.ERROR, (text,), plugin=plugin, traceback=traceback_text(error))


def wrong_type(
    plugin: str, point: Point, method: str, expected: str, found: Any, node: str | None = None
) -> Status:
    """Return the error status of a plugin whose method returned the wrong type."""
    message = f"{method} must return {expected}, got {_describe(found)}"
    error = PluginError(message, plugin=plugin, point=point.label, node=node)
    return Status.error(str(error)).by(plugin)


def _describe(found: Any) -> str:
    return f"{type(found).__name__} {cut_text(repr(found), _MAX_VALUE)}"
