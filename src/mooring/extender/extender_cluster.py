"""ExtenderCluster: what the plugins of an extender see of the cluster.

The cache, the informers and the profiles are those of a scheduler; there is no queue, because
kube-scheduler has it. Changes wait in the inbox, so that nothing changes while a request is
answered.
"""

from __future__ import annotations

import logging
import random as random_module
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from typing import Any

from mooring.api import AnyPodGroup, Node, Pod
from mooring.binding.binding_pods import BindingPods
from mooring.binding.broadcaster import EventBroadcaster
from mooring.cache.cache import Cache
from mooring.client.client import Client
from mooring.client.resources import KindLike
from mooring.client.web_client import WebClient
from mooring.config.resolved_profile import ResolvedProfile
from mooring.cycle.profile import Profile
from mooring.cycle.profile_handle import SharedState, make_profiles
from mooring.errors import ConfigError
from mooring.framework.cluster_events import ClusterEvent
from mooring.framework.features import FeatureGates
from mooring.framework.listers import Lister
from mooring.framework.nodes import Nodes
from mooring.framework.pod_info import PodInfos
from mooring.informers.factory import InformerFactory
from mooring.informers.store import EventHandler
from mooring.observe.clock import Clock, Progress
from mooring.observe.host import hostname
from mooring.observe.metrics import Metrics
from mooring.queue.nominator import PodNominator
from mooring.registry import Registry
from mooring.scheduler.event_handlers import ClusterEvents, posting_handler
from mooring.scheduler.inbox import Inbox
from mooring.scheduler.periodic_work import PeriodicWork
from mooring.scheduler.plugin_tasks import PluginTasks, close_plugins

log = logging.getLogger(__name__)

_NO_OBJECTS = "it reads {}, and there is no cluster to read them from; give --kubeconfig"
#: Seconds that the work of plugins has to end.
_GRACE = 5.0


class NominatedPods:
    """The pending pods of all schedulers, of which only the nominations matter."""

    def __init__(self, nominator: PodNominator) -> None:
        self._nominator = nominator

    def add(self, pod: Pod) -> None:
        """Record the nomination of a pod, if it has one."""
        self._nominator.add(pod)

    def update(self, old: Pod, new: Pod) -> None:
        """Record a changed nomination."""
        self._nominator.update(old, new)

    def delete(self, pod: Pod) -> None:
        """Drop the nomination of a pod that was bound or deleted."""
        self._nominator.delete(pod.metadata.uid)

    def move_all(
        self,
        event: ClusterEvent,
        old: Any,
        new: Any,
        check: Callable[[Pod], bool] | None = None,
    ) -> None:
        """Do nothing: kube-scheduler queues its pods itself."""

    def add_group(self, group: AnyPodGroup) -> None:
        """Do nothing, as for the other changes of pod groups."""

    update_group = delete_group = add_group


