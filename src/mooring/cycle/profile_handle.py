"""The handles through which the plugins of each profile reach the scheduler's shared state."""

from __future__ import annotations

import logging
import random
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec
import numpy as np

from mooring.api import Pod
from mooring.api.spelling import spelled
from mooring.cycle.filtering import (
    filter_nodes,
    filter_one,
    nominated_before,
    precomputes,
    refused_with,
)
from mooring.cycle.pre_filter import run_extension
from mooring.cycle.profile import Profile
from mooring.cycle.signature import PodSigner
from mooring.framework.extender import Extender
from mooring.framework.features import FeatureGates
from mooring.framework.handle import (
    ApiClient,
    EventWriter,
    HttpClient,
    Nominator,
    PreBindingPod,
    WaitingPod,
)
from mooring.framework.listers import Lister
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfo, PodInfos
from mooring.framework.preemption import PreemptionPolicy, Preemptor
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.informers.store import EventHandler
from mooring.observe.clock import Clock, Progress
from mooring.observe.logs import log_error
from mooring.observe.metrics import Metrics

if TYPE_CHECKING:
    from mooring.config.resolved_profile import ResolvedProfile
    from mooring.registry import Registry

T = TypeVar("T")

log = logging.getLogger(__name__)


class WaitingPods(Protocol):
    """The pods that wait at Permit, and those whose PreBind is running."""

    def waiting(self) -> Iterable[WaitingPod]:
        """Return the pods that wait at Permit."""
        ...

    def get(self, uid: str) -> WaitingPod | None:
        """Return a pod that waits at Permit, or None."""
        ...

    def pre_binding(self, uid: str) -> PreBindingPod | None:
        """Return a pod whose PreBind is running, or None."""
        ...


class SharedState(msgspec.Struct, frozen=True):
    """What the profiles of one scheduler share; a scheduler has exactly one instance."""

    features: FeatureGates
    clock: Clock
    random: random.Random
    client: ApiClient
    http: HttpClient
    nominator: Nominator
    extenders: Sequence[Extender]
    snapshot: Callable[[], Nodes]
    pod_infos: PodInfos
    lister: Callable[[Any], Lister[Any]]
    #: Registers a handler of the changes of a kind, which is called between two cycles.
    watch: Callable[[Any, EventHandler[Any]], None]
    synced: Callable[[], bool]
    waiting_pods: WaitingPods
    activate: Callable[[Iterable[Pod]], None]
    spawn: Callable[[Coroutine[Any, Any, None], Pod], None]
    every: Callable[[float, Callable[[], Coroutine[Any, Any, None]]], None]
    pod_groups: PodGroups = msgspec.field(default_factory=PodGroups)
    #: By default, a new set of metrics that is not exported.
    metrics: Metrics = msgspec.field(default_factory=Metrics)
    #: Counts the steps of cycles.
    progress: Progress = msgspec.field(default_factory=Progress)
    #: What plugins share across profiles, by key (Handle.shared).
    plugin_data: dict[str, Any] = msgspec.field(default_factory=dict)


