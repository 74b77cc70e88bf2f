"""Which of two pods matters more, and which of several nodes costs least to clear.

# kube-scheduler: util/utils.go (MoreImportantPod, GetEarliestPodStartTime),
# framework/preemption/preemption.go (pickOneNodeForPreemption)
"""

from __future__ import annotations

from collections.abc import Sequence

from mooring.framework.pod_info import PodInfo

#: Added to each priority before summing, so that more victims never look cheaper.
_PRIORITY_OFFSET = 2**31


def by_importance(pods: Sequence[PodInfo], now: float) -> list[PodInfo]:
    """Return pods, most important first: higher priority, then earlier start (none means now)."""
    return sorted(pods, key=lambda pod: (-pod.priority, _started(pod, now)))


def _started(pod: PodInfo, now: float) -> float:
    return now if pod.start_time is None else pod.start_time


#: Lower is better: budget violations, highest victim priority, sum of priorities, number of
#: victims, and the start of the longest-running victim among the most important (later is better).
Cost = tuple[int, int, int, int, float]


def cost(victims: Sequence[PodInfo], violations: int, now: float) -> Cost:
    """Return what it costs to clear a node of `victims`, most important first."""
    priorities = [pod.priority for pod in victims]
    top = max(priorities)
    earliest = min(_started(pod, now) for pod in victims if pod.priority == top)
    return (
        violations,
        priorities[0],
        sum(priorities) + len(priorities) * _PRIORITY_OFFSET,
        len(priorities),
        -earliest,
    )
