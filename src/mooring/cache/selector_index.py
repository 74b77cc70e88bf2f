"""SelectorIndex: which selectors could match a pod, without checking all of them.

Thousands of owners each have a selector; adding or removing a pod must touch only those that can
match. Most selectors require some label to have some value, so each entry is stored under one such
pair (the one with the fewest entries so far) and found through the pod's own labels. Entries that
require no value are stored under their namespace alone. A candidate may still not match: the
caller checks it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Generic, TypeVar

from mooring.api.labels import IN, Selector

E = TypeVar("E")

#: If there are more namespaces than this and a label value is required, they are ignored.
_MANY = 16

#: (namespace, label key, label value); namespace None means every namespace, key "" means any
#: label.
_Key = tuple[str | None, str, str]


class SelectorIndex(Generic[E]):
    """An index of entries by namespaces and selector. An entry is recognised by its object
    identity."""

    def __init__(self) -> None:
        self._buckets: dict[_Key, dict[int, E]] = {}
        self._keys: dict[int, tuple[_Key, ...]] = {}

    def __len__(self) -> int:
        return len(self._keys)

    def add(self, entry: E, namespaces: frozenset[str] | None, selector: Selector) -> None:
        """Add an entry; one that cannot match any pod is never a candidate."""
        keys = self._filing_keys(namespaces, selector)
        self._keys[id(entry)] = keys
        for key in keys:
            self._buckets.setdefault(key, {})[id(entry)] = entry

    def remove(self, entry: E) -> None:
        """Remove an entry."""
        for key in self._keys.pop(id(entry)):
            bucket = self._buckets[key]
            del bucket[id(entry)]
            if not bucket:
                del self._buckets[key]

    def candidates(self, namespace: str, labels: Mapping[str, str]) -> Iterator[E]:
        """Yield the entries that could match a pod, each once."""
        buckets = self._buckets
        if not buckets:
            return
        for where in (namespace, None):
            bucket = buckets.get((where, "", ""))
            if bucket:
                yield from bucket.values()
            for key, value in labels.items():
                bucket = buckets.get((where, key, value))
                if bucket:
                    yield from bucket.values()

    def _filing_keys(
        self, namespaces: frozenset[str] | None, selector: Selector
    ) -> tuple[_Key, ...]:
        if selector.nothing:
            return ()
        spaces: tuple[str | None, ...] = (None,) if namespaces is None else tuple(namespaces)
        # Many namespaces times many values make too many keys; the label pair narrows enough.
        narrow: tuple[str | None, ...] = spaces if len(spaces) <= _MANY else (None,)
        choices = [
            tuple((space, demand.key, value) for space in narrow for value in demand.values)
            for demand in selector.requirements
            if demand.operator == IN
        ]
        if not choices:
            return tuple((space, "", "") for space in spaces)
        return min(choices, key=self._filed)

    def _filed(self, keys: tuple[_Key, ...]) -> int:
        """Return how many entries are filed under some keys."""
        return sum(len(self._buckets.get(key, ())) for key in keys)
