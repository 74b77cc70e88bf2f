"""How a simulated container behaves, as far as its command tells."""

from __future__ import annotations

import re

from mooring.api import Container, Pod

#: How long a task runs if its command does not say.
DEFAULT_TASK_SECONDS = 1.0
#: How long a server takes to end after SIGTERM.
DEFAULT_STOP_SECONDS = 1.0
_DEFAULT_GRACE = 30

_SLEEP = re.compile(r"\bsleep\s+(\d+(?:\.\d+)?|infinity)\b")
_EXIT = re.compile(r"\bexit\s+(\d+)\b")
_FALSE = re.compile(r"(?:^|[/;&\s])false\s*$")


def task_seconds(pod: Pod) -> float | None:
    """Return the seconds that a pod runs until it ends by itself; None if it never does.

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
    """Return the seconds a pod takes to end after SIGTERM, at most its grace period.

    `sleep` as the first process ignores SIGTERM and takes the whole grace period. A preStop hook
    that sleeps adds its seconds.
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
