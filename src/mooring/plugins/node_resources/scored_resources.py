"""The resources that a plugin scores, with the devices that back some of them."""

# kube-scheduler: plugins/noderesources/resource_allocation.go (getDRAPreScoredParams)

from __future__ import annotations

from collections.abc import Mapping, Sequence

from msgspec.structs import replace

from mooring.framework.handle import Handle
from mooring.framework.nodes import Nodes
from mooring.plugins.args import ResourceSpec
from mooring.plugins.dynamic_resources.device_classes import BackedResources, backed_resources
from mooring.plugins.dynamic_resources.device_totals import DeviceTotals, device_totals
from mooring.plugins.dynamic_resources.extended import may_be_backed
from mooring.plugins.node_resources.allocation import Share, backed_amounts, shares_of


class ScoredResources:
    """The resources of a plugin's arguments. Owned by the plugin."""

    def __init__(self, specs: Sequence[ResourceSpec]) -> None:
        self._specs = specs
        self._backed: BackedResources | None = None
        self._totals: DeviceTotals | None = None

    def start(self, handle: Handle) -> None:
        """Watch devices if one of the resources may be backed by a DeviceClass."""
        backed = backed_resources(handle)
        if isinstance(backed, BackedResources) and any(
            may_be_backed(spec.name) for spec in self._specs
        ):
            self._backed = backed
            self._totals = device_totals(handle)

    def shares(self, requests: Mapping[str, int], nodes: Nodes) -> tuple[Share, ...]:
        """Return the resources that count in the score of a pod."""
        shares = shares_of(self._specs, requests)
        if self._totals is None:
            return shares
        return tuple(self._with_devices(share, nodes) for share in shares)

    def _with_devices(self, share: Share, nodes: Nodes) -> Share:
        if self._backed is None or self._totals is None or not may_be_backed(share.resource):
            return share
        device_class = self._backed.device_class(share.resource)
        if device_class is None:
            return share
        devices = self._totals.of(device_class, nodes)
        return replace(share, backed=backed_amounts(nodes, share.resource, devices))
