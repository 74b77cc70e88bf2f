"""The importance of pods, and the cost of clearing a node of its victims.

# kube-scheduler: util/utils.go (MoreImportantPod, GetEarliestPodStartTime),
# framework/preemption/preemption.go (pickOneNodeForPreemption)
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from mooring.framework.pod_info import PodInfo

#: Added to each priority before summing, so that more victims never look cheaper.
_PRIORITY_OFFSET = 2**31

#: Lower is better: budget violations, highest victim priority, sum of priorities, number of
#: victims, and the start of the longest-running victim among the most important (later is better).
Cost = tuple[int, int, int, int, float]
NO_COST: Cost = (0, 0, 0, 0, 0.0)


def started(pod: PodInfo) -> float:
    """Return when a pod started; infinity if it has not, so that it sorts last.

    kube-scheduler uses the current time, which is the same unless a kubelet's clock is ahead.
    """
    return math.inf if pod.start_time is None else pod.start_time


def by_importance(pods: Sequence[PodInfo]) -> list[PodInfo]:
    """Return pods, most important first: higher priority, then earlier start."""
    return sorted(pods, key=lambda pod: (-pod.priority, started(pod)))


def cost(victims: Sequence[PodInfo], violations: int) -> Cost:
    """Return the cost of clearing a node of `victims`; there must be one."""
    top = max(pod.priority for pod in victims)
    total = sum(pod.priority + _PRIORITY_OFFSET for pod in victims)
    earliest = min(started(pod) for pod in victims if pod.priority == top)
    return violations, top, total, len(victims), -earliest


def costs(
    positions: npt.NDArray[np.intp],
    priorities: npt.NDArray[np.int64],
    starts: npt.NDArray[np.float64],
    violations: npt.NDArray[np.int64],
) -> list[Cost]:
    """Return the cost of clearing each node; victim i is on node `positions[i]`.

    `violations` has an entry per node; every node has a victim.
    """
    nodes = len(violations)
    top = np.full(nodes, np.iinfo(np.int64).min)
    np.maximum.at(top, positions, priorities)
    sums = np.zeros(nodes, dtype=np.int64)
    np.add.at(sums, positions, priorities + _PRIORITY_OFFSET)
    counts = np.bincount(positions, minlength=nodes)
    earliest = np.full(nodes, np.inf)
    is_top = priorities == top[positions]
    np.minimum.at(earliest, positions[is_top], starts[is_top])
    return list(
        zip(
            violations.tolist(),
            top.tolist(),
            sums.tolist(),
            counts.tolist(),
            (-earliest).tolist(),
            strict=True,
        )
    )
