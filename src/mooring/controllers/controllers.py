"""Controllers: all controllers of a cluster, started and stopped together."""

from __future__ import annotations

import random as random_module
from collections.abc import Callable

from mooring.api.quota_requests import PodRequestsMode
from mooring.client.client import Client
from mooring.client.resources import KindLike
from mooring.controllers.controller import Controller, ControllerContext
from mooring.controllers.daemon_set import DaemonSetController
from mooring.controllers.deployment_controller import DeploymentController
from mooring.controllers.disruption import DisruptionController
from mooring.controllers.elastic_quota_controller import ElasticQuotaController
from mooring.controllers.garbage_collector import GarbageCollector
from mooring.controllers.job import JobController
from mooring.controllers.node_lifecycle import NodeLifecycleController
from mooring.controllers.persistent_volume_controller import PersistentVolumeController
from mooring.controllers.pod_collector import PodCollector
from mooring.controllers.pod_group_controller import PodGroupController
from mooring.controllers.pod_group_protection import PodGroupProtection
from mooring.controllers.replica_set import ReplicaSetController
from mooring.controllers.resource_claim_controller import ClaimRelease, GeneratedClaims
from mooring.controllers.resource_quota import ResourceQuotaController
from mooring.controllers.stateful_set import StatefulSetController
from mooring.controllers.taint_eviction import TaintEvictionController
from mooring.controllers.volume_protection import EphemeralVolumes, VolumeProtection
from mooring.informers.factory import InformerFactory
from mooring.observe.clock import Clock, SystemClock

KINDS: tuple[type[Controller], ...] = (
    DeploymentController,
    ReplicaSetController,
    StatefulSetController,
    DaemonSetController,
    JobController,
    DisruptionController,
    ResourceQuotaController,
    PersistentVolumeController,
    VolumeProtection,
    EphemeralVolumes,
    GeneratedClaims,
    ClaimRelease,
    NodeLifecycleController,
    TaintEvictionController,
    PodCollector,
    GarbageCollector,
)

#: The controllers of the custom resources of scheduling.x-k8s.io.
SCHEDULING_KINDS: tuple[type[Controller], ...] = (PodGroupController, ElasticQuotaController)
#: The controllers of the pod groups of scheduling.k8s.io, which need the gate GenericWorkload.
GROUP_KINDS: tuple[type[Controller], ...] = (PodGroupProtection,)


class Controllers:
    """The controllers of a cluster, which use an ordinary client.

    The informers must show all pods, including finished ones:
    `InformerFactory(client, selections={})`. The caller owns the informers: it starts them after
    creating this object, and closes them.
    """

    def __init__(
        self,
        client: Client,
        informers: InformerFactory,
        clock: Clock | None = None,
        *,
        random: random_module.Random | None = None,
        kinds: tuple[type[Controller], ...] = KINDS,
        collected: tuple[KindLike, ...] = (),
        quota_requests: Callable[[], PodRequestsMode] = lambda: None,
    ) -> None:
        self._informers = informers
        context = ControllerContext(
            client,
            informers,
            SystemClock() if clock is None else clock,
            random_module.Random() if random is None else random,
            collected,
            quota_requests,
        )
        self._controllers = [kind(context) for kind in kinds]

    async def start(self) -> None:
        """Wait until the informers, already started, have synced; then start the controllers."""
        await self._informers.wait_synced()
        for controller in self._controllers:
            controller.start()

    async def close(self) -> None:
        """Stop all controllers; the objects they created stay."""
        for controller in self._controllers:
            await controller.close()
