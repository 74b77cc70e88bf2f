"""The vector form compared with the node form of the same plugins, in the same run."""

from __future__ import annotations

import time

from msgspec.structs import replace

from benchmarks.workloads import WORKLOADS
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler

_NODES = 5000
_PODS = 40
_FASTER = 30.0


def report() -> list[str]:
    """Print the ratio; return the missed target, if any."""
    workload = WORKLOADS["SchedulingNodeAffinity"][0](_NODES, 0)
    scheduler = MemoryScheduler(workload.objects, reuse=False)
    profile = scheduler.profiles["default-scheduler"]
    pods = [next(workload.pods) for _ in range(_PODS)]
    vector = _time(scheduler, pods)
    profile.filter = tuple(
        replace(step, vector=None) if step.node else step for step in profile.filter
    )
    profile.score = tuple(
        replace(step, vector=None) if step.node else step for step in profile.score
    )
    profile.percentage_of_nodes_to_score = 100
    node = _time(scheduler, pods[:4])
    ratio = node / vector
    print(f"\nvector form {vector * 1e6:.0f} µs/pod, node form {node * 1e6:.0f} µs/pod: ", end="")
    print(f"{ratio:.0f} times faster, to reach {_FASTER:.0f}")
    return [] if ratio >= _FASTER else [f"vector form: {ratio:.0f} times faster"]


def _time(scheduler: MemoryScheduler, pods: list) -> float:  # type: ignore[type-arg]
    drive(scheduler.decide(pods[0]))
    begin = time.process_time()
    for pod in pods:
        drive(scheduler.decide(pod))
    return (time.process_time() - begin) / len(pods)