@spelled(
    SnapshotSharedLister="snapshot",
    ClientSet="client",
    KubeConfig="client",
    EventRecorder="events",
    SharedInformerFactory="lister(kind)",
    SharedDRAManager="lister(kind)",
    IterateOverWaitingPods="waiting_pods()",
    GetWaitingPod="waiting_pod(uid)",
    RejectWaitingPod="waiting_pod(uid).reject(plugin, message)",
    RunFilterPluginsWithNominatedPods="run_filters(state, pod, nodes)",
    RunPreFilterExtensionAddPod="run_add_pod",
    RunPreFilterExtensionRemovePod="run_remove_pod",
    AddNominatedPod="nominator.add",
    DeleteNominatedPodIfExists="nominator.delete",
    Parallelizer="filter_nodes or score_nodes",
)
class ProfileHandle:
    """The Handle of one profile's plugins (framework/handle.py)."""

    #: The profile whose plugins hold this handle; set after the plugins are made.
    profile: Profile

    def __init__(self, profile_name: str, shared: SharedState, events: EventWriter) -> None:
        self.profile_name = profile_name
        self.events = events
        self.features = shared.features
        self.clock = shared.clock
        self.random = shared.random
        self.client = shared.client
        self.http = shared.http
        self.nominator = shared.nominator
        self.extenders = shared.extenders
        self.pod_groups = shared.pod_groups
        self.metrics = shared.metrics
        self._shared = shared
        self._signer: PodSigner | None = None
        self.progress: Callable[[], None] = shared.progress.step
        self.pod_info: Callable[[Pod], PodInfo] = shared.pod_infos.of

    def for_plugin(self, plugin: type[Plugin]) -> ProfileHandle:
        """Return the handle of a plugin: this one, unless its clients depend on the plugin."""
        http, client = _client_for(self.http, plugin), _client_for(self.client, plugin)
        if http is self.http and client is self.client:
            return self
        return PluginHandle(self, client, http)

    @property
    def snapshot(self) -> Nodes:
        """All nodes; unchanged during a cycle."""
        return self._shared.snapshot()

    def lister(self, kind: type[T] | str) -> Lister[T]:
        """Return a lister of a kind; a custom resource is named "plural.version.group"."""
        return self._shared.lister(kind)

    @property
    def synced(self) -> bool:
        """Whether the objects that existed at the start have been taken in."""
        return self._shared.synced()

    def watch(
        self,
        kind: type[T] | str,
        *,
        added: Callable[[T], object] | None = None,
        updated: Callable[[T, T], object] | None = None,
        deleted: Callable[[T], object] | None = None,
    ) -> None:
        """Call functions for every object of a kind, and for every change from now on."""
        handler = EventHandler(
            _contained(added), _updated(added, updated, deleted), _contained(deleted)
        )
        self._shared.watch(kind, handler)

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Return the pods that wait at Permit."""
        return self._shared.waiting_pods.waiting()

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """Return a pod that waits at Permit, or None."""
        return self._shared.waiting_pods.get(uid)

    def pre_binding_pod(self, uid: str) -> PreBindingPod | None:
        """Return a pod whose PreBind is running, or None."""
        return self._shared.waiting_pods.pre_binding(uid)

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move pending pods to the active queue."""
        self._shared.activate(pods)

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Return the value that all profiles share under a key; the first call makes it."""
        data = self._shared.plugin_data
        if key not in data:
            data[key] = make()
        found: T = data[key]
        return found

    def spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        """Run I/O outside the cycle, on behalf of a pod; failures are logged."""
        self._shared.spawn(work, pod)

    def every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run I/O beside the cycle, now and then every so many seconds; failures are logged."""
        self._shared.every(seconds, work)

    # Dry runs.

    def run_filters(
        self, state: CycleState, pod: Pod, nodes: WhatIf, *, nominated: bool = True
    ) -> Sequence[Status | None]:
        """Run all Filter plugins of the profile on what-if nodes.

        Return an entry per node: the refusal, or None if the pod fits.
        """
        profile = self.profile
        answers: list[Status | None] = [None] * len(nodes)
        alive = None
        if nominated:
            for position, status in self._refused_by_nominations(state, pod, nodes):
                if alive is None:
                    alive = np.ones(len(nodes), dtype=np.bool_)
                alive[position] = False
                answers[position] = status
        if len(nodes) == 1:
            return answers if alive is not None else [filter_one(profile, state, pod, nodes)]
        verdicts = filter_nodes(profile, state, pod, nodes, alive)
        if verdicts.error is not None:
            return [answer or verdicts.error for answer in answers]
        for position, status in verdicts.each(nodes):
            answers[position] = status
        return answers

    def _refused_by_nominations(
        self, state: CycleState, pod: Pod, nodes: WhatIf
    ) -> Iterable[tuple[int, Status]]:
        nominator = self.nominator
        names = set(nominator.nodes())
        if not names:
            return ()
        info = self.pod_info(pod)
        found = []
        for position, name in enumerate(nodes.names):
            if name in names and (others := nominated_before(nominator, info, name)):
                found.append((position, others))
        if not found:
            return ()
        view = nodes.some(np.array([position for position, _ in found], dtype=np.intp))
        refused = refused_with(self.profile, state, pod, view, [others for _, others in found])
        return [(found[index][0], status) for index, status in refused]

    def preemptor(self, plugin: str, policy: PreemptionPolicy) -> Preemptor:
        """Return what carries out preemptions for a plugin, under its own policy."""
        # Loaded when a plugin preempts: the test of another plugin does not need it.
        from mooring.preemption.evaluator import Evaluator

        return Evaluator(plugin, self, policy)

    def run_add_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Call the AddPod extensions: `other` was added to a what-if node."""
        return run_extension(self.profile.of(state).add_pod, "AddPod", state, pod, other, node)

    def run_remove_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Call the RemovePod extensions: `other` was removed from a what-if node."""
        return run_extension(
            self.profile.of(state).remove_pod, "RemovePod", state, pod, other, node
        )

    def precomputes(self, state: CycleState) -> bool:
        """Return whether a Filter plugin that runs in this cycle keeps state across nodes."""
        return precomputes(self.profile, state)

    def sign(self, state: CycleState, pod: Pod) -> Hashable | None:
        """Return the pod's signature: what the answers of the Filter plugins depend on besides the
        node. None if they depend on more, or if the gate OpportunisticBatching is off."""
        if not self.features.enabled("OpportunisticBatching"):
            return None
        if self._signer is None:
            self._signer = PodSigner(self.profile)
        signature = self._signer.sign(state, pod)
        return None if signature is None else signature.key


