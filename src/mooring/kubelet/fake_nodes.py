"""FakeNodes: nodes without machines, and the kubelets that simulate them."""

from __future__ import annotations

import asyncio
import random as random_module
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from mooring.kubelet.simulated_pods import SimulatedPods
from mooring.observe.clock import Clock, SystemClock

#: Stores a copy of a node under another name and address; a node that exists is left as it is.
CopyNode = Callable[[str, str, str], None]

#: Nodes that are created before other tasks get a turn.
_BATCH = 250

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

    `copy_node` stores a node that differs from an existing one in name and address alone, which is
    much faster than a request for each node. `progress` is told how many nodes exist.
    `declared_features` are the features that the kubelets declare.
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
        copy_node: CopyNode | None = None,
        progress: Callable[[str], None] | None = None,
        declared_features: Sequence[str] = (),
    ) -> None:
        self._informers = informers
        self._context = ControllerContext(
            client,
            informers,
            SystemClock() if clock is None else clock,
            random_module.Random() if random is None else random,
        )
        size = dict(capacity)
        self._names = [f"{prefix}{place}" for place in range(count)]
        self._size = size
        self._manifests = [as_fake_node(manifest) for manifest in manifests]
        self._copy_node = copy_node
        self._progress = progress
        self._is_created = False
        self._reporter = NodeReporter(self._context, size, declared_features)
        self._runner = PodRunner(self._context, containers)

    @property
    def log_source(self) -> LogSource | None:
        """Return the logs of containers that really run; None without `containers`."""
        return self._runner.real

    @property
    def simulated(self) -> SimulatedPods | None:
        """Return the pods that would run with more flags; None without `containers`."""
        return None if self._runner.real is None else self._runner.real.simulated

    async def start(self) -> None:
        """Create the missing nodes, wait for the informers, and start the kubelets."""
        await self.create()
        await self._informers.wait_synced()
        self._reporter.start()
        self._runner.start()

    async def create(self, taken: Iterable[str] = ()) -> None:
        """Create the missing nodes, once; new nodes get none of the addresses that are `taken`.

        If that happens before the informers start, they list the nodes at once.
        """
        if self._is_created:
            return
        self._is_created = True
        self._reporter.take(taken)
        first = ""
        for place, name in enumerate(self._names):
            if not first or self._copy_node is None:
                is_new = await self._create(node_status.manifest(name, self._size))
                first = first or (name if is_new else "")
            else:
                self._copy_node(first, name, self._reporter.address_of(name))
            if place % _BATCH == 0:
                self._tell(f"creating nodes: {place} of {len(self._names)}")
                await asyncio.sleep(0)
        for manifest in self._manifests:
            await self._create(manifest)

    def _tell(self, text: str) -> None:
        if self._progress is not None:
            self._progress(text)

    async def close(self) -> None:
        """Stop the kubelets; the nodes stay."""
        await self._reporter.close()
        await self._runner.close()

    async def _create(self, manifest: dict[str, Any]) -> bool:
        """Create a node with a complete status, as a kubelet registers its own node.

        Return False if it exists already.
        """
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
            return False
        return True


def as_fake_node(manifest: dict[str, Any]) -> dict[str, Any]:
    """Return a node manifest with the labels and annotation of a fake node."""
    metadata = manifest["metadata"]
    annotations = {node_status.ANNOTATION: node_status.FAKE, **metadata.get("annotations", {})}
    labels = node_status.manifest(metadata["name"], {})["metadata"]["labels"]
    wanted = {**labels, **metadata.get("labels", {})}
    return {**manifest, "metadata": {**metadata, "annotations": annotations, "labels": wanted}}
