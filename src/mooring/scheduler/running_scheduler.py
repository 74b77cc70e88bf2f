"""RunningScheduler: a scheduler with its informers, extenders and Events."""

from __future__ import annotations

import asyncio
import math
import random as random_module
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any

from mooring.api import Node, Pod, ResourceClaim
from mooring.binding.broadcaster import EventBroadcaster
from mooring.client.client import Client
from mooring.client.web_client import WebClient
from mooring.config import LoadResult
from mooring.extenders.extenders import Extenders
from mooring.extenders.webhook import MAX_RESPONSE
from mooring.framework.features import FeatureGates
from mooring.informers.factory import InformerFactory
from mooring.observe.attempt_random import AttemptRandom
from mooring.observe.clock import Clock
from mooring.observe.host import hostname
from mooring.observe.metrics import Metrics
from mooring.queue.unschedulable_timeouts import DEFAULT_MAX_IN_UNSCHEDULABLE
from mooring.registry import Registry
from mooring.scheduler.scheduler import GRACE, Scheduler
from mooring.scheduler.taps import SchedulingTap

#: For so many seconds, what was listed counts as the latest state.
FRESH_SECONDS = 1.0


class DiscardedEvents:
    """The EventWriter of a scheduler that only reads: it writes nothing."""

    def event(
        self, regarding: Any, type: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        """Do nothing."""


class RunningScheduler:
    """A scheduler with what it needs to run. The caller owns the clients.

    The constructor creates and starts the plugins, and raises if that fails. `before_write` is
    called right before an extender is asked to bind; the clients check their own writes.

    With `read_only` the scheduler only follows a cluster: work that plugins spawn and Events are
    discarded, extenders are not asked, and of the kinds that it reads only nodes and pods are
    indispensable. The clients must refuse writes (`client.read_only`).
    """

    def __init__(
        self,
        config: LoadResult,
        *,
        client: Client,
        event_client: Client,
        registry: Registry,
        features: FeatureGates,
        clock: Clock,
        metrics: Metrics,
        max_in_unschedulable: float = DEFAULT_MAX_IN_UNSCHEDULABLE,
        random: random_module.Random | None = None,
        host: str | None = None,
        extender_max_response: int = MAX_RESPONSE,
        before_write: Callable[[], None] | None = None,
        read_only: bool = False,
        taps: Sequence[SchedulingTap] = (),
    ) -> None:
        random = random_module.Random() if random is None else random
        host = hostname() if host is None else host
        self._broadcaster = EventBroadcaster(event_client, clock, random=random, hostname=host)
        self._extenders = Extenders(
            () if read_only else config.config.extenders,
            clock=clock,
            max_response=extender_max_response,
            before_write=before_write,
        )
        self.informers = InformerFactory(
            client,
            clock=clock,
            random=random,
            indispensable=(Node, Pod) if read_only else None,
        )
        self._web = WebClient(clock)
        #: When the informers had synced, by the loop's time.
        self._synced_at = math.inf
        self.scheduler = Scheduler(
            config,
            client=client,
            http=self._web,
            informers=self.informers,
            registry=registry,
            features=features,
            clock=clock,
            # Only decisions draw from this one, so that they can be made again.
            random=AttemptRandom(random.getrandbits(64)),
            metrics=metrics,
            events_of=_discard_events if read_only else cache(self._broadcaster.recorder),
            extenders=self._extenders,
            max_in_unschedulable=max_in_unschedulable,
            read_only=read_only,
            taps=taps,
        )

    def start(self) -> None:
        """Start to write Events."""
        self._broadcaster.start()

    async def sync(self) -> None:
        """Start the informers and wait until the scheduler has handled their initial lists."""
        self.informers.start()
        await self.informers.wait_synced()
        self.scheduler.inbox.drain()
        self._synced_at = asyncio.get_running_loop().time()

    async def catch_up(self) -> None:
        """Learn what the leader before has allocated until its end; call it before scheduling.

        A watch may be behind, for example because its connection has failed silently. What is in
        use on a node is checked by its kubelet, but a device that is allocated to two claims is
        not, so claims are read again. kube-scheduler does not do this.
        """
        if asyncio.get_running_loop().time() - self._synced_at >= FRESH_SECONDS:
            await self.informers.refresh((ResourceClaim,))

    async def close(self, grace: float = GRACE) -> None:
        """Stop; binding cycles in progress have `grace` seconds to end."""
        await self.scheduler.stop(grace)
        await self.informers.close()
        await self._broadcaster.close()
        await self._extenders.close()
        await self._web.close()


def _discard_events(profile: str) -> DiscardedEvents:
    return DiscardedEvents()
