"""Exceptions out of plugin code: which are the plugin's, and how they are worded.

Whatever leaves a plugin is an error of that plugin, SystemExit, KeyboardInterrupt, GeneratorExit
and CancelledError included, unless somebody else raised it into the plugin: the user who presses
Ctrl-C, or the owner of the task that the plugin runs in. Everything that calls plugin code catches
BaseException and calls `raise_if_external` first.
"""

from __future__ import annotations

import asyncio
import contextlib
import signal
import threading
from collections.abc import Coroutine
from types import FrameType
from typing import Any

#: Packages whose exceptions end a test, wherever they are raised.
_TEST_FRAMEWORKS = frozenset({"_pytest", "hypothesis"})


class AbandonedError(BaseException):
    """Ends a coroutine that has suspended although nothing can resume it."""


def abandon(work: Coroutine[Any, Any, Any]) -> None:
    """End a coroutine that has suspended although nothing can resume it."""
    # Unlike GeneratorExit, which close() would raise, no plugin raises AbandonedError itself.
    with contextlib.suppress(AbandonedError, StopIteration):
        work.throw(AbandonedError())
    work.close()


def ignore_signal(number: int, frame: FrameType | None) -> None:
    """Do nothing, as the Python handler of a signal that another thread handles."""


def raise_if_external(error: BaseException) -> None:
    """Raise an exception again unless the plugin that it came out of raised it."""
    if isinstance(error, Exception):
        return
    if (
        isinstance(error, AbandonedError)
        or (isinstance(error, asyncio.CancelledError) and _is_cancelled())
        or (isinstance(error, KeyboardInterrupt) and _may_be_interrupted())
        or _ends_a_test(error)
    ):
        raise error


def _ends_a_test(error: BaseException) -> bool:
    return any(base.__module__.partition(".")[0] in _TEST_FRAMEWORKS for base in type(error).mro())


def _is_cancelled() -> bool:
    """Return whether somebody has cancelled the current task.

    A future that is cancelled under a plugin raises CancelledError too, but leaves the task alone.
    """
    try:
        task = asyncio.current_task()
    except RuntimeError:
        return False
    return task is not None and task.cancelling() > 0


def _may_be_interrupted() -> bool:
    """Return whether Ctrl-C raises KeyboardInterrupt in the code that runs now."""
    if threading.current_thread() is not threading.main_thread():
        return False
    handler = signal.getsignal(signal.SIGINT)
    return handler not in (signal.SIG_DFL, signal.SIG_IGN, ignore_signal)


def error_text(error: BaseException) -> str:
    """Return the type and the message of an exception."""
    name = type(error).__name__
    message = error_message(error)
    return f"{name}: {message}" if message else name


def error_message(error: BaseException) -> str:
    """Return the message of an exception, whose class may be the plugin's and broken too."""
    try:
        return str(error)
    except BaseException as broken:
        raise_if_external(broken)
        return f"<{type(error).__name__} whose message cannot be read>"
