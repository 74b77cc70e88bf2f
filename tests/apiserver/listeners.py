"""The listeners of a store, counted from outside."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable

from mooring.apiserver.resource_store import Listener, ResourceStore


def count_listeners(store: ResourceStore) -> Counter[str]:
    """Return how many listeners each resource has; the counts follow what comes and goes."""
    counts: Counter[str] = Counter()
    listen = store.listen

    def counted(resource: str, listener: Listener) -> Callable[[], None]:
        end = listen(resource, listener)
        counts[resource] += 1
        ended = False

        def end_once() -> None:
            nonlocal ended
            end()
            if not ended:
                ended = True
                counts[resource] -= 1

        return end_once

    store.listen = counted  # type: ignore[method-assign]
    return counts
