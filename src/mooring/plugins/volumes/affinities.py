"""The nodes that can reach persistent volumes and storage capacities, each parsed once."""

from __future__ import annotations

from mooring.api import CSIStorageCapacity, PersistentVolume
from mooring.plugins.volumes.reachability import EVERYWHERE, Terms, access_terms, selector_terms


class Affinities:
    """A cache of parsed node affinities. Owned by one plugin."""

    #: When the cache has this many entries, it is cleared.
    _LIMIT = 65536

    def __init__(self) -> None:
        self._parsed: dict[str, tuple[object, Terms]] = {}

    def of(self, volume: PersistentVolume) -> Terms:
        """Return the terms of the nodes that can reach a volume."""
        affinity = volume.spec.node_affinity
        if affinity is None or affinity.required is None:
            return EVERYWHERE
        found = self._parsed.get(volume.metadata.name)
        if found is None or found[0] is not affinity:
            found = self._remember(
                volume.metadata.name, affinity, selector_terms(affinity.required)
            )
        return found[1]

    def of_capacity(self, capacity: CSIStorageCapacity) -> Terms:
        """Return the terms of the nodes that can use a storage capacity."""
        # A volume's name has no slash, so it cannot equal a capacity's key in the cache.
        found = self._parsed.get(capacity.key)
        if found is None or found[0] is not capacity.node_topology:
            found = self._remember(capacity.key, capacity.node_topology, access_terms(capacity))
        return found[1]

    def _remember(self, key: str, of: object, terms: Terms) -> tuple[object, Terms]:
        if len(self._parsed) >= self._LIMIT:
            self._parsed.clear()
        self._parsed[key] = (of, terms)
        return of, terms
