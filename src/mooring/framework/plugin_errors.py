"""Exceptions from plugin code: which are the plugin's own, and how they are worded.

Every exception that leaves a plugin is an error of that plugin, including SystemExit,
KeyboardInterrupt, GeneratorExit and CancelledError, unless it was raised into the plugin from
outside: by the user who presses Ctrl-C, or by the owner of the task that the plugin runs in. All
code that calls plugins catches BaseException and calls `raise_if_external` first.
"""

from __future__ import annotations

import contextlib
import signal
import sys
import threading
import traceback
from collections.abc import Coroutine
from types import FrameType
from typing import Any

#: Packages whose exceptions end a test, wherever they are raised.
_TEST_FRAMEWORKS = frozenset({"_pytest", "hypothesis"})


class AbandonedError(BaseException):
    """An exception that ends a coroutine which has suspended although nothing can resume it."""


def abandon(work: Coroutine[Any, Any, Any]) -> None:
    """End a coroutine that has suspended although nothing can resume it."""
    # close() would raise GeneratorExit, which a plugin may raise itself; AbandonedError is ours.
    with contextlib.suppress(AbandonedError, StopIteration):
        work.throw(AbandonedError())
    work.close()


def ignore_signal(number: int, frame: FrameType | None) -> None:
    """Do nothing, as the Python handler of a signal that another thread handles."""


def raise_if_external(error: BaseException) -> None:
    """Raise an exception again if it was raised into the plugin from outside."""
    if isinstance(error, Exception):
        return
    if (
        isinstance(error, AbandonedError)
        or _is_cancellation(error)
        or (isinstance(error, KeyboardInterrupt) and _may_be_interrupted())
        or _ends_a_test(error)
    ):
        raise error


def _ends_a_test(error: BaseException) -> bool:
    return any(base.__module__.partition(".")[0] in _TEST_FRAMEWORKS for base in type(error).mro())


def _is_cancellation(error: BaseException) -> bool:
    """Return whether an exception was raised because the current task has been cancelled.

    If only a future that the plugin awaits is cancelled, CancelledError is raised too, but the
    task itself is not cancelled.
    """
    # Not imported by this module: a plugin's test needs no event loop, and asyncio is slow to load.
    asyncio = sys.modules.get("asyncio")
    if asyncio is None or not isinstance(error, asyncio.CancelledError):
        return False
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


def traceback_text(error: BaseException) -> str:
    """Return the traceback of an exception and its causes, as Python prints it."""
    return "".join(traceback.format_exception(error))


def error_message(error: BaseException) -> str:
    """Return the message of an exception; its class may come from the plugin and be broken too."""
    try:
        return str(error)
    except BaseException as broken:
        raise_if_external(broken)
        return f"<{type(error).__name__} whose message cannot be read>"
