"""NodeTree: the order in which kube-scheduler looks at nodes, taking zones in turn.

Only sampling (`percentageOfNodesToScore`) can see it.

# kube-scheduler: backend/cache/node_tree.go
"""

from __future__ import annotations

from mooring.api import Node

_REGION = "topology.kubernetes.io/region"
_ZONE = "topology.kubernetes.io/zone"
_BETA_REGION = "failure-domain.beta.kubernetes.io/region"
_BETA_ZONE = "failure-domain.beta.kubernetes.io/zone"


def zone_key(node: Node) -> tuple[str, str]:
    """Return (region, zone); the beta labels win where a node has both, as in component-helpers."""
    labels = node.metadata.labels
    region = labels.get(_BETA_REGION, labels.get(_REGION, ""))
    zone = labels.get(_BETA_ZONE, labels.get(_ZONE, ""))
    return region, zone


class NodeTree:
    """Keep node names by zone, in the order they came. Owned by the cache."""

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
        """Move a node to another zone if its labels say so; it becomes the last there."""
        if self._zone_of[node.metadata.name] != zone_key(node):
            self.remove(node.metadata.name)
            self.add(node)

    def names(self) -> list[str]:
        """Return all names: one of each zone in turn until all are named."""
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
