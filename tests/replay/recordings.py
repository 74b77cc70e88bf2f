"""Journals for tests of the replay, and replays of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from mooring import Plugin
from mooring.api import PersistentVolume, decode_as
from mooring.journal.entries import Entry
from mooring.journal.journal_reading import read_journal
from mooring.replay.replay_rules import other_rules, recorded_rules
from mooring.replay.replaying import Replay, RunRules
from mooring.replay.report import ReplayReport
from tests.journal.journals import JournaledCluster, journaled, node, pod

__all__ = ["JournaledCluster", "journaled", "node", "pod", "replayed", "write_config"]

#: What `mooring up --watch --journal` of Mooring 0.2.0 wrote: format 3, a gang that fits and one
#: that does not, pods with devices, a preemption, and a configuration that was reloaded.
JOURNAL_0_2_0 = Path(__file__).with_name("journal_0_2_0")


def make_volume(name: str) -> PersistentVolume:
    """Return a volume."""
    return decode_as({"metadata": {"name": name}}, PersistentVolume)


async def schedule_some(cluster: JournaledCluster) -> None:
    """Schedule pods on nodes of two sizes, of which one fits nowhere, and delete one."""
    await cluster.create(node("small", "4"), node("big", "64"))
    for number in range(6):
        await cluster.create(pod(f"web-{number}", str(1 + number % 3)))
    await cluster.create(pod("huge", "900"))
    await cluster.schedule()
    await cluster.server.ask(
        "DELETE", "/api/v1/namespaces/default/pods/web-1", {"gracePeriodSeconds": 0}
    )
    await cluster.clock.sleep(0.1)
    await cluster.create(pod("late", "1"))
    await cluster.schedule()


#: The feature gates of trees of groups.
TREES = frozenset({"GenericWorkload", "TopologyAwareWorkloadScheduling", "CompositePodGroup"})


def tree_of_two(leader_cpu: str = "1") -> Sequence[dict[str, Any]]:
    """Return a tree `job` with the groups `leader` and `workers` for one rack, and its pods."""
    top: dict[str, Any] = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "job"},
        "spec": {
            "workloadRef": {"workloadName": "job", "templateName": "job"},
            "schedulingPolicy": {"gang": {"minGroupCount": 2}},
            "schedulingConstraints": {"topology": [{"key": "rack"}]},
        },
    }
    parts = [
        {
            "apiVersion": "scheduling.k8s.io/v1beta1",
            "kind": "PodGroup",
            "metadata": {"name": name},
            "spec": {
                "workloadRef": {"workloadName": "job", "templateName": name},
                "parentCompositePodGroupName": "job",
                "schedulingPolicy": {"gang": {"minCount": count}},
            },
        }
        for name, count in (("leader", 1), ("workers", 2))
    ]
    pods = [
        _member("leader-0", leader_cpu, "leader"),
        _member("workers-0", "1", "workers"),
        _member("workers-1", "1", "workers"),
    ]
    return [top, *parts, *pods]


def _member(name: str, cpu: str, group: str) -> dict[str, Any]:
    made = pod(name, cpu)
    return {**made, "spec": {**made["spec"], "schedulingGroup": {"podGroupName": group}}}


def _in_rack(made: dict[str, Any], rack: str) -> dict[str, Any]:
    return {**made, "metadata": {**made["metadata"], "labels": {"rack": rack}}}


async def schedule_tree(cluster: JournaledCluster) -> None:
    """Schedule a tree in the first of two racks; its first pod does not fit in the other one."""
    await cluster.create(_in_rack(node("a-1", "2"), "a"), _in_rack(node("a-2", "2"), "a"))
    await cluster.create(_in_rack(node("b-1", "500m"), "b"))
    await cluster.create(*tree_of_two())
    await cluster.schedule()


async def refuse_tree(cluster: JournaledCluster) -> None:
    """Try a tree in two racks: in the first its leader has no room, in the second its workers."""
    await cluster.create(_in_rack(node("a-1", "500m"), "a"), _in_rack(node("b-1", "1"), "b"))
    await cluster.create(*tree_of_two())
    await cluster.schedule()


def replayed(
    folder: Path,
    change: Callable[[Iterator[Entry]], Iterable[Entry]] | None = None,
    *,
    config: Path | None = None,
    references: Sequence[str] = (),
    plugins: Sequence[type[Plugin]] = (),
    since: float | None = None,
) -> ReplayReport:
    """Replay a journal, whose entries may be changed before."""

    def rules_of(head: object) -> RunRules:
        recorded = recorded_rules(head, plugins)  # type: ignore[arg-type]
        if config is None and not references:
            return RunRules(recorded)
        path = None if config is None else str(config)
        return RunRules(recorded, other_rules(head, path, references, plugins))  # type: ignore[arg-type]

    entries = read_journal(folder, since=since)
    return Replay(rules_of, since=since).run(entries if change is None else change(entries))


def write_config(folder: Path, profile: str = "", top: str = "") -> Path:
    """Write a configuration with more lines in its only profile, or at the top."""
    path = folder / "other.yaml"
    path.write_text(
        "apiVersion: kubescheduler.config.k8s.io/v1\nkind: KubeSchedulerConfiguration\n"
        f"{top}profiles:\n- schedulerName: default-scheduler\n{profile}"
    )
    return path
