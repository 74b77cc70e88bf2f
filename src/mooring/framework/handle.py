"""Handle: what the scheduler offers to plugins.

Every part is a Protocol, so the same plugin runs in a live scheduler, in the local cluster, under
a virtual clock and in a unit test.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Coroutine, Hashable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

import msgspec

from mooring.api import Pod
from mooring.framework.extender import Extender
from mooring.framework.features import FeatureGates
from mooring.framework.listers import Lister
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfo
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.observe.clock import Clock
from mooring.observe.metrics import Metrics

if TYPE_CHECKING:
    from mooring.framework.preemption import PreemptionPolicy, Preemptor

T = TypeVar("T")


class ListedObjects(Protocol):
    """The objects that a list of the API server holds."""

    @property
    def items(self) -> Sequence[Any]:
        """Return the objects."""
        ...


class ApiClient(Protocol):
    """Access to the API server. Each call raises ApiError if the server refuses."""

    async def list(
        self,
        kind: type[Any] | str,
        namespace: str = "",
        *,
        timeout: float = 75.0,
        retries: int = 10,
        max_bytes: int = 2**30,
    ) -> ListedObjects:
        """Read all objects of a kind from the server, of all namespaces unless one is named.

        For resources that cannot be watched, such as measurements: a lister keeps those that can.
        Each attempt has a timeout of `timeout` seconds and an answer of at most `max_bytes`.
        """
        ...

    async def get(self, kind: type[T], name: str, namespace: str = "") -> T:
        """Read one object from the server."""
        ...

    async def create(self, obj: T) -> T:
        """Create an object and return it as the server stored it."""
        ...

    async def update(self, obj: T) -> T:
        """Replace an object; its resourceVersion must be the current one."""
        ...

    async def patch(
        self,
        kind: type[T],
        name: str,
        namespace: str,
        patch: dict[str, Any],
        *,
        subresource: str = "",
    ) -> T:
        """Apply a strategic merge patch, to a subresource ("status") if one is named."""
        ...

    async def add_finalizer(self, obj: T, finalizer: str) -> T:
        """Add a finalizer to an object that has not changed since it was read."""
        ...

    async def delete(
        self, kind: type[Any], name: str, namespace: str = "", *, uid: str = ""
    ) -> None:
        """Delete an object; with `uid`, only if it still has that uid."""
        ...

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind a pod to a node."""
        ...


class HttpAnswer(msgspec.Struct, frozen=True):
    """An answer to a request over HTTP."""

    status: int
    body: bytes = b""


class HttpClient(Protocol):
    """Access to servers other than the API server, for work beside the cycle."""

    async def get(
        self,
        url: str,
        *,
        token: str = "",
        ca_file: str = "",
        insecure: bool = False,
        timeout: float = 10.0,
        max_bytes: int = 2**24,
    ) -> HttpAnswer:
        """Return the answer to GET, whatever its status.

        Raise ConfigError for a URL that cannot be used, and ApiError if no complete answer of at
        most `max_bytes` arrives within `timeout` seconds. `token` is sent as a bearer token, over
        TLS only; `insecure` accepts any certificate.
        """
        ...


class EventWriter(Protocol):
    """A recorder of Kubernetes Events."""

    def event(
        self, regarding: Any, type: str, reason: str, action: str, note: str, related: Any = None
    ) -> None:
        """Record one Event; `type` is "Normal" or "Warning". Does not wait for the write."""
        ...


class WaitingPod(Protocol):
    """A pod that waits at Permit."""

    pod: Pod

    def pending_plugins(self) -> Sequence[str]:
        """Return the plugins that have not yet allowed it."""
        ...

    def allow(self, plugin: str) -> None:
        """Allow the pod for one plugin; it goes on when every plugin has allowed it."""
        ...

    def reject(self, plugin: str, message: str) -> bool:
        """Reject the pod as unschedulable. False if it no longer waits."""
        ...

    def preempt(self, plugin: str, message: str) -> bool:
        """Preempt the pod, which is then retried. False if it no longer waits."""
        ...


class PreBindingPod(Protocol):
    """A pod whose PreBind plugins are running."""

    def cancel(self, reason: str) -> bool:
        """Cancel its binding cycle; False if it has already passed PreBind."""
        ...


class Nominator(Protocol):
    """The pending pods that are nominated to nodes."""

    @property
    def version(self) -> int:
        """A number that grows with every change."""
        ...

    def nominated_on(self, node_name: str) -> Sequence[PodInfo]:
        """Return the pods nominated to a node."""
        ...

    def nodes(self) -> Iterable[str]:
        """Return the names of the nodes that have nominated pods."""
        ...

    def node_of(self, uid: str) -> str:
        """Return the node a pod is nominated to, or ""."""
        ...

    def changed_since(self, version: int) -> Sequence[str] | None:
        """Return the nodes whose nominations changed after a version; None if that is no longer
        known."""
        ...

    def add(self, pod: Pod, node_name: str = "") -> None:
        """Nominate a pod to a node, by default the one that its status names."""
        ...

    def delete(self, uid: str) -> None:
        """Drop a pod's nomination, if it has one."""
        ...


