"""Queues for tests, minimal pods, and plugins that wait for given events."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from mooring.api import Node, Pod
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.releases import parse_versions
from mooring.framework.status import Status
from mooring.observe.clock import VirtualClock
from mooring.plugins.priority_sort import PrioritySort
from mooring.queue.order import queue_order
from mooring.queue.queued_pod_info import Place, QueuedPodInfo
from mooring.queue.scheduling_queue import SchedulingQueue

PROFILE = "default-scheduler"
NODE_ADD = ClusterEvent(EventResource.NODE, ActionType.ADD)
NODE_LABEL = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)
NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)
POD_ADD = ClusterEvent(EventResource.POD, ActionType.ADD)


def pod(name: str = "web", *, priority: int = 0, uid: str = "", **labels: str) -> Pod:
    return msgspec.convert(
        {
            "metadata": {
                "name": name,
                "namespace": "default",
                "uid": uid or name,
                "labels": labels,
            },
            "spec": {"schedulerName": PROFILE, "priority": priority},
        },
        Pod,
    )


def node(name: str = "a") -> Node:
    return msgspec.convert({"metadata": {"name": name}}, Node)


def refuser(name: str, *events: ClusterEvent) -> Plugin:
    """Return a plugin that can refuse pods and waits for these events."""
    methods = {"filter": lambda *_: None, "events_to_register": lambda *_: list(events)}
    return type(name, (Plugin,), methods)()


def gate(name: str, status: Callable[[Pod], Any], *events: ClusterEvent) -> Plugin:
    """Return a PreEnqueue plugin that answers `status(pod)`."""
    methods = {
        "pre_enqueue": lambda self, pod: status(pod),
        "events_to_register": lambda *_: list(events),
    }
    return type(name, (Plugin,), methods)()


def held(by: str) -> Callable[[Pod], Status | None]:
    """Return a function that refuses pods with this label."""
    return lambda pod: Status.unresolvable("held") if by in pod.labels else None


class Step(msgspec.Struct):
    name: str
    call: Any


class Profile:
    def __init__(self, *plugins: Plugin) -> None:
        self.plugins = {plugin.name: plugin for plugin in plugins}
        self.pre_enqueue = [
            Step(plugin.name, plugin.pre_enqueue)  # type: ignore[attr-defined]
            for plugin in plugins
            if hasattr(plugin, "pre_enqueue")
        ]


class Queue(SchedulingQueue):
    """A queue on a virtual clock, with shortcuts for tests."""

    def __init__(
        self,
        *plugins: Plugin,
        gates: dict[str, bool] | None = None,
        release: str = "1.37",
        **settings: Any,
    ) -> None:
        self.clock = VirtualClock(start=1000.0)
        order = queue_order(settings.pop("sort", PrioritySort()))
        super().__init__(
            {PROFILE: Profile(*plugins)},
            order,
            self.clock,
            features=FeatureGates(gates or {}, parse_versions([release])),
            **settings,
        )

    def names(self, place: Place) -> list[str]:
        return sorted(one.metadata.name for one in self.pods_in(place))

    def popped(self) -> str | None:
        info = self.pop()
        return None if info is None else info.pod.metadata.name

    def take(self) -> QueuedPodInfo:
        info = self.pop()
        assert info is not None
        return info

    def refuse(self, pod: Pod, by: Iterable[str] = (), pending: Iterable[str] = ()) -> None:
        """Add a pod, pop it, and put it back as refused."""
        self.add(pod)
        info = self.take()
        assert info.pod is pod
        self.add_unschedulable(info, pod, tuple(by), tuple(pending))


POD_LABEL = ClusterEvent(EventResource.POD, ActionType.UPDATE_POD_LABEL)


def a_queue(**settings: Any) -> Queue:
    """Return a queue: Fit waits for nodes, Affinity for pods, Labels for labels; Hold gates."""
    return Queue(
        refuser("Fit", NODE_ADD),
        refuser("Affinity", POD_ADD),
        refuser("Labels", POD_LABEL),
        gate("Hold", held("hold"), POD_LABEL),
        **settings,
    )
