"""NetworkTopology: what it costs to talk from one zone or region to another."""

# diktyo-io/networktopology-api: pkg/apis/networktopology/v1alpha1/types.go

from __future__ import annotations

from typing import ClassVar

from mooring.api.meta import TypedObject
from mooring.api.quantity import QuantityText
from mooring.api.wire import Wire

#: The weights that the Netperf component measures; their lists are taken as sorted.
NETPERF_COSTS = "NetperfCosts"


class NetworkCost(Wire, frozen=True, kw_only=True):
    """The cost from an origin to one destination."""

    destination: str = ""
    bandwidth_capacity: QuantityText = 0
    bandwidth_allocated: QuantityText = 0
    network_cost: int = 0


class NetworkOrigin(Wire, frozen=True, kw_only=True):
    """The costs from one region or zone."""

    origin: str = ""
    cost_list: tuple[NetworkCost, ...] = ()


class NetworkTopologyInfo(Wire, frozen=True, kw_only=True):
    """The costs between the values of one label: regions or zones."""

    topology_key: str = ""
    origin_list: tuple[NetworkOrigin, ...] = ()


class NetworkWeights(Wire, frozen=True, kw_only=True):
    """All costs that one source of weights (UserDefined, NetperfCosts) gives."""

    name: str = ""
    topology_list: tuple[NetworkTopologyInfo, ...] = ()


class NetworkTopologySpec(Wire, frozen=True, kw_only=True):
    """The costs, by source."""

    weights: tuple[NetworkWeights, ...] = ()
    configmap_name: str = ""


class NetworkTopologyStatus(Wire, frozen=True, kw_only=True):
    """The observed state, written by its controller."""

    node_count: int = 0
    weight_calculation_time: str | None = None


class NetworkTopology(TypedObject, frozen=True, kw_only=True):
    """The network costs between the regions and zones of a cluster."""

    api_version: ClassVar[str] = "networktopology.diktyo.x-k8s.io/v1alpha1"
    kind: ClassVar[str] = "NetworkTopology"

    spec: NetworkTopologySpec = NetworkTopologySpec()
    status: NetworkTopologyStatus = NetworkTopologyStatus()
