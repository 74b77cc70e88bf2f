"""Plugin calls in progress, found on the stack of a thread or in what a task awaits.

The scheduling cycle makes too many calls to record each of them for the rare case that one does not
return. The interpreter knows them anyway.
"""

from __future__ import annotations

import asyncio
import os
import sys
from collections.abc import Iterable, Iterator
from types import CodeType, FrameType
from typing import Any

import msgspec

from mooring.api import Pod
from mooring.framework.plugin import Plugin
from mooring.framework.points import METHODS

#: For each kind of awaitable, the attributes of its frame and of what it awaits in turn.
_CHAINS = (("cr_frame", "cr_await"), ("gi_frame", "gi_yieldfrom"), ("ag_frame", "ag_await"))


#: Modules whose functions call plugins and extenders.
_CALLERS = ("mooring.cycle.", "mooring.binding.", "mooring.queue.")
_EXTENDER = "Extender"


class PluginCall(msgspec.Struct, frozen=True):
    """A call of a plugin or an extender that has not returned."""

    plugin: str
    #: The extension point, or the name of the method if it is not part of one.
    point: str
    #: Namespace and name of the pod, or "".
    pod: str
    #: The file, line and function that the call has reached.
    place: str


def running_call(thread_id: int) -> PluginCall | None:
    """Return the plugin call that a thread is in, or None."""
    return _find(_stack(sys._current_frames().get(thread_id)))


def running_place(thread_id: int) -> str:
    """Return the file, line and function that a thread is in, or ""."""
    frame = sys._current_frames().get(thread_id)
    return "" if frame is None else _place(frame)


def awaited_call(task: asyncio.Task[Any] | None) -> PluginCall | None:
    """Return the plugin call that a task waits for, or None."""
    return None if task is None else _find(reversed(list(_awaited(task.get_coro()))))


def _stack(frame: FrameType | None) -> Iterator[FrameType]:
    """Yield the frames of a stack, the innermost first."""
    while frame is not None:
        yield frame
        frame = frame.f_back


def _awaited(awaitable: Any) -> Iterator[FrameType]:
    """Yield the frames of a coroutine and of what it awaits, the outermost first."""
    while awaitable is not None:
        for frame_name, next_name in _CHAINS:
            if hasattr(awaitable, frame_name):
                frame = getattr(awaitable, frame_name)
                if frame is not None:
                    yield frame
                awaitable = getattr(awaitable, next_name)
                break
        else:
            return


def _find(frames: Iterable[FrameType]) -> PluginCall | None:
    """Return the innermost call of an extension point.

    If there is none, return that of any plugin method, or else of a function in a plugin's module
    that the event loop runs. Outside of the event loop is the program that runs it, whose module
    may define plugins too.
    """
    place, other, function = "", None, None
    for frame in frames:
        place = place or _place(frame)
        if frame.f_globals.get("__name__") == asyncio.events.__name__:
            return other or function
        function = function or _function_of_plugin(frame, place)
        name = frame.f_code.co_name
        arguments = _arguments(frame)
        owner = next(iter(arguments.values()), None)
        if isinstance(owner, Plugin):
            method = _method_of(owner, frame.f_code)
            call = PluginCall(owner.name, _label(method or name), _pod_key(arguments), place)
            if method:
                return call
            other = other or call
        elif str(frame.f_globals.get("__name__")).startswith(_CALLERS):
            found = _called_from(frame)
            if found is not None:
                return PluginCall(*found, _pod_key(frame.f_locals), place)
    return other


def _function_of_plugin(frame: FrameType, place: str) -> PluginCall | None:
    """Return the call of a function in the module of a plugin, such as one that it spawned."""
    module = frame.f_globals.get("__name__")
    for plugin in _subclasses(Plugin):
        if plugin.__module__ == module:
            name = frame.f_code.co_name
            return PluginCall(plugin.name, name, _pod_key(frame.f_locals), place)
    return None


def _subclasses(plugin: type[Plugin]) -> Iterator[type[Plugin]]:
    for one in plugin.__subclasses__():
        yield one
        yield from _subclasses(one)


def _method_of(plugin: Plugin, code: CodeType) -> str:
    """Return the extension point method of a plugin that has this code, or ""."""
    for name in METHODS:
        function = getattr(type(plugin), name, None)
        if getattr(function, "__code__", None) is code:
            return name
    return ""


def _called_from(frame: FrameType) -> tuple[str, str] | None:
    """Return the plugin or extender that a frame of the scheduler calls, and the point."""
    values = frame.f_locals
    if frame.f_code.co_name == "filter_by_extenders" and "extender" in values:
        return str(values["extender"].name), _EXTENDER
    if frame.f_code.co_name == "prioritize_by_extenders" and "asked" in values:
        return ", ".join(extender.name for extender in values["asked"]), _EXTENDER
    step = values.get("step")
    if step is None or not hasattr(step, "evaluations"):
        return None
    # The method itself has no usable frame: it takes any arguments, or is not written in Python.
    call = getattr(step, "call", None) or step.node or step.vector
    return str(step.name), _label(getattr(call, "__name__", ""))


def _arguments(frame: FrameType) -> dict[str, Any]:
    code, values = frame.f_code, frame.f_locals
    names = code.co_varnames[: code.co_argcount]
    return {name: values[name] for name in names if name in values}


def _label(method: str) -> str:
    found = METHODS.get(method)
    return method if found is None else found[0].label


def _pod_key(arguments: dict[str, Any]) -> str:
    return next((value.key for value in arguments.values() if isinstance(value, Pod)), "")


def _place(frame: FrameType) -> str:
    code = frame.f_code
    return f"{os.path.basename(code.co_filename)}:{frame.f_lineno} in {code.co_qualname}"
