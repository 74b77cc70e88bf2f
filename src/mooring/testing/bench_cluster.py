"""BenchCluster: a cluster in memory, and the handle of a plugin that is called by a test."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterable
from functools import cached_property
from typing import Any

from mooring.api import KubeObject, Pod
from mooring.binding.binding_pods import BindingPods
from mooring.cache.cache import Cache
from mooring.cycle.profile import Profile
from mooring.cycle.profile_handle import ProfileHandle, SharedState
from mooring.framework.features import FeatureGates
from mooring.framework.handle import EventWriter
from mooring.framework.pod_groups import PodGroups, has_pod_groups
from mooring.framework.pod_info import PodInfos
from mooring.framework.release_metrics import make_metrics
from mooring.observe.clock import VirtualClock
from mooring.queue.nominator import PodNominator
from mooring.scheduler.event_handlers import ClusterEvents
from mooring.scheduler.periodic_work import PeriodicWork
from mooring.virtual.claim_controller import ClaimController
from mooring.virtual.idle_inbox import IdleInbox
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.memory_events import MemoryEvents
from mooring.virtual.no_network import NoNetwork
from mooring.virtual.simulation_queue import SimulationQueue
from mooring.virtual.virtual_tasks import VirtualTasks
from mooring.virtual.volume_controller import VolumeController

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
        ClusterEvents(
            cache=self.cache,
            queue=SimulationQueue({}, lambda pod: 0, clock, features=features, nominator=nominator),
            profiles={},
            on_the_way=on_the_way,
            inbox=IdleInbox(),
            features=features,
            clock=clock,
            metrics=metrics,
            every_pod=True,
            pod_groups=pod_groups,
        ).attach(self.objects)
        self.objects.inform()
        VolumeController(self.objects)
        ClaimController(self.objects)
        activated: list[Pod] = []
        #: The work that the plugin repeats.
        self.tasks = VirtualTasks(clock)
        periodic = PeriodicWork(clock, start=self.tasks.start_periodic)
        periodic.start()
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
            every=periodic.add,
            pod_groups=pod_groups or PodGroups(),
            metrics=metrics,
        )
        name = "default-scheduler"
        self.handle = BenchHandle(name, shared, MemoryEvents(clock), make_profile)


def _drop(work: Coroutine[Any, Any, None], pod: Pod) -> None:
    """Close work that a plugin spawns: a test calls single points, and nothing runs beside them."""
    work.close()
