"""PreEnqueue: whether a pod may be tried at all.

# kube-scheduler: backend/queue/scheduling_queue.go (runPreEnqueuePlugins)
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol

from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.points import Point
from mooring.framework.status import Code, Status
from mooring.observe.logs import kv, verbose, vlog
from mooring.observe.metrics import PLUGIN_METRICS_SAMPLE_PERCENT, Metrics
from mooring.queue.queued_pod_info import QueuedPodInfo

log = logging.getLogger(__name__)

_POINT = Point.PRE_ENQUEUE.label
_SUCCESS = Code.SUCCESS.label
_SAMPLE_EVERY = 100 // PLUGIN_METRICS_SAMPLE_PERCENT


class PreEnqueueStep(Protocol):
    """A plugin's `pre_enqueue`, bound."""

    @property
    def name(self) -> str:
        """Return the plugin's name."""
        ...

    @property
    def call(self) -> Callable[..., Any]:
        """Return the method to call with a pod."""
        ...


class QueueProfile(Protocol):
    """What the queue needs to know of a profile; `cycle.profile.Profile` is one."""

    @property
    def pre_enqueue(self) -> Sequence[PreEnqueueStep]:
        """Return the PreEnqueue plugins in the order they are asked."""
        ...

    @property
    def plugins(self) -> Mapping[str, Plugin]:
        """Return every plugin by name."""
        ...


class PreEnqueue:
    """Ask the PreEnqueue plugins of every profile. A plugin that raises holds the pod back."""

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

    def run(self, info: QueuedPodInfo) -> None:
        """Ask about a pod; its `gating_plugin` is the answer.

        The plugin that held the pod back the last time is asked first.
        """
        steps = self._steps.get(info.profile, ())
        metrics = self._metrics
        start = self._now()
        if steps:
            self._runs += 1
            if info.gating_plugin:
                steps = tuple(sorted(steps, key=lambda step: step.name != info.gating_plugin))
            for step in steps:
                if not self._passes(info, step):
                    break
            else:
                info.gating_plugin = ""
        if metrics is not None:
            # kube-scheduler says Success here whatever the plugins said.
            point = metrics.extension_point_duration[_POINT, _SUCCESS, info.profile]
            point.observe(self._now() - start)

    def holds(self, info: QueuedPodInfo) -> bool:
        """Tell whether the plugin that held a pod back still does; cheap, for it is asked often."""
        step = self._gates.get((info.profile, info.gating_plugin))
        if step is None:
            return False
        status = self._call(info, step)
        if status is None or status.code is Code.SUCCESS:
            return False
        if verbose(log, 4):
            self._tell(info, step, status)
        return True

    def _passes(self, info: QueuedPodInfo, step: PreEnqueueStep) -> bool:
        name, metrics = step.name, self._metrics
        if metrics is None or self._runs % _SAMPLE_EVERY:
            status = self._call(info, step)
        else:
            start = self._now()
            status = self._call(info, step)
            code = Code.SUCCESS if status is None else status.code
            duration = metrics.plugin_duration[name, _POINT, code.label]
            duration.observe(self._now() - start)
        if status is None or status.is_success:
            return True
        if metrics is not None and name not in info.rejectors:
            metrics.unschedulable_pods[name, info.profile].inc()
        info.unschedulable_plugins |= {name}
        info.gating_plugin = name
        if verbose(log, 4):
            self._tell(info, step, status)
        return False

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
            text = error_text(error)
            self._report(info, step.name, text, trace=True)
            return Status.error(text)
        if status is None:
            return None
        if not isinstance(status, Status):
            message = f"pre_enqueue must return Status or None, got {status!r}"
            self._report(info, step.name, message)
            return Status.error(message)
        if status.code is Code.ERROR:
            self._report(info, step.name, status.message)
        return status

    def _report(self, info: QueuedPodInfo, plugin: str, error: str, *, trace: bool = False) -> None:
        log.error(
            "Unexpected error running PreEnqueue plugin",
            exc_info=trace,
            extra=kv(err=error, pod=info.pod, plugin=plugin),
        )