class PluginHandle(ProfileHandle):
    """The handle of one plugin of a profile, with clients of its own."""

    def __init__(self, outer: ProfileHandle, client: ApiClient, http: HttpClient) -> None:
        self.__dict__.update(outer.__dict__)
        self._outer = outer
        self.client = client
        self.http = http

    @property
    def profile(self) -> Profile:  # type: ignore[override]
        """The profile, which exists after its plugins."""
        return self._outer.profile

    def sign(self, state: CycleState, pod: Pod) -> Hashable | None:
        """Return the pod's signature, as the handle of the profile does."""
        return self._outer.sign(state, pod)


class _PluginClients(Protocol):
    """A client that gives each plugin one of its own."""

    def for_plugin(self, plugin: type[Plugin]) -> Any:
        """Return the client of a plugin."""
        ...


def _client_for(client: Any, plugin: type[Plugin]) -> Any:
    make: _PluginClients | None = client if hasattr(type(client), "for_plugin") else None
    return client if make is None else make.for_plugin(plugin)


def _contained(call: Callable[..., object] | None) -> Callable[..., None] | None:
    """Return a function of a plugin so that what it raises is logged."""
    if call is None:
        return None

    def contained(*objects: Any) -> None:
        try:
            call(*objects)
        except BaseException as error:
            raise_if_external(error)
            text = "A plugin failed to take in a change"
            log_error(log, error_text(error), text, object=objects[-1])

    return contained


def _updated(
    added: Callable[[T], object] | None,
    updated: Callable[[T, T], object] | None,
    deleted: Callable[[T], object] | None,
) -> Callable[[Any, Any], None]:
    """Return a function for updates; an object that replaces another one is a deletion and an
    addition, which a watch can miss if both happen between two looks."""
    change, add, delete = _contained(updated), _contained(added), _contained(deleted)

    def told(old: Any, new: Any) -> None:
        if old.metadata.uid == new.metadata.uid:
            if change is not None:
                change(old, new)
            return
        if delete is not None:
            delete(old)
        if add is not None:
            add(new)

    return told


def make_profiles(
    resolved: Iterable[ResolvedProfile],
    registry: Registry,
    shared: SharedState,
    events_of: Callable[[str], EventWriter],
) -> dict[str, Profile]:
    """Make the profiles of a scheduler over one shared state, and start their plugins.

    `events_of` returns the event writer of a profile, by its name.
    """
    profiles: dict[str, Profile] = {}
    for one in resolved:
        handle = ProfileHandle(one.scheduler_name, shared, events_of(one.scheduler_name))
        profile = Profile(one, registry, handle)
        handle.profile = profile
        profiles[profile.name] = profile
    for profile in profiles.values():
        profile.start()
    return profiles
