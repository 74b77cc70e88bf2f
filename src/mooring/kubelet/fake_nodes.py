"""FakeNodes: nodes without machines, and the kubelets that simulate them."""

from __future__ import annotations

import random as random_module
from collections.abc import Mapping, Sequence
from typing import Any

from mooring.api import Node
from mooring.api.kinds import decode
from mooring.apiserver.subresources.pod_logs import LogSource
from mooring.client.client import Client
from mooring.controllers.controlled_kinds import NODES
from mooring.controllers.controller import ControllerContext
from mooring.errors import ApiError
from mooring.informers.factory import InformerFactory
from mooring.kubelet import node_status
from mooring.kubelet.node_reporter import NodeReporter
from mooring.kubelet.pod_runner import PodRunner
from mooring.kubelet.real_pods import ContainerSettings
from mooring.observe.clock import Clock, SystemClock

CAPACITY: Mapping[str, str] = {
    "cpu": "8",
    "memory": "32Gi",
    "pods": "110",
    "ephemeral-storage": "100Gi",
}


class FakeNodes:
    """The kubelets of the nodes it creates and of all annotated `kwok.x-k8s.io/node: fake`.

    The informers must show all pods: `InformerFactory(client, selections={})`. The caller owns
    them: it starts them after creating this object, and closes them. Nodes that already exist are
    left as they are.
    """

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        clock: Clock | None = None,
        *,
        count: int = 0,
        manifests: Sequence[dict[str, Any]] = (),
        capacity: Mapping[str, str] = CAPACITY,
        prefix: str = "node-",
        random: random_module.Random | None = None,
        containers: ContainerSettings | None = None,
    ) -> None:
        self._informers = informers
        self._context = ControllerContext(
            client,
            informers,
            SystemClock() if clock is None else clock,
            random_module.Random() if random is None else random,
        )
        size = dict(capacity)
        made = [node_status.manifest(f"{prefix}{place}", size) for place in range(count)]
        self._manifests = [*made, *map(as_fake_node, manifests)]
        self._reporter = NodeReporter(self._context, size)
        self._runner = PodRunner(self._context, containers)

    @property
    def log_source(self) -> LogSource | None:
        """Return the logs of containers that really run; None without `containers`."""
        return self._runner.real

    async def start(self) -> None:
        """Create the missing nodes, wait for the informers, and start the kubelets."""
        for manifest in self._manifests:
            await self._create(manifest)
        await self._informers.wait_synced()
        self._reporter.start()
        self._runner.start()

    async def close(self) -> None:
        """Stop the kubelets; the nodes stay."""
        await self._reporter.close()
        await self._runner.close()

    async def _create(self, manifest: dict[str, Any]) -> None:
        """Create a node with a complete status, as a kubelet registers its own node."""
        node = decode(manifest)
        assert isinstance(node, Node)
        known = manifest.get("status") or {}
        status = {**known, **self._reporter.first_report(node)}
        if known.get("conditions"):
            status["conditions"] = known["conditions"]
        try:
            await self._context.writer.create(NODES, {**manifest, "status": status})
        except ApiError as error:
            if not error.is_already_exists:
                raise


def as_fake_node(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a node manifest with the labels and annotation of a fake node."""
    metadata = manifest["metadata"]
    annotations = {node_status.ANNOTATION: node_status.FAKE, **metadata.get("annotations", {})}
    labels = node_status.manifest(metadata["name"], {})["metadata"]["labels"]
    wanted = {**labels, **metadata.get("labels", {})}
    return {**manifest, "metadata": {**metadata, "annotations": annotations, "labels": wanted}}
