"""BenchCluster: a cluster in memory, and the handle of a plugin that is called by a test."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Coroutine, Iterable
from functools import cached_property
from typing import Any

from mooring.api import CompositePodGroup, KubeObject, Node, Pod, WorkloadPodGroup
from mooring.binding.binding_pods import BindingPods
from mooring.cache.cache import Cache
from mooring.cycle.profile import Profile
from mooring.cycle.profile_handle import ProfileHandle, SharedState
from mooring.framework.features import FeatureGates
from mooring.framework.handle import EventWriter
from mooring.framework.plugin_errors import raise_if_external
from mooring.framework.pod_groups import PodGroups, has_pod_groups
from mooring.framework.pod_info import PodInfos
from mooring.framework.release_metrics import make_metrics
from mooring.informers.store import EventHandler
from mooring.observe.clock import VirtualClock
from mooring.queue.nominator import PodNominator
from mooring.virtual.claim_controller import ClaimController
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.memory_events import MemoryEvents
from mooring.virtual.no_network import NoNetwork
from mooring.virtual.volume_controller import VolumeController

log = logging.getLogger(__name__)

#: Makes the profile with the default plugins.
MakeProfile = Callable[[SharedState, EventWriter], Profile]


class BenchHandle(ProfileHandle):
    """The handle of a plugin without a scheduler; the default profile exists when it is asked for.

    Most plugins never ask, and the built-in plugins take longer to load than a test to run.
    """

    def __init__(self, name: str, shared: SharedState, events: EventWriter, make: MakeProfile):
        super().__init__(name, shared, events)
        self._make = make

    @cached_property
    def profile(self) -> Profile:  # type: ignore[override]
        """The profile with the default plugins."""
        return self._make(self._shared, self.events)


class BenchCluster:
    """The objects of a cluster, and a handle through which a plugin sees them."""

    def __init__(
        self, objects: Iterable[KubeObject], features: FeatureGates, make_profile: MakeProfile
    ) -> None:
        pod_infos = PodInfos(features)
        pod_groups = PodGroups() if has_pod_groups(features) else None
        self.objects = MemoryCluster(objects)
        clock, metrics, on_the_way = VirtualClock(), make_metrics(features), BindingPods()
        self.cache = Cache(pod_infos, pod_groups)
        nominator = PodNominator(pod_infos, self.objects.pods)
        self._nominator = nominator
        self._follow(pod_groups)
        self.objects.inform()
        VolumeController(self.objects)
        ClaimController(self.objects)
        activated: list[Pod] = []
        #: The work that the plugin repeats, which runs once when the bench is made.
        self.periodic: list[Callable[[], Coroutine[Any, Any, None]]] = []
        shared = SharedState(
            features=features,
            clock=clock,
            random=random.Random(0),
            client=MemoryClient(self.objects),
            http=NoNetwork(),
            nominator=nominator,
            extenders=(),
            snapshot=lambda: self.cache.nodes,
            pod_infos=pod_infos,
            lister=self.objects.lister,
            watch=lambda kind, handler: self.objects.informer(kind).add_handler(handler),
            synced=lambda: True,
            waiting_pods=on_the_way,
            activate=activated.extend,
            spawn=_drop,
            every=lambda seconds, work: self.periodic.append(work),
            pod_groups=pod_groups or PodGroups(),
            metrics=metrics,
        )
        name = "default-scheduler"
        self.handle = BenchHandle(name, shared, MemoryEvents(clock), make_profile)

    async def run_periodic(self) -> None:
        """Run the work that the plugin repeats once; log what it raises."""
        for work in self.periodic:
            try:
                await work()
            except BaseException as error:
                raise_if_external(error)
                log.exception("Periodic work of a plugin failed")

    # No ClusterEvents here: its room needs an event loop, which takes longer to load than most
    # tests of a plugin to run.

    def _follow(self, pod_groups: PodGroups | None) -> None:
        """Let the cache and the nominations follow the objects."""
        cache, objects = self.cache, self.objects
        added, deleted = self._pod_added, self._pod_deleted
        objects.informer(Node).add_handler(
            EventHandler(
                on_add=cache.add_node,
                on_update=lambda _, node: cache.update_node(node),
                on_delete=lambda node: cache.remove_node(node.metadata.name),
            )
        )
        objects.informer(Pod).add_handler(EventHandler(added, self._pod_updated, deleted))
        if pod_groups is None:
            return
        for kind in (
            WorkloadPodGroup,
            *((CompositePodGroup,) if pod_groups.has_composites else ()),
        ):
            handler: EventHandler[Any] = EventHandler(
                on_add=pod_groups.set_group,
                on_update=lambda _, group: pod_groups.set_group(group),
                on_delete=pod_groups.remove_group,
            )
            objects.informer(kind).add_handler(handler)

    def _pod_added(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self.cache.add_pod(pod)
        else:
            self._nominator.add(pod)

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        self._pod_deleted(old)
        self._pod_added(new)

    def _pod_deleted(self, pod: Pod) -> None:
        if self.cache.pod(pod.metadata.uid) is not None:
            self.cache.remove_pod(pod.metadata.uid)
        self._nominator.delete(pod.metadata.uid)


def _drop(work: Coroutine[Any, Any, None], pod: Pod) -> None:
    """Close work that a plugin spawns: a test calls single points, and nothing runs beside them."""
    work.close()
