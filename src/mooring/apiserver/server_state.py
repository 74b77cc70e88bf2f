"""What the parts of the API share: the store, the catalogue, the clock, the signing key."""

from __future__ import annotations

import datetime
import random
import uuid
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from mooring.apiserver import refusals
from mooring.apiserver.resource_store import ResourceStore, Stored, key_of
from mooring.apiserver.resource_table import Catalogue, Served

Object = dict[str, Any]

_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
"""apimachinery: pkg/util/rand, letters that make no words"""


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


@dataclass(slots=True)
class ServerState:
    """Hold the state of one local cluster."""

    store: ResourceStore
    catalogue: Catalogue
    now: Callable[[], datetime.datetime] = _now
    random: random.Random = field(default_factory=random.Random)
    disabled: frozenset[str] = frozenset()
    """The admission plugins that are off, by kube-apiserver's names."""

    def timestamp(self) -> str:
        """Return the time as objects carry it."""
        # strftime takes several times as long, and every write asks.
        return f"{self.now().isoformat()[:19]}Z"

    def uid(self) -> str:
        """Return a fresh unique identifier."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        """Return random letters, as generated names end with."""
        return "".join(self.random.choices(_ALPHABET, k=length))

    def find(self, served: Served, namespace: str, name: str) -> Stored:
        """Return an object; refuses where it is not there."""
        stored = self.store.get(served.store, key_of(namespace, name))
        if stored is None:
            raise refusals.not_found(served.name, served.group, name)
        return stored

    def lookup(self, resource: str, namespace: str, name: str) -> Object | None:
        """Return an object by the name of its place in the store, `/pods`, or None."""
        stored = self.store.get(resource, key_of(namespace, name))
        return stored.object if stored is not None else None
