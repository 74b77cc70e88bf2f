"""A local cluster: API server, controllers, fake nodes and scheduler, started together."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Collection
from contextlib import AsyncExitStack
from typing import Any

import msgspec

from mooring.api.manifest_reading import Where
from mooring.apiserver.api_server import ApiServer, ServerSettings
from mooring.apiserver.auth.authorization import MASTERS
from mooring.apiserver.http import RequestUser
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.client.connection import Connection
from mooring.client.resources import Resource
from mooring.client.transports import make_transport
from mooring.config.rules import Rules
from mooring.controllers.controlled_kinds import COMPOSITE_POD_GROUPS, POD_GROUPS, WORKLOADS
from mooring.controllers.controller import Controller
from mooring.controllers.controllers import GROUP_KINDS, KINDS, SCHEDULING_KINDS
from mooring.explain.attempt_history import DEFAULT_MEMORY
from mooring.explain.explainer import Explainer
from mooring.explain.journal_questions import AttemptReplayer
from mooring.journal.journal_folder import JournalFolder
from mooring.journal.journal_limits import MAX_BYTES
from mooring.kubelet.image_contents import ImageContents
from mooring.local.custom_definitions import SETS, definitions, sets_for
from mooring.local.local_scheduler import LocalScheduler
from mooring.local.seeding import seed
from mooring.local.source_cluster import Copied, SourceCluster
from mooring.local.workers import Workers
from mooring.observe.clock import Clock, SystemClock
from mooring.serve.explain_paths import ExplainPaths
from mooring.serve.loop_explanations import LoopExplanations

_ADMIN = RequestUser("kubernetes-admin", (MASTERS,))


class LocalClusterSettings(msgspec.Struct, frozen=True):
    """What a local cluster consists of."""

    server: ServerSettings
    #: What the scheduler runs; None starts the cluster without a scheduler.
    plan: Rules | None
    nodes: int = 0
    #: The objects it starts with, and the file and line of each; nodes become fake nodes.
    objects: tuple[tuple[dict[str, Any], Where], ...] = ()
    #: A cluster whose objects are copied first.
    source: Connection | None = None
    #: The sets of custom resources to serve, in addition to those that its plugins need.
    custom_sets: tuple[str, ...] = ()
    #: The folder of the scheduler's journal, and its most bytes; None writes none.
    journal: str | None = None
    journal_max_bytes: int = MAX_BYTES
    #: Replays attempts of the journal to explain them; None to explain without replays.
    replayer: AttemptReplayer | None = None
    #: Bytes for the records of scheduling attempts; 0 keeps none.
    explain_memory: int = DEFAULT_MEMORY
    #: Which container images really run.
    images: ImageContents = msgspec.field(default_factory=ImageContents)
    #: Whether pods that a file or another cluster brought, and pods made for them, may really run.
    run_loaded_images: bool = False


class LocalCluster:
    """A cluster in this process. It is ready when `start` returns.

    `progress` is called with a short text while a long start goes on.
    """

    def __init__(
        self,
        settings: LocalClusterSettings,
        clock: Clock | None = None,
        progress: Callable[[str], None] | None = None,
    ) -> None:
        self._settings = settings
        self._progress = progress
        self._clock = SystemClock() if clock is None else clock
        self._parts = AsyncExitStack()
        self.server = ApiServer(settings.server)
        self.copied = Copied()
        self._scheduler: LocalScheduler | None = None

    async def start(self) -> None:
        """Start everything, and write the kubeconfig once the cluster is ready.

        If a part cannot start, those already started are stopped.
        """
        async with AsyncExitStack() as parts:
            await self._start(parts)
            self._parts = parts.pop_all()

    async def _start(self, parts: AsyncExitStack) -> None:
        settings, server, clock = self._settings, self.server, self._clock
        server.api.ready = False
        journal = None
        if settings.plan is not None and settings.journal is not None:
            journal = JournalFolder(settings.journal, settings.journal_max_bytes)
            parts.push_async_callback(journal.close)
        parts.push_async_callback(server.stop)
        await server.start()
        if settings.source is not None:
            await self._copy(settings.source)
        admin = Client(LocalTransport(server.api, _ADMIN), clock=clock)
        sets = {*settings.custom_sets, *_sets_of(settings.plan)}
        loader = Client(LocalTransport(server.api, _ADMIN, loads=True), clock=clock)
        await seed(server.cluster, admin, _definitions(sets))
        await seed(server.cluster, loader, settings.objects)
        groups = _served_groups(server)
        workers = Workers(
            server,
            clock,
            nodes=settings.nodes,
            images=settings.images,
            run_loaded=settings.run_loaded_images,
            controllers=_controllers(groups, sets),
            collected=groups,
            progress=self._progress,
        )
        parts.push_async_callback(workers.close)
        await workers.start()
        if settings.plan is not None:
            scheduler = self._scheduler = LocalScheduler(
                server.api,
                settings.plan,
                clock,
                settings.explain_memory,
                journal,
                settings.replayer,
            )
            parts.push_async_callback(scheduler.close)
            server.api.explain = _explain_paths(scheduler.explainer)
            parts.callback(server.api.explain.stop)
            await scheduler.start()
        server.api.ready = True
        server.write_kubeconfig()

    @property
    def explainer(self) -> Explainer | None:
        """Return what answers questions about pods; None without a scheduler."""
        return None if self._scheduler is None else self._scheduler.explainer

    async def _copy(self, source: Connection) -> None:
        client = Client(make_transport(source, clock=self._clock), clock=self._clock)
        try:
            self.copied = await SourceCluster(client).copy_into(self.server.cluster)
        finally:
            await client.close()

    async def replace_scheduler(self, plan: Rules) -> None:
        """Switch to other rules; if its plugins cannot be created, the old one stays in use."""
        assert self._scheduler is not None
        admin = Client(LocalTransport(self.server.api, _ADMIN), clock=self._clock)
        await seed(self.server.cluster, admin, _definitions(_sets_of(plan)))
        await self._scheduler.replace(plan)

    async def stop(self) -> None:
        """Stop everything; with a data directory, all acknowledged writes are kept."""
        await self._parts.aclose()


def _explain_paths(explainer: Explainer) -> ExplainPaths:
    if explainer.history is None:
        return ExplainPaths(None)
    return ExplainPaths(LoopExplanations(explainer, asyncio.get_running_loop()))


def _served_groups(server: ApiServer) -> tuple[Resource, ...]:
    """Return the resources of pod groups that the cluster serves."""
    catalogue = server.cluster.catalogue
    return tuple(
        one
        for one in (POD_GROUPS, COMPOSITE_POD_GROUPS, WORKLOADS)
        if catalogue.get(one.group, one.version, one.plural) is not None
    )


def _controllers(
    groups: Collection[Resource], sets: Collection[str]
) -> tuple[type[Controller], ...]:
    """Return the controllers whose resources the cluster serves."""
    return (
        *KINDS,
        *(GROUP_KINDS if POD_GROUPS in groups else ()),
        *(SCHEDULING_KINDS if "scheduling" in sets else ()),
    )


def _sets_of(plan: Rules | None) -> tuple[str, ...]:
    """Return the sets of custom resources that the plugins of a plan read."""
    profiles = () if plan is None else plan.config.profiles
    return sets_for(name for profile in profiles for name in profile.plugins)


def _definitions(sets: Collection[str]) -> list[tuple[dict[str, Any], Where]]:
    return [(found, Where(name)) for name in SETS if name in sets for found in definitions([name])]
