"""The scheduler of a local cluster: in this process, through the client that real servers get."""

from __future__ import annotations

import asyncio
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

from msgspec.structs import replace

from mooring.apiserver.api import Api
from mooring.apiserver.auth.authorization import MASTERS
from mooring.apiserver.http import RequestUser
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.app.config_source import warn_unused
from mooring.client.client import Client
from mooring.config import LoadResult, default_config, load_config
from mooring.config.defaults import SCHEDULER_NAME
from mooring.extenders.extenders import with_extenders
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.points import Point
from mooring.observe.clock import Clock
from mooring.observe.logs import log_error
from mooring.observe.metrics import Metrics
from mooring.registry import Registry, default_registry
from mooring.scheduler.running_scheduler import RunningScheduler

log = logging.getLogger(__name__)

WAITING = "The scheduler waits for a resource that a plugin asks for"
#: Seconds until a cluster counts as up although its scheduler still waits.
PATIENCE = 5.0

_AGENT = "kube-scheduler"
#: A plugin may read and write whatever it likes here; rights are for schedulers that run as pods.
USER = RequestUser("system:kube-scheduler", (MASTERS,))


@dataclass(frozen=True, slots=True)
class Plan:
    """Hold which profiles run which plugins."""

    config: LoadResult
    registry: Registry
    features: FeatureGates


def make_plan(
    file: str | os.PathLike[str] | None, plugins: Sequence[type[Plugin]], features: FeatureGates
) -> Plan:
    """Return what a configuration file and some plugins ask for; raise where they are wrong.

    Without a file the plugins run beside the defaults. default-scheduler is always served: a file
    that has no such profile gets one with the defaults.
    """
    registry = default_registry(plugins)
    if file is None:
        names = dict.fromkeys(plugin.name for plugin in plugins)
        config = default_config(registry=registry, feature_gates=features, enabled=names)
    else:
        config = load_config(file, registry=registry, feature_gates=features)
        config = warn_unused(config, plugins, os.fspath(file))
        config = _with_default_scheduler(config, registry, features)
    return Plan(with_extenders(config), registry, features)


def _with_default_scheduler(
    loaded: LoadResult, registry: Registry, features: FeatureGates
) -> LoadResult:
    if any(profile.scheduler_name == SCHEDULER_NAME for profile in loaded.profiles):
        return loaded
    added = default_config(registry=registry, feature_gates=features)
    # One queue serves all profiles, so its order is that of the file.
    first, profile = loaded.profiles[0], added.profiles[0]
    order = first.names(Point.QUEUE_SORT)
    profile = replace(
        profile,
        points={**profile.points, Point.QUEUE_SORT: first.points[Point.QUEUE_SORT]},
        args={**profile.args, **{name: first.args[name] for name in order}},
    )
    config = loaded.config
    return replace(
        loaded,
        config=replace(config, profiles=(*config.profiles, *added.config.profiles)),
        profiles=(*loaded.profiles, profile),
    )


class LocalScheduler:
    """Run a scheduler beside the API server that it asks."""

    def __init__(self, api: Api, plan: Plan, clock: Clock) -> None:
        self._clock = clock
        self._client = Client(LocalTransport(api, USER, user_agent=_AGENT), clock=clock)
        self._running = self._make(plan)
        self._turning: asyncio.Task[None] | None = None

    def _make(self, plan: Plan) -> RunningScheduler:
        return RunningScheduler(
            plan.config,
            client=self._client,
            event_client=self._client,
            registry=plan.registry,
            features=plan.features,
            clock=self._clock,
            metrics=Metrics(plan.features.enabled),
        )

    async def start(self) -> None:
        """Schedule, from when all that is in the cluster is known.

        What a plugin asks for may not be there yet, such as a custom resource that nobody has
        defined: after a while this goes on without it, and scheduling begins when it comes.
        """
        self._running.start()
        synced = asyncio.create_task(self._running.sync())
        self._turning = asyncio.create_task(self._turn(synced), name="scheduler")
        both = (synced, self._turning)
        await asyncio.wait(both, timeout=PATIENCE, return_when=asyncio.FIRST_COMPLETED)
        if self._turning.done():
            await self._turning
        if not synced.done():
            for informer in self._running.informers.unsynced():
                log_error(log, informer.failure, WAITING, resource=informer.name)

    async def _turn(self, synced: asyncio.Task[None]) -> None:
        try:
            await synced
            await self._running.scheduler.run()
        except Exception as error:
            log_error(log, error, "The scheduler has ended")
            raise

    async def replace(self, plan: Plan) -> None:
        """Schedule with another plan; where its plugins cannot be made, the old one goes on.

        No pod is lost: those that wait are in the cluster, where the new scheduler finds them.
        """
        fresh = self._make(plan)
        await self._end()
        self._running = fresh
        await self.start()

    async def close(self) -> None:
        """End; pods that are being bound get there."""
        await self._end()
        await self._client.close()

    async def _end(self) -> None:
        if self._turning is not None:
            # It is between two cycles, or waits for an extender.
            self._turning.cancel()
            await asyncio.gather(self._turning, return_exceptions=True)
            self._turning = None
        await self._running.close()
