"""ControllersProcess: the controllers of scheduling.x-k8s.io as a process, against any cluster.

They write the status of PodGroups and ElasticQuotas. Replicas elect a leader; the others keep their
informers filled, so that one of them can take over at once.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from typing import Protocol

from mooring.api.kubernetes_version import KUBERNETES_VERSION
from mooring.api.quota_requests import PodRequestsMode
from mooring.app.controllers_command import ControllersSettings
from mooring.app.controllers_flags import COMPONENT
from mooring.app.election import Election, make_election
from mooring.app.leader import make_fence
from mooring.app.lifecycle import Lifecycle
from mooring.app.scheduler_process import log_connection
from mooring.app.signals import ProcessSignals, run_until_done
from mooring.client.client import Client
from mooring.client.kubeconfig import connection_from_flags
from mooring.client.missing_rights import MissingRights
from mooring.client.rate_limit import rate_limit
from mooring.client.transport import BeforeSend
from mooring.client.transports import make_transport
from mooring.framework.releases import DEFAULT_VERSION
from mooring.informers.factory import InformerFactory
from mooring.observe.clock import Clock, SystemClock
from mooring.observe.exposition import expose
from mooring.observe.families import MetricsRegistry
from mooring.observe.logs import log_error
from mooring.observe.process_metrics import ProcessMetrics
from mooring.serve.endpoints import Sources
from mooring.serve.health import Health
from mooring.serve.serving import Serving, ServingSettings
from mooring.serve.side_loop import SideLoop

log = logging.getLogger(__name__)

#: Seconds that the other thread gets to end.
_SIDE_SECONDS = 5.0


class ControllerSet(Protocol):
    """The controllers of a process."""

    async def start(self) -> None:
        """Begin to reconcile objects."""

    async def close(self) -> None:
        """End every controller."""


#: Makes the controllers of a process, which follow its informers. The last argument says how the
#: status of ElasticQuotas counts pods.
MakeControllers = Callable[[Client, InformerFactory, Clock, PodRequestsMode], ControllerSet]


def run_controllers(settings: ControllersSettings, make: MakeControllers) -> int:
    """Run until a signal ends it or the lease is lost; return the exit status."""
    return run_until_done(ControllersProcess(settings, make).run())


class ControllersProcess:
    """Everything that one process of controllers consists of."""

    def __init__(self, settings: ControllersSettings, make: MakeControllers) -> None:
        self._settings = settings
        self._clock: Clock = SystemClock()
        self._registry = MetricsRegistry()
        self._metrics = ProcessMetrics(
            self._registry,
            KUBERNETES_VERSION,
            emulation=DEFAULT_VERSION.release.version,
            min_compatibility=DEFAULT_VERSION.min_compatibility_text,
        )
        self._connection = connection_from_flags(
            settings.kubeconfig, settings.master, drop_in=False
        )
        self._rights = MissingRights()
        self._side = SideLoop("mooring-side")
        self._fence = make_fence(settings.election) if settings.election.leader_elect else None
        check = None if self._fence is None else self._fence.check_request
        self._client = self._make_client(settings.qps, settings.burst, check)
        self._election = self._make_election()
        self._health = Health(
            leader=None if self._election is None else self._election.elector.check
        )
        self.lifecycle = Lifecycle(elect=None if self._election is None else self._elect)
        # The controllers count finished pods, too.
        self._informers = InformerFactory(self._client, clock=self._clock, selections={})
        self._controllers = make(
            self._client, self._informers, self._clock, settings.quota_requests
        )

    async def run(self) -> int:
        """Run until a signal or the loss of the lease; return the exit status."""
        with ProcessSignals(asyncio.get_running_loop(), self.lifecycle.stop):
            return await self._run()

    async def _run(self) -> int:
        serving = self._make_serving() if self._settings.serving.port else None
        if serving is not None:
            serving.listen()
        self._side.start()
        try:
            if serving is not None:
                await asyncio.wrap_future(self._side.submit(serving.start()))
            log_connection(self._connection)
            self._informers.start()
            await self.lifecycle.run(ControllersWork(self._controllers), self._sync)
        finally:
            self._health.begin_shutdown()
            await self._controllers.close()
            await self._informers.close()
            if self._election is not None:
                await self._election.release()
            if serving is not None:
                with contextlib.suppress(Exception):
                    await asyncio.wrap_future(self._side.submit(serving.stop()))
            await asyncio.to_thread(self._side.stop, _SIDE_SECONDS)
            await self._client.close()
        if self.lifecycle.lost_lease:
            log_error(log, None, "Leaderelection lost")
            return 1
        log.info("Requested to terminate, exiting")
        return 0

    async def _sync(self) -> None:
        await self._informers.wait_synced()
        self._health.handlers_synced()

    def _elect(self) -> None:
        assert self._election is not None
        self._election.start(self.lifecycle)

    def _make_client(self, qps: float, burst: int, before_send: BeforeSend | None = None) -> Client:
        transport = make_transport(
            self._connection, user_agent=COMPONENT, clock=self._clock, before_send=before_send
        )
        return Client(
            transport,
            limit=rate_limit(qps, burst, self._clock),
            clock=self._clock,
            metrics=self._metrics,
            rights=self._rights,
        )

    def _make_election(self) -> Election | None:
        if self._fence is None:
            return None
        return make_election(
            self._settings.election,
            self._make_client(0.0, 0),
            self._side,
            fence=self._fence,
            metrics=self._metrics,
            clock=self._clock,
            source=COMPONENT,
            name=COMPONENT,
        )

    def _make_serving(self) -> Serving:
        settings, election = self._settings, self._election
        sources = Sources(
            health=self._health,
            metrics=lambda: expose(self._registry.collect()),
            pods=tuple,
            is_leader=lambda: election is None or election.elector.is_leader,
            config={},
            flags=settings.flags.shown(),
            version=KUBERNETES_VERSION,
            emulation=DEFAULT_VERSION.release.version,
            set_verbosity=settings.verbosity.set,
        )
        serving = ServingSettings(
            secure=settings.serving,
            authentication=settings.authentication,
            authorization=settings.authorization,
        )
        return Serving(serving, sources, self._clock)


class ControllersWork:
    """The work of controllers, which only the leader does."""

    def __init__(self, controllers: ControllerSet) -> None:
        self._controllers = controllers

    async def follow(self) -> None:
        """Wait: the informers note which objects to reconcile."""
        await asyncio.Event().wait()

    async def run(self) -> None:
        """Reconcile objects, until cancelled."""
        await self._controllers.start()
        await asyncio.Event().wait()
