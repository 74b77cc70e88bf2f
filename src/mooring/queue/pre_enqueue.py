"""PreEnqueue: whether a pod may enter the active queue.

# kube-scheduler: backend/queue/scheduling_queue.go (runPreEnqueuePlugins)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mooring.framework.contract_errors import fault, wrong_type
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.points import Point
from mooring.framework.status import Code, Status
from mooring.observe.logs import kv, verbose, vlog
from mooring.observe.metrics import PLUGIN_METRICS_SAMPLE_PERCENT, Metrics
from mooring.queue.queued_pod_group_info import QueuedPodGroupInfo
from mooring.queue.queued_pod_info import QueuedPodInfo

log = logging.getLogger(__name__)

_POINT = Point.PRE_ENQUEUE.label
_SUCCESS = Code.SUCCESS.label
_SAMPLE_EVERY = 100 // PLUGIN_METRICS_SAMPLE_PERCENT


class PreEnqueueStep(Protocol):
    """The bound method `pre_enqueue` of a plugin."""

    @property
    def name(self) -> str:
        """The plugin's name."""
        ...

    @property
    def call(self) -> Callable[..., Any]:
        """The method to call with a pod."""
        ...


class QueueProfile(Protocol):
    """The part of a profile that the queue uses; `cycle.profile.Profile` has it."""

    @property
    def pre_enqueue(self) -> Sequence[PreEnqueueStep]:
        """The PreEnqueue plugins in the order they are called."""
        ...

    @property
    def plugins(self) -> Mapping[str, Plugin]:
        """All plugins by name."""
        ...


class PreEnqueue:
    """The PreEnqueue plugins of every profile. A plugin that raises gates the pod."""

    def __init__(
        self,
        profiles: Mapping[str, QueueProfile],
        now: Callable[[], float],
        metrics: Metrics | None = None,
    ) -> None:
        self._steps = {name: tuple(profile.pre_enqueue) for name, profile in profiles.items()}
        self._gates = {
            (name, step.name): step for name, steps in self._steps.items() for step in steps
        }
        self._now = now
        self._metrics = metrics
        self._runs = 0

    def run(self, info: QueuedPodInfo) -> Status | None:
        """Ask about a pod; return why it is held back, or None, and set its `gating_plugin`.

        The plugin that gated the pod the last time is called first. A group is held back if one of
        its members is.
        """
        if isinstance(info, QueuedPodGroupInfo):
            return self._run_group(info)
        steps = self._steps.get(info.profile, ())
        metrics = self._metrics
        start = self._now() if metrics is not None else 0.0
        found: Status | None = None
        if steps:
            self._runs += 1
            call = self._call
            if metrics is not None and self._runs % _SAMPLE_EVERY == 0:
                call = self._timed_call
            if info.gating_plugin:
                steps = tuple(sorted(steps, key=lambda step: step.name != info.gating_plugin))
            for step in steps:
                status = call(info, step)
                if status is not None and not status.is_success:
                    self._hold(info, step, status)
                    found = status.by(step.name)
                    break
            else:
                info.gating_plugin = ""
        if metrics is not None:
            # kube-scheduler records Success here whatever the plugins returned.
            point = metrics.extension_point_duration[_POINT, _SUCCESS, info.profile]
            point.observe(self._now() - start)
        return found

    def _run_group(self, group: QueuedPodGroupInfo) -> Status | None:
        # The member that was refused the last time is asked first: while a gang gathers, one call
        # is enough for every pod that arrives.
        last = group.gating_member
        members = group.each() if last is None else (last, *group.each())
        for member in members:
            status = self.run(member)
            if status is not None:
                group.gate(member)
                return status
        group.gating_member, group.gating_plugin = None, ""
        return None

    def holds(self, info: QueuedPodInfo) -> bool:
        """Return whether the plugin that gated a pod still does; cheap, because called often."""
        if isinstance(info, QueuedPodGroupInfo):
            return info.gating_member is not None and self.holds(info.gating_member)
        step = self._gates.get((info.profile, info.gating_plugin))
        if step is None:
            return False
        status = self._call(info, step)
        if status is None or status.code is Code.SUCCESS:
            return False
        if verbose(log, 4):
            self._tell(info, step, status)
        return True

    def _hold(self, info: QueuedPodInfo, step: PreEnqueueStep, status: Status) -> None:
        name, metrics = step.name, self._metrics
        if metrics is not None and name not in info.rejectors:
            metrics.unschedulable_pods[name, info.profile].inc()
        info.unschedulable_plugins |= {name}
        info.gating_plugin = name
        if verbose(log, 4):
            self._tell(info, step, status)

    def _timed_call(self, info: QueuedPodInfo, step: PreEnqueueStep) -> Status | None:
        start = self._now()
        status = self._call(info, step)
        code = Code.SUCCESS if status is None else status.code
        assert self._metrics is not None
        duration = self._metrics.plugin_duration[step.name, _POINT, code.label]
        duration.observe(self._now() - start)
        return status

    def _tell(self, info: QueuedPodInfo, step: PreEnqueueStep, status: Status) -> None:
        if not status.is_error:
            vlog(
                log,
                4,
                "Status after running PreEnqueue plugin",
                pod=info.pod,
                plugin=step.name,
                status=status.message,
            )

    def _call(self, info: QueuedPodInfo, step: PreEnqueueStep) -> Status | None:
        try:
            status = step.call(info.pod)
        except BaseException as error:
            raise_if_external(error)
            self._report(info, step.name, error_text(error), trace=True)
            return fault(step.name, Point.PRE_ENQUEUE, error)
        if status is None:
            return None
        if not isinstance(status, Status):
            self._report(info, step.name, f"pre_enqueue must return Status or None, got {status!r}")
            return wrong_type(
                step.name, Point.PRE_ENQUEUE, "pre_enqueue", "a Status or None", status
            )
        if status.code is Code.ERROR:
            self._report(info, step.name, status.message)
        return status

    def _report(self, info: QueuedPodInfo, plugin: str, error: str, *, trace: bool = False) -> None:
        log.error(
            "Unexpected error running PreEnqueue plugin",
            exc_info=trace,
            extra=kv(err=error, pod=info.pod, plugin=plugin),
        )
