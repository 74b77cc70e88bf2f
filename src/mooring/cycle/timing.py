"""PointTimer: how long the points of a profile take, and in some cycles each of its plugins.

A point is timed in every cycle. A plugin is timed by wrapping its methods: a profile has a copy
whose steps are wrapped (`Profile.timed`), and only the sampled cycles run that copy. The other
cycles have no overhead.

# kube-scheduler: framework/runtime/framework.go, metrics/metric_recorder.go
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from functools import wraps
from typing import Any

from mooring.framework.plugin import Nominate
from mooring.framework.status import Code, Status
from mooring.observe.families import Family
from mooring.observe.metrics import Metrics
from mooring.observe.series import Histogram

# Values of the label "extension_point".
PRE_FILTER = "PreFilter"
ADD_POD = "PreFilterExtensionAddPod"
REMOVE_POD = "PreFilterExtensionRemovePod"
FILTER = "Filter"
POST_FILTER = "PostFilter"
PRE_SCORE = "PreScore"
SCORE = "Score"
NORMALIZE = "ScoreExtensionNormalize"
RESERVE = "Reserve"
UNRESERVE = "Unreserve"
PERMIT = "Permit"
PRE_BIND_PRE_FLIGHT = "PreBindPreFlight"
PRE_BIND = "PreBind"
BIND = "Bind"
POST_BIND = "PostBind"
PLACEMENT_GENERATE = "PlacementGenerate"
PLACEMENT_SCORE = "PlacementScore"
POD_GROUP_POST_FILTER = "PodGroupPostFilter"
SIGN = "Sign"

# Why cached answers could not be reused, or were dropped. # kube-scheduler: metrics/metrics.go
POD_NOT_BATCHABLE = "pod_not_batchable"
POD_INCOMPATIBLE = "pod_incompatible"
POD_FAILED = "pod_failed"
EXPIRED = "expired"

_SUCCESS = Code.SUCCESS.label
_ERROR = Code.ERROR.label

Call = Callable[..., Any]


class PointTimer:
    """The recorder of how long the points and plugins of one profile take."""

    def __init__(self, metrics: Metrics, profile: str, now: Callable[[], float]) -> None:
        self.now = now
        self._profile = profile
        self._points: Family[Histogram] = metrics.extension_point_duration
        self._plugins: Family[Histogram] = metrics.plugin_duration
        self._metrics = metrics

    def point(self, point: str, status: Status | None, start: float) -> None:
        """Record the duration of a point that began at `start`; status None is success."""
        label = _SUCCESS if status is None else status.code.label
        self._points[point, label, self._profile].observe(self.now() - start)

    def looked_up(self, found: bool, seconds: float) -> None:
        """Record whether a pod reused an identical pod's answers, and how long the lookup took.

        kube-scheduler counts here the pods that get the next best node of the last ranking.
        """
        metrics, profile = self._metrics, self._profile
        metrics.get_node_hint_duration["hint" if found else "no_hint", profile].observe(seconds)
        metrics.batch_attempts[profile, "hint_used" if found else "no_hint"].inc()

    def remembered(self, start: float) -> None:
        """Record how long it took to cache a pod's answers."""
        seconds = self.now() - start
        self._metrics.store_schedule_results_duration[self._profile].observe(seconds)

    def rescored(self, start: float) -> None:
        """Record that the nodes that changed were scored again, and how long it took."""
        seconds = self.now() - start
        self._metrics.batch_rescore_attempts[self._profile].inc()
        self._metrics.batch_rescore_duration[self._profile].observe(seconds)

    def dropped(self, reason: str) -> None:
        """Count cached answers that were dropped or could not be reused."""
        self._metrics.batch_cache_flushed[self._profile, reason].inc()

    def timed(self, plugin: str, point: str, call: Call) -> Call:
        """Wrap a plugin's method, sync or async, so that every call is timed."""

        @wraps(call)
        def run(*args: Any) -> Any:
            start = self.now()
            try:
                answer = call(*args)
            except BaseException:
                self._note(plugin, point, _ERROR, start)
                raise
            if answer is None:
                self._note(plugin, point, _SUCCESS, start)
            elif hasattr(answer, "__await__"):
                return self._finish(plugin, point, answer, start)
            else:
                self._note(plugin, point, _label(answer), start)
            return answer

        return run

    def timed_vector(self, plugin: str, point: str, call: Call) -> Call:
        """Wrap the vector form of Filter, including the iteration if it is a generator."""

        @wraps(call)
        def run(*args: Any) -> Any:
            # The first status that refuses a node stands for the call.
            label, seconds, start = _SUCCESS, 0.0, self.now()
            try:
                for status, mask in call(*args) or ():
                    seconds += self.now() - start
                    if label == _SUCCESS and mask.any():
                        label = _label(status)
                    yield status, mask
                    start = self.now()
            except GeneratorExit:
                # The cycle asks for no more answers.
                start = self.now()
                raise
            except BaseException:
                label = _ERROR
                raise
            finally:
                seconds += self.now() - start
                self._plugins[plugin, point, label].observe(seconds)

        return run

    async def _finish(self, plugin: str, point: str, work: Awaitable[Any], start: float) -> Any:
        label = _ERROR
        try:
            answer = await work
            label = _label(answer)
            return answer
        finally:
            self._note(plugin, point, label, start)

    def _note(self, plugin: str, point: str, label: str, start: float) -> None:
        self._plugins[plugin, point, label].observe(self.now() - start)


class SilentTimer(PointTimer):
    """The recorder of a profile whose metrics are not exposed. It does not record points."""

    def __init__(self, metrics: Metrics, profile: str) -> None:
        # `float()` returns 0.0 and is faster than a Python function that does.
        super().__init__(metrics, profile, float)

    def point(self, point: str, status: Status | None, start: float) -> None:
        """Do nothing."""

    def looked_up(self, found: bool, seconds: float) -> None:
        """Do nothing."""

    def remembered(self, start: float) -> None:
        """Do nothing."""

    def rescored(self, start: float) -> None:
        """Do nothing."""

    def dropped(self, reason: str) -> None:
        """Do nothing."""


def _label(answer: Any) -> str:
    """Return the status label of a plugin's answer; an answer that is no status is a success."""
    if isinstance(answer, Nominate):
        answer = answer.status
    return answer.code.label if isinstance(answer, Status) else _SUCCESS
