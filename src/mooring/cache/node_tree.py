"""NodeTree: the order in which kube-scheduler looks at nodes: round-robin over the zones.

It matters only if nodes are sampled (`percentageOfNodesToScore`).

# kube-scheduler: backend/cache/node_tree.go
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mooring.api import Node

_REGION = "topology.kubernetes.io/region"
_ZONE = "topology.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"


def zone_key(node: Node) -> tuple[str, str]:
    """Return (region, zone); the beta labels take precedence, as in component-helpers."""
    labels = node.metadata.labels
    region = labels.get(_BETA_REGION, labels.get(_REGION, ""))
    zone = labels.get(_BETA_ZONE, labels.get(_ZONE, ""))
    return region, zone


class NodeTree:
    """Node names by zone, in the order in which they were added. Owned by the cache."""

    def __init__(self) -> None:
        self._zones: dict[tuple[str, str], dict[str, None]] = {}
        self._zone_of: dict[str, tuple[str, str]] = {}

    def add(self, node: Node) -> None:
        """Add a node."""
        name, zone = node.metadata.name, zone_key(node)
        self._zones.setdefault(zone, {})[name] = None
        self._zone_of[name] = zone

    def remove(self, name: str) -> None:
        """Remove a node."""
        zone = self._zone_of.pop(name)
        del self._zones[zone][name]
        if not self._zones[zone]:
            del self._zones[zone]

    def update(self, node: Node) -> None:
        """Move a node to the end of another zone if its labels changed."""
        if self._zone_of[node.metadata.name] != zone_key(node):
            self.remove(node.metadata.name)
            self.add(node)

    def arrange(self, zones: Iterable[Sequence[str]]) -> None:
        """Put the nodes into another order: by zone, each zone with the names of all its nodes."""
        self._zones = {self._zone_of[names[0]]: dict.fromkeys(names) for names in zones}

    def zones(self) -> list[list[str]]:
        """Return the names of each zone, in the order in which they were added."""
        return [list(names) for names in self._zones.values()]

    def names(self) -> list[str]:
        """Return all names, one of each zone in turn."""
        order: list[str] = []
        zones = [iter(names) for names in self._zones.values()]
        while zones:
            left = []
            for names in zones:
                name = next(names, None)
                if name is not None:
                    order.append(name)
                    left.append(names)
            zones = left
        return order