class ExtenderCluster:
    """The nodes, the pods, and the other objects that plugins ask for. Owned by its event loop.

    The constructor makes and starts the plugins, and raises if that fails. Without a cluster
    (`is_live` is False) nothing is listed or watched: nodes come with the requests, and have no
    pods.
    """

    def __init__(
        self,
        profiles: Sequence[ResolvedProfile],
        *,
        client: Client,
        is_live: bool,
        registry: Registry,
        features: FeatureGates,
        clock: Clock,
        metrics: Metrics,
        random: random_module.Random | None = None,
    ) -> None:
        random = random_module.Random() if random is None else random
        self.is_live = is_live
        self.client = client
        self.pod_infos = PodInfos(features)
        self.cache = Cache(self.pod_infos)
        self.informers = InformerFactory(client, clock=clock, random=random)
        self._pods: Lister[Pod] | None = self.informers.lister(Pod) if is_live else None
        self.nominator = PodNominator(self.pod_infos, self._pods)
        self._inbox = Inbox()
        self._tasks = PluginTasks()
        self._periodic = PeriodicWork(clock)
        self._broadcaster = EventBroadcaster(client, clock, random=random, hostname=hostname())
        self._web = WebClient(clock)
        self._synced = False
        #: Counts the steps of answers.
        self.progress = Progress()
        #: The nodes that came with the request being answered.
        self._carried: Nodes | None = None
        on_the_way = BindingPods()
        shared = SharedState(
            features=features,
            clock=clock,
            random=random,
            client=client,
            http=self._web,
            nominator=self.nominator,
            extenders=(),
            snapshot=lambda: self.snapshot,
            pod_infos=self.pod_infos,
            lister=self.lister,
            watch=self._watch,
            synced=lambda: self._synced,
            waiting_pods=on_the_way,
            activate=_activate_none,
            spawn=self._tasks.spawn,
            every=self._periodic.add,
            metrics=metrics,
            progress=self.progress,
        )
        self.profiles: dict[str, Profile] = make_profiles(
            profiles, registry, shared, cache(self._broadcaster.recorder)
        )
        if is_live:
            ClusterEvents(
                cache=self.cache,
                queue=NominatedPods(self.nominator),
                profiles={},
                on_the_way=on_the_way,
                inbox=self._inbox,
                features=features,
                clock=clock,
                metrics=metrics,
                every_pod=True,
            ).attach(self.informers)

    @property
    def snapshot(self) -> Nodes:
        """All nodes of the cluster, or those that came with the request."""
        return self.cache.nodes if self._carried is None else self._carried

    def lister(self, kind: KindLike) -> Lister[Any]:
        """Return read access to a kind; raise ConfigError without a cluster."""
        self._check(kind)
        return self.informers.lister(kind)

    def _watch(self, kind: KindLike, handler: EventHandler[Any]) -> None:
        self._check(kind)
        self.informers.informer(kind).add_handler(posting_handler(self._inbox, handler))

    def _check(self, kind: KindLike) -> None:
        if not self.is_live:
            name = kind if isinstance(kind, str) else getattr(kind, "__name__", str(kind))
            raise ConfigError(_NO_OBJECTS.format(f"{name} objects"))

    def pod(self, name: str, namespace: str) -> Pod | None:
        """Return a pod as the informer knows it."""
        return None if self._pods is None else self._pods.get(name, namespace)

    def catch_up(self) -> None:
        """Take in all changes that have arrived."""
        self._inbox.drain()

    @contextmanager
    def carrying(self, nodes: Nodes) -> Iterator[None]:
        """Make nodes of a request the snapshot, while that request is answered."""
        self._carried = nodes
        try:
            yield
        finally:
            self._carried = None

    def view_of(self, nodes: Sequence[Node]) -> Nodes:
        """Return nodes of a request, with the pods that are known to run on them.

        The rows of the snapshot serve if they are of the same versions.
        """
        known = self.cache.nodes
        rows = known.rows_of(node.metadata.name for node in nodes)
        if (rows >= 0).all() and all(
            _is_same(known.info(row).node, node)
            for row, node in zip(rows.tolist(), nodes, strict=True)
        ):
            return known.select(rows)
        carried = Cache(self.pod_infos)
        for row, node in zip(rows.tolist(), nodes, strict=True):
            carried.add_node(node)
            if row >= 0:
                for info in known.info(row).pods.values():
                    carried.add_pod(info.pod)
        return carried.nodes

    async def start(self) -> None:
        """Start the informers, and wait until their first lists have been taken in."""
        self._broadcaster.start()
        if self.is_live:
            self.informers.start()
            await self.informers.wait_synced()
        self._inbox.drain()
        self._synced = True
        self._periodic.start()

    async def follow(self) -> None:
        """Take in changes as they arrive."""
        while True:
            self._inbox.drain()
            await self._inbox.wait(None)

    async def close(self) -> None:
        """Stop the informers and close the plugins."""
        await self._periodic.close()
        await self._tasks.stop(_GRACE)
        await close_plugins(self.profiles.values())
        await self.informers.close()
        await self._broadcaster.close()
        await self._web.close()


def _activate_none(pods: Iterable[Pod]) -> None:
    """Do nothing: the queue is kube-scheduler's."""


def _is_same(known: Node, node: Node) -> bool:
    version = node.metadata.resource_version
    return bool(version) and version == known.metadata.resource_version
