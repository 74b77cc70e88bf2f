"""MetricsServer: measurements from metrics.k8s.io, which a metrics server adds to the API server.

It reports what each node uses now; the share of the node's capacity is computed from that.
"""

# load-watcher: pkg/watcher/internal/metricsprovider/k8s.go

from __future__ import annotations

from collections.abc import Callable

from mooring import ApiError, Handle
from mooring.api import CustomResource, Node, milli_value, value
from mooring.api.quantity import QuantityText
from mooring.contrib.load.load_args import KUBERNETES_METRICS_SERVER
from mooring.contrib.load.load_provider import (
    MAX_ANSWER,
    PROVIDER_PERIOD,
    TIMEOUT,
    LoadAnswer,
    gathered,
)
from mooring.contrib.load.measurements import CPU, LATEST, MEMORY, LoadMetric, is_plausible
from mooring.errors import ObjectError

NODE_METRICS = "nodes.v1beta1.metrics.k8s.io"

NOT_SERVED = "the API server does not serve metrics.k8s.io: install a metrics server"
NO_NODES = "metrics.k8s.io reports no node of the cluster"

_RESOURCES: tuple[tuple[str, str, Callable[[QuantityText], int]], ...] = (
    (CPU, "cpu", milli_value),
    (MEMORY, "memory", value),
)


class MetricsServer:
    """The metrics server of the cluster."""

    name = KUBERNETES_METRICS_SERVER
    period = PROVIDER_PERIOD

    def __init__(self, handle: Handle) -> None:
        self._handle = handle
        self._nodes = handle.lister(Node)

    async def fetch(self) -> LoadAnswer:
        """Return what nodes use now. A node that the cluster does not have is left out."""
        try:
            listed = await self._handle.client.list(
                NODE_METRICS, timeout=TIMEOUT, retries=0, max_bytes=MAX_ANSWER
            )
        except ApiError as error:
            if error.is_not_found:
                raise ObjectError(NOT_SERVED) from None
            raise
        by_node: dict[str, list[LoadMetric]] = {}
        left_out: list[str] = []
        for measured in listed.items:
            node = self._nodes.get(measured.metadata.name)
            if node is not None:
                by_node[node.metadata.name] = _latest(measured, node, left_out)
        return gathered(
            by_node,
            left_out,
            now=self._handle.clock.wall_time(),
            source=self.name,
            nothing=NO_NODES,
        )


def _latest(measured: CustomResource, node: Node, left_out: list[str]) -> list[LoadMetric]:
    """Return the use of a node in percent of its capacity."""
    metrics: list[LoadMetric] = []
    for kind, resource, amount_of in _RESOURCES:
        used = measured.get(f"usage.{resource}", 0)
        try:
            if not isinstance(used, str | int):
                raise ObjectError(f"expected a quantity, got {used!r:.80}")
            capacity = amount_of(node.status.capacity.get(resource, 0))
            if capacity <= 0:
                raise ObjectError(f"its capacity is {capacity}")
            percent = 100 * amount_of(used) / capacity
            if not is_plausible(percent):
                raise ObjectError(f"it uses {used} of {capacity}")
        except ObjectError as error:
            left_out.append(f"{kind} of node {node.metadata.name}: {error}")
            continue
        metrics.append(LoadMetric(type=kind, operator=LATEST, value=percent))
    return metrics
