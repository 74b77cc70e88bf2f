"""Whether an event justifies another attempt to schedule a pod that was refused.

# kube-scheduler: backend/queue/scheduling_queue.go (isPodWorthRequeuing), scheduler.go
# (buildQueueingHintMap)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from enum import IntEnum
from typing import Any

from mooring.api import Pod
from mooring.errors import PluginError
from mooring.framework.cluster_events import (
    ALL_EVENTS,
    ActionType,
    ClusterEvent,
    EventResource,
    QueueingHint,
    QueueingHintFn,
)
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.observe.logs import kv
from mooring.observe.metrics import Metrics

log = logging.getLogger(__name__)

#: Only a plugin with one of these methods can refuse a pod, so only such plugins wait for events.
_REFUSING = (
    "pre_enqueue",
    "pre_filter",
    "filter",
    "filter_nodes",
    "reserve",
    "permit",
    "generate_placements",
)

_HINT_ERROR = "Error"
#: Results of pre-hints, as metrics label them.
ALL_PODS = "all_pods"
NARROWED = "narrowed"
_NODE_TAINT = ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_TAINT)


class QueueingStrategy(IntEnum):
    """The effect of an event on a refused pod: whether and when it is queued."""

    SKIP = 0
    AFTER_BACKOFF = 1
    IMMEDIATELY = 2


class Hints:
    """The events that the plugins of one profile wait for, and their queueing hints.

    If a pod was refused by something that is no plugin of the profile (an extender), every event
    queues it.
    """

    def __init__(
        self,
        plugins: Mapping[str, Plugin],
        *,
        metrics: Metrics | None = None,
        now: Callable[[], float] | None = None,
        node_add_includes_taints: bool = False,
        pre_hints: bool = False,
    ) -> None:
        self._pre_hints = pre_hints
        self._events = {
            name: _events_of(plugin, node_add_includes_taints) for name, plugin in plugins.items()
        }
        self._refusers = [
            name
            for name, plugin in plugins.items()
            if any(hasattr(plugin, method) for method in _REFUSING)
        ]
        self._metrics = metrics
        self._now = now
        self._waiting: dict[tuple[str, int], dict[str, tuple[QueueingHintFn | None, ...]]] = {}

    def waiting_for(
        self, happened: ClusterEvent
    ) -> Mapping[str, tuple[QueueingHintFn | None, ...]]:
        """Return the plugins that wait for such an event, each with its hints. Cached."""
        key = (happened.resource, happened.actions.value)
        waiting = self._waiting.get(key)
        if waiting is None:
            waiting = self._waiting[key] = {}
            for name in self._refusers:
                hints = tuple(e.hint for e in self._events[name] if e.matches(happened))
                if hints:
                    waiting[name] = hints
        return waiting

    def events_of(self, plugins: Collection[str]) -> Sequence[ClusterEvent]:
        """Return the events that some of these plugins wait for; every event if one is unknown."""
        if not plugins or any(name not in self._events for name in plugins):
            return (ALL_EVENTS,)
        return [event for name in sorted(plugins) for event in self._events[name]]

    def concerned(self, happened: ClusterEvent, old: Any, new: Any) -> dict[str, Sequence[Pod]]:
        """Return the pods that an event may concern, by plugins that know; others are absent."""
        if not self._pre_hints:
            return {}
        found: dict[str, Sequence[Pod]] = {}
        for name in self.waiting_for(happened):
            events = [event for event in self._events[name] if event.matches(happened)]
            if any(event.pre_hint is None for event in events):
                continue
            pods = _named_pods(name, events, happened, old, new)
            if self._metrics is not None:
                result = ALL_PODS if pods is None else NARROWED
                self._metrics.pre_queueing_hint_evaluations[name, result].inc()
            if pods is not None:
                found[name] = pods
        return found

    def knows(self, name: str) -> bool:
        """Return whether a plugin of this name is in the profile."""
        return name in self._events

    def strategy(
        self,
        pod: Pod,
        unschedulable: Set[str],
        pending: Set[str],
        happened: ClusterEvent,
        old: Any,
        new: Any,
    ) -> QueueingStrategy:
        """Return whether and when an event queues a pod that these plugins refused or left pending.

        A pod that no plugin refused is always queued. A hint that raises counts as
        `QueueingHint.QUEUE`, so that no pod waits forever because of a bug.
        """
        if not unschedulable and not pending:
            return QueueingStrategy.AFTER_BACKOFF
        if happened.is_wildcard:
            # A wildcard event with an object concerns only that pod.
            if new is not None and (
                not isinstance(new, Pod) or new.metadata.uid != pod.metadata.uid
            ):
                return QueueingStrategy.SKIP
            return QueueingStrategy.AFTER_BACKOFF
        if happened.resource == EventResource.TARGET_POD and new.metadata.uid != pod.metadata.uid:
            return QueueingStrategy.SKIP
        waiting = self.waiting_for(happened)
        for name in pending:
            if self._says_queue(name, waiting, pod, happened, old, new):
                return QueueingStrategy.IMMEDIATELY
        for name in unschedulable:
            if self._says_queue(name, waiting, pod, happened, old, new):
                return QueueingStrategy.AFTER_BACKOFF
        return QueueingStrategy.SKIP

    def worth_requeuing(
        self, pod: Pod, refused_by: Collection[str], happened: ClusterEvent, old: Any, new: Any
    ) -> bool:
        """Return whether an event may have removed the reason why a pod was refused."""
        refused = frozenset(refused_by)
        return bool(self.strategy(pod, refused, frozenset(), happened, old, new))

    def _says_queue(
        self,
        name: str,
        waiting: Mapping[str, tuple[QueueingHintFn | None, ...]],
        pod: Pod,
        happened: ClusterEvent,
        old: Any,
        new: Any,
    ) -> bool:
        hints = waiting.get(name)
        if hints is None:
            return name not in self._events
        return any(self._ask(name, hint, pod, happened, old, new) for hint in hints)

    def _ask(
        self,
        name: str,
        hint: QueueingHintFn | None,
        pod: Pod,
        happened: ClusterEvent,
        old: Any,
        new: Any,
    ) -> bool:
        if self._metrics is None or self._now is None:
            return _answer(name, hint, pod, happened, old, new) != QueueingHint.SKIP.value
        start = self._now()
        result = _answer(name, hint, pod, happened, old, new)
        duration = self._metrics.queueing_hint_duration[name, happened.label, result]
        duration.observe(self._now() - start)
        return result != QueueingHint.SKIP.value


def _named_pods(
    name: str, events: Iterable[ClusterEvent], happened: ClusterEvent, old: Any, new: Any
) -> list[Pod] | None:
    """Return the pods that pre-hints name; None if one of them names any pod, or raises."""
    found: list[Pod] = []
    try:
        for event in events:
            pods = None if event.pre_hint is None else event.pre_hint(old, new)
            if pods is None:
                return None
            found += pods
    except BaseException as error:
        raise_if_external(error)
        log.exception(
            "PreQueueingHintFn failed, falling back to evaluate all pods",
            extra=kv(event=happened.label, plugin=name, oldObj=old, newObj=new),
        )
        return None
    return found


def _answer(
    name: str, hint: QueueingHintFn | None, pod: Pod, happened: ClusterEvent, old: Any, new: Any
) -> str:
    """Return what a hint says, as metrics label it."""
    try:
        answer = QueueingHint.QUEUE if hint is None else hint(pod, old, new)
        return answer.value if isinstance(answer, QueueingHint) else _HINT_ERROR
    except BaseException as error:
        raise_if_external(error)
        log.exception(
            "QueueingHintFn returns error",
            extra=kv(event=happened.label, plugin=name, pod=pod, oldObj=old, newObj=new),
        )
        return _HINT_ERROR


def _events_of(plugin: Plugin, node_add_includes_taints: bool) -> tuple[ClusterEvent, ...]:
    register = getattr(plugin, "events_to_register", None)
    if register is None:
        return (ALL_EVENTS,)
    try:
        events = tuple(register())
    except BaseException as error:
        raise_if_external(error)
        text = f"events_to_register: {error_text(error)}"
        raise PluginError(text, plugin=plugin.name) from error
    if not node_add_includes_taints:
        return events
    on_nodes = ActionType.NONE
    for event in events:
        if event.resource == EventResource.NODE:
            on_nodes |= event.actions
    if on_nodes & ActionType.ADD and not on_nodes & ActionType.UPDATE_NODE_TAINT:
        # kube-scheduler 1.36 adds this event for every plugin that waits for new nodes, and so
        # retries a pod whenever a taint changes (issue 109437).
        return (*events, _NODE_TAINT)
    return events
