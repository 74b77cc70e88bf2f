"""Listers: read access to the objects the scheduler watches (stores: `mooring.informers`)."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable
from typing import Any, Protocol, TypeVar

T_co = TypeVar("T_co", covariant=True)


class Lister(Protocol[T_co]):
    """Read access to the objects of one kind."""

    #: Grows with every change of any object: a cheap way to see whether a derived value is stale.
    version: int

    def get(self, name: str, namespace: str = "") -> T_co | None:
        """Return one object, or None."""
        ...

    def list(self, namespace: str | None = None) -> Iterable[T_co]:
        """Return all objects, or those of one namespace."""
        ...

    def add_index(self, index: str, keys: Callable[[Any], Iterable[Hashable]]) -> None:
        """Add an index: `keys(object)` returns its keys. Idempotent by name."""
        ...

    def by_index(self, index: str, key: Hashable) -> Iterable[T_co]:
        """Return the objects that an index lists under `key`."""
        ...

    def subscribe(self, changed: Callable[[Any, Any], None]) -> None:
        """Call `changed(old, new)` for every object there is, and for each change from now on.

        `old` is None for an object that is new, `new` is None for one that is gone. The call
        happens when the change arrives, between or during cycles: only record the change.
        """
        ...
