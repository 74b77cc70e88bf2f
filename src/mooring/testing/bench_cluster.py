"""BenchCluster: a cluster in memory, and the handle of a plugin that is called by a test."""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Iterable
from functools import cached_property
from typing import Any

from mooring.api import KubeObject, Pod
from mooring.binding.binding_pods import BindingPods
from mooring.cycle.profile import Profile
from mooring.cycle.profile_handle import ProfileHandle, SharedState
from mooring.framework.features import FeatureGates
from mooring.framework.handle import EventWriter
from mooring.framework.pod_groups import PodGroups, has_pod_groups
from mooring.framework.pod_info import PodInfos
from mooring.framework.release_metrics import make_metrics
from mooring.observe.clock import VirtualClock
from mooring.virtual.claim_controller import ClaimController
from mooring.virtual.memory_client import MemoryClient
from mooring.virtual.memory_cluster import MemoryCluster
from mooring.virtual.memory_events import MemoryEvents
from mooring.virtual.memory_periodic_work import MemoryPeriodicWork
from mooring.virtual.no_network import NoNetwork
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
        self.objects = MemoryCluster(pod_infos, objects, pod_groups)
        VolumeController(self.objects)
        ClaimController(self.objects)
        clock = VirtualClock()
        activated: list[Pod] = []
        #: The work that the plugin repeats.
        self.periodic = MemoryPeriodicWork(clock)
        shared = SharedState(
            features=features,
            clock=clock,
            random=random.Random(0),
            client=MemoryClient(self.objects),
            http=NoNetwork(),
            nominator=self.objects.nominator,
            extenders=(),
            snapshot=lambda: self.objects.cache.nodes,
            pod_infos=pod_infos,
            lister=self.objects.lister,
            watch=self.objects.watch,
            synced=lambda: True,
            waiting_pods=BindingPods(),
            activate=activated.extend,
            spawn=_drop,
            every=self.periodic.every,
            pod_groups=pod_groups or PodGroups(),
            metrics=make_metrics(features),
        )
        name = "default-scheduler"
        self.handle = BenchHandle(name, shared, MemoryEvents(clock), make_profile)


def _drop(work: Coroutine[Any, Any, None], pod: Pod) -> None:
    """Close work that a plugin spawns: a test calls single points, and nothing runs beside them."""
    work.close()
