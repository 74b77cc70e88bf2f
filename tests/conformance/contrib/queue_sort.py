"""The order of the queue: Less of every pair of a scenario's pods.

Ours must be a strict weak order on all pods of a scenario. A relation that was recorded as one is
matched pair by pair. Where the original panics, or its relation is not an order or not irreflexive,
ours must agree where the recording has one answer: for pods of one AppGroup with different indexes,
and for the order of the whole queue if all its pods are of one group.
"""

from __future__ import annotations

from itertools import product
from typing import Any

from mooring.api import Pod, decode_as
from mooring.api.timestamps import parse_time
from mooring.framework.queued import QueuedPod
from mooring.queue.order import queue_order
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.conformance.contrib.cluster import build, only_profile
from tests.conformance.contrib.comparing import differences

Less = list[list[bool]]

_APP_GROUP = "appgroup.diktyo.x-k8s.io"


def check(scenario: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return where our order of a scenario's queue differs from the recorded one."""
    return check_sort(build(scenario), scenario, expected)


def check_sort(
    scheduler: MemoryScheduler, scenario: dict[str, Any], expected: dict[str, Any]
) -> list[str]:
    """Return where our order differs, in the present state of a scheduler."""
    queue = [_queued(one) for one in scenario["queue"]]
    names = [one.pod.key for one in queue]
    less = relation(scheduler, queue)
    found = not_a_strict_weak_order(names, less)
    ours = {"pods": names, "order": order(names, less)}
    recorded = expected.get("less")
    if expected["outcome"] == "sorted":
        found += differences(ours, expected, ("pods",))
        if expected["irreflexive"] or _is_one_group(scenario):
            found += differences(ours, expected, ("order",))
    if recorded is None:
        return found
    return found + [
        f"less/{names[i]}/{names[j]}: ours {less[i][j]}, recorded {recorded[i][j]}"
        for i, j in product(range(len(names)), repeat=2)
        if recorded[i][j] != recorded[j][i]
        and "panic" not in (recorded[i][j], recorded[j][i])
        and (expected.get("irreflexive") or _group(scenario, i) == _group(scenario, j) != "")
        and recorded[i][j] != less[i][j]
    ]


def relation(scheduler: MemoryScheduler, queue: list[QueuedPod]) -> Less:
    """Return Less of every pair, as the queue of a live scheduler asks."""
    plugin = only_profile(scheduler).queue_sort()
    key = queue_order(plugin)
    keys = [key(one) for one in queue]
    less = [[bool(a < b) for b in keys] for a in keys]
    compare = getattr(plugin, "less", None)
    if compare is not None:
        assert less == [[compare(a, b) for b in queue] for a in queue], "both forms agree"
    return less


def order(names: list[str], less: Less) -> list[list[str]]:
    """Return the groups of equals, in order."""
    groups: dict[int, list[str]] = {}
    for index, name in enumerate(names):
        groups.setdefault(sum(row[index] for row in less), []).append(name)
    return [sorted(groups[before]) for before in sorted(groups)]


def not_a_strict_weak_order(names: list[str], less: Less) -> list[str]:
    """Return the pairs and triples that a strict weak order forbids."""
    size = range(len(names))
    found = [f"{names[i]} goes before itself" for i in size if less[i][i]]
    found += [
        f"{names[i]} and {names[j]} go before each other"
        for i, j in product(size, size)
        if i < j and less[i][j] and less[j][i]
    ]
    found += [
        f"{names[i]} goes before {names[j]}, but not {names[k]} between them"
        for i, j, k in product(size, size, size)
        if less[i][j] and not less[i][k] and not less[k][j]
    ]
    return found


def _group(scenario: dict[str, Any], index: int) -> str:
    """Return the AppGroup of a pod of the queue, or ""."""
    labels = scenario["queue"][index]["pod"]["metadata"].get("labels") or {}
    return str(labels.get(_APP_GROUP, ""))


def _is_one_group(scenario: dict[str, Any]) -> bool:
    return len({_group(scenario, index) for index in range(len(scenario["queue"]))}) == 1


def _queued(raw: dict[str, Any]) -> QueuedPod:
    return QueuedPod(
        decode_as(raw["pod"], Pod),
        parse_time(raw["timestamp"]),
        parse_time(raw["initialAttemptTimestamp"]),
        raw["attempts"],
    )
