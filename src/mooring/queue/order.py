"""The order of the queue, from either form of QueueSort."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from mooring.framework.plugin import Plugin
from mooring.framework.queued import QueuedPod


def queue_order(plugin: Plugin | None) -> Callable[[QueuedPod], Any]:
    """Return the sort key of a QueueSort plugin; without a plugin, pods are sorted by time.

    If a plugin has both forms, `sort_key` is used: comparing keys needs no further call.
    """
    if plugin is None:
        return lambda queued: queued.timestamp
    sort_key: Callable[[QueuedPod], Any] | None = getattr(plugin, "sort_key", None)
    if sort_key is not None:
        return sort_key
    less: Callable[[QueuedPod, QueuedPod], bool] = plugin.less  # type: ignore[attr-defined]

    def compare(a: QueuedPod, b: QueuedPod) -> int:
        if less(a, b):
            return -1
        return bool(less(b, a))

    return functools.cmp_to_key(compare)
