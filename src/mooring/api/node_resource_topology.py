"""NodeResourceTopology: what the NUMA cells of a node still have, as an agent there reports."""

# noderesourcetopology-api: pkg/apis/topology/v1alpha2/types.go

from __future__ import annotations

from typing import ClassVar

from mooring.api.meta import TypedObject
from mooring.api.quantity import QuantityText
from mooring.api.wire import Wire

#: The type of a zone that is a NUMA cell.
NUMA_CELL = "Node"
#: A NUMA cell is named "node-" and its id.
CELL_PREFIX = "node-"


class TopologyAttribute(Wire, frozen=True, kw_only=True):
    """A name and a value that describe a node or a zone."""

    name: str = ""
    value: str = ""


class ZoneCost(Wire, frozen=True, kw_only=True):
    """The distance from a zone to the zone of this name."""

    name: str = ""
    value: int = 0


class ZoneResource(Wire, frozen=True, kw_only=True):
    """What a zone has of one resource."""

    name: str = ""
    capacity: QuantityText | None = None
    allocatable: QuantityText | None = None
    #: What is left for new pods.
    available: QuantityText | None = None


class TopologyZone(Wire, frozen=True, kw_only=True):
    """A part of a node, such as a NUMA cell (type "Node")."""

    name: str = ""
    type: str = ""
    parent: str = ""
    costs: tuple[ZoneCost, ...] = ()
    attributes: tuple[TopologyAttribute, ...] = ()
    resources: tuple[ZoneResource, ...] = ()


class NodeResourceTopology(TypedObject, frozen=True, kw_only=True):
    """The zones of the node of the same name, and how its kubelet places pods on them."""

    api_version: ClassVar[str] = "topology.node.k8s.io/v1alpha2"
    kind: ClassVar[str] = "NodeResourceTopology"

    #: Deprecated in favour of attributes; only the first entry counts.
    topology_policies: tuple[str, ...] = ()
    zones: tuple[TopologyZone, ...] = ()
    attributes: tuple[TopologyAttribute, ...] = ()

    def attribute(self, name: str) -> str | None:
        """Return the value of the first attribute of this name, or None."""
        for one in self.attributes:
            if one.name == name:
                return one.value
        return None
