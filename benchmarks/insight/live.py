"""Schedulers with and without records and journal as processes on one real API server."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec

from benchmarks.insight.figures import Figure
from benchmarks.live.cluster import LiveCluster
from benchmarks.live.schedulers import SchedulerProcess, programs
from benchmarks.objects import PodTemplate
from mooring.api import Pod

#: The most CPU a pod, as a multiple of a scheduler that records nothing, and the most memory.
_RING = 1.03
_JOURNAL = 1.15
_MEMORY = 1.2
_PATIENCE = 600.0

PLAIN = "nothing"
RING = "records"
JOURNAL = "records and journal"


class VariantRun(msgspec.Struct, frozen=True):
    """The figures of one run of a scheduler."""

    cpu_ms_per_pod: float
    megabytes: float


def basic(count: int) -> Iterator[Pod]:
    """Yield identical pods."""
    template = PodTemplate()
    return (template.make(f"pod-{i}", "default") for i in range(count))


def mixed(count: int) -> Iterator[Pod]:
    """Yield pods of 40 sizes."""
    templates = [
        PodTemplate(cpu=f"{50 + 10 * size}m", memory=f"{100 + 25 * size}Mi") for size in range(40)
    ]
    return (templates[i % len(templates)].make(f"pod-{i}", "default") for i in range(count))


WORKLOADS: dict[str, Callable[[int], Iterator[Pod]]] = {"basic": basic, "mixed sizes": mixed}


async def compare(
    cluster: LiveCluster,
    kubeconfig: Path,
    folder: Path,
    workload: str,
    pods: int,
    rounds: int,
) -> list[Figure]:
    """Run each variant in turn, `rounds` times; return the ratios of the medians."""
    runs: dict[str, list[VariantRun]] = {PLAIN: [], RING: [], JOURNAL: []}
    for number in range(rounds):
        journal = folder / f"journal-{workload.replace(' ', '-')}-{number}"
        flags = {
            PLAIN: ("--explain-memory=0",),
            RING: (),
            JOURNAL: (f"--journal={journal}",),
        }
        for name, found in runs.items():
            found.append(await _run(cluster, kubeconfig, folder, workload, pods, flags[name]))
    cpu = {
        name: statistics.median(run.cpu_ms_per_pod for run in found) for name, found in runs.items()
    }
    memory = {
        name: statistics.median(run.megabytes for run in found) for name, found in runs.items()
    }
    return [
        figure
        for name, limit in ((RING, _RING), (JOURNAL, _JOURNAL))
        for figure in (
            Figure(
                f"{workload}: {name}, CPU a pod",
                cpu[name] / cpu[PLAIN],
                limit,
                "times",
                f"{cpu[name]:.3f} ms and {cpu[PLAIN]:.3f} ms",
            ),
            Figure(
                f"{workload}: {name}, peak memory",
                memory[name] / memory[PLAIN],
                _MEMORY,
                "times",
                f"{memory[name]:.0f} MB and {memory[PLAIN]:.0f} MB",
            ),
        )
    ]


async def _run(
    cluster: LiveCluster,
    kubeconfig: Path,
    folder: Path,
    workload: str,
    count: int,
    flags: Sequence[str],
) -> VariantRun:
    pods = list(WORKLOADS[workload](count))
    await cluster.create(pods)
    program = programs(Path())["mooring"]
    serving = ("--secure-port=0", *flags)
    with SchedulerProcess("mooring", program, folder, kubeconfig, serving=serving) as process:
        left = await cluster.wait_bound({pod.name for pod in pods}, _PATIENCE)
        usage = await process.rest()
    await cluster.wipe_pods()
    if left:
        raise RuntimeError(f"{len(left)} pods were not bound")
    return VariantRun(usage.cpu_seconds / count * 1e3, usage.megabytes)
