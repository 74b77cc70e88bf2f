"""The state that all handlers share: the store, the catalogue, the clock, the random source."""

from __future__ import annotations

import datetime
import random
import uuid
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.api.timestamps import format_time
from mooring.apiserver import refusals
from mooring.apiserver.resource_store import ResourceStore, Stored, key_of
from mooring.apiserver.resource_table import Catalogue, Served

Object = dict[str, Any]

#: Characters that form no words; apimachinery: pkg/util/rand
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def _now() -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC)


class ServerState(msgspec.Struct):
    """The state of one local cluster."""

    store: ResourceStore
    catalogue: Catalogue
    now: Callable[[], datetime.datetime] = _now
    random: random.Random = msgspec.field(default_factory=random.Random)
    #: The feature gates of the server that are on, of those that it asks about.
    features: frozenset[str] = frozenset()
    #: The disabled admission plugins, by kube-apiserver's names.
    disabled: frozenset[str] = frozenset()

    def timestamp(self) -> str:
        """Return the current time in the format of API objects."""
        return format_time(self.now().timestamp())

    def uid(self) -> str:
        """Return a new unique identifier."""
        return str(uuid.UUID(int=self.random.getrandbits(128), version=4))

    def suffix(self, length: int = 5) -> str:
        """Return a random suffix for a generated name."""
        return "".join(self.random.choices(_ALPHABET, k=length))

    def find(self, served: Served, namespace: str, name: str) -> Stored:
        """Return an object; refuse (404) if it does not exist."""
        stored = self.store.get(served.store, key_of(namespace, name))
        if stored is None:
            raise refusals.not_found(served.name, served.group, name)
        return stored

    def lookup(self, resource: str, namespace: str, name: str) -> Object | None:
        """Return an object by its resource's key in the store (`/pods`), or None."""
        stored = self.store.get(resource, key_of(namespace, name))
        return stored.object if stored is not None else None
