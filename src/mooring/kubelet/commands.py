"""How a fake container behaves: what can be read off its command."""

from __future__ import annotations

import re

from mooring.api import Container, Pod

#: A task that says nothing about its length.
DEFAULT_TASK_SECONDS = 1.0
#: A server that is asked to end does so within this time.
DEFAULT_STOP_SECONDS = 1.0
_DEFAULT_GRACE = 30

_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?|infinity)\b")
_EXIT = re.compile(r"\bexit\s+(\d+)\b")
_FALSE = re.compile(r"(?:^|[/;&\s])false\s*$")


def task_seconds(pod: Pod) -> float | None:
    """Return how long a pod works until it ends by itself; None where it never does.

    `sleep 5` takes five seconds, as in a real container; anything else takes one.
    """
    longest = 0.0
    for container in pod.spec.containers:
        found = _SLEEP.findall(_text(container))
        if "infinity" in found:
            return None
        longest = max(longest, sum(map(float, found)) if found else DEFAULT_TASK_SECONDS)
    return longest


def exit_code(container: Container) -> int:
    """Return the exit code of a container that ends by itself: `exit 3`, `false`, or 0."""
    text = _text(container)
    if found := _EXIT.findall(text):
        return int(found[-1]) & 0xFF
    return 1 if _FALSE.search(text) else 0


def stop_seconds(pod: Pod, grace: int | None) -> float:
    """Return how long a pod takes to end once it is asked to, at most its grace period.

    `sleep` as the first process hears no SIGTERM and takes all of it; a preStop hook that sleeps
    takes its time.
    """
    allowed = _DEFAULT_GRACE if grace is None else grace
    longest = DEFAULT_STOP_SECONDS
    for container in pod.spec.containers:
        hook = ((container.lifecycle or {}).get("preStop") or {}).get("sleep") or {}
        longest = max(longest, DEFAULT_STOP_SECONDS + hook.get("seconds", 0))
        if (container.command or container.args)[:1] == ("sleep",):
            longest = float(allowed)
    return min(longest, float(allowed))


def _text(container: Container) -> str:
    return " ".join((*container.command, *container.args))