class Handle(Protocol):
    """What the scheduler offers to a plugin."""

    #: `schedulerName` of the profile the plugin runs in.
    profile_name: str
    features: FeatureGates
    clock: Clock
    random: random.Random
    client: ApiClient
    http: HttpClient
    events: EventWriter
    nominator: Nominator
    extenders: Sequence[Extender]
    #: The pod groups and their pods; empty if the gate GenericWorkload is off.
    pod_groups: PodGroups
    #: The scheduler's metrics, for those that built-in plugins update themselves.
    metrics: Metrics

    @property
    def snapshot(self) -> Nodes:
        """Return all nodes; they do not change during a cycle."""
        ...

    def pod_info(self, pod: Pod) -> PodInfo:
        """Return what is derived from a pod (requests, terms, ports), computed once."""
        ...

    def lister(self, kind: type[T] | str) -> Lister[T]:
        """Return read access to a kind; a custom resource is named "plural.version.group".

        Pod stands for the pods that have not finished, FinishedPod for the others.
        """
        ...

    @property
    def synced(self) -> bool:
        """Return whether the objects that existed when the scheduler started have been taken in.

        Until then, the order in which `watch` reports objects of different kinds says nothing.
        """
        ...

    def watch(
        self,
        kind: type[T] | str,
        *,
        added: Callable[[T], object] | None = None,
        updated: Callable[[T, T], object] | None = None,
        deleted: Callable[[T], object] | None = None,
    ) -> None:
        """Call functions for every object of a kind, and for every change from now on.

        `added(object)` is also called for the objects that exist already, `updated` gets the old
        and the new one, `deleted` the last known one. An object that was replaced by another one of
        its name is deleted and added. They are called between two cycles, one after the other, in
        the order of the changes; what one raises is logged. For a plugin that keeps state of its
        own; call it in `start()`.
        """
        ...

    def waiting_pods(self) -> Iterable[WaitingPod]:
        """Return the pods that wait at Permit."""
        ...

    def waiting_pod(self, uid: str) -> WaitingPod | None:
        """Return a pod that waits at Permit, or None."""
        ...

    def pre_binding_pod(self, uid: str) -> PreBindingPod | None:
        """Return a pod whose PreBind plugins are running, or None."""
        ...

    def activate(self, pods: Iterable[Pod]) -> None:
        """Move pending pods to the active queue."""
        ...

    def run_filters(
        self, state: CycleState, pod: Pod, nodes: WhatIf, *, nominated: bool = True
    ) -> Sequence[Status | None]:
        """Run all Filter plugins of the profile on what-if nodes; return an entry per node, None
        if it fits.

        With `nominated`, the filters run twice: with the pods of equal or higher priority that are
        nominated to a node counted as running on it, and without them. The pod must fit both times
        (kube-scheduler's RunFilterPluginsWithNominatedPods).
        """
        ...

    def preemptor(self, plugin: str, policy: PreemptionPolicy) -> Preemptor:
        """Return what carries out preemptions for a plugin, under its own policy."""
        ...

    def run_add_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Call `add_pod` of the plugins that precompute: `other` was added to a what-if node."""
        ...

    def run_remove_pod(
        self, state: CycleState, pod: Pod, other: PodInfo, node: NodeInfo
    ) -> Status | None:
        """Call `remove_pod` of the plugins that precompute: `other` left a what-if node."""
        ...

    def precomputes(self, state: CycleState) -> bool:
        """Return whether a Filter plugin active in this cycle keeps state across nodes.

        If none does, what-if changes on different nodes cannot influence one another, and many
        nodes can be dry-run at once.
        """
        ...

    def sign(self, state: CycleState, pod: Pod) -> Hashable | None:
        """Return what the Filter plugins' answers for a pod depend on besides the node.

        Pods with equal signatures get equal answers about a node, as long as neither the node, its
        pods nor any node object changes. None if the answers depend on more.
        """
        ...

    def shared(self, key: str, make: Callable[[], T]) -> T:
        """Return a value that the plugins of all profiles share; the first caller creates it."""
        ...

    def spawn(self, work: Coroutine[Any, Any, None], pod: Pod) -> None:
        """Run I/O outside the cycle on behalf of a pod; failures are logged."""
        ...

    def progress(self) -> None:
        """Record that a long call goes on, so that the process does not count as stuck.

        The cycle does so between two nodes. For a plugin that computes something long for all nodes
        at once.
        """
        ...

    def every(self, seconds: float, work: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run I/O beside the cycle: once scheduling begins, and again every so many seconds.

        For measurements and other state that does not come from the API server. Failures are
        logged; the next run starts `seconds` after the end of the last.
        """
        ...
