"""Listers: read access to objects the scheduler watches. The stores live in `mooring.informers`."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Lister(Protocol[T_co]):
    """Find objects of one kind."""

    #: Grows with every change of any object: a cheap test of whether a derived value is stale.
    version: int

    def get(self, name: str, namespace: str = "") -> T_co | None:
        """Return one object, or None."""
        ...

    def list(self, namespace: str | None = None) -> Iterable[T_co]:
        """Return all objects, or those of one namespace."""
        ...

    def add_index(self, index: str, keys: Callable[[Any], Iterable[Hashable]]) -> None:
        """Keep an index: `keys(object)` says under which keys it is found. Idempotent by name."""
        ...

    def by_index(self, index: str, key: Hashable) -> Iterable[T_co]:
        """Return the objects found under `key`."""
        ...
