"""Journals for tests of the replay, and replays of them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path

from mooring import Plugin
from mooring.explain.journal.entries import Entry
from mooring.explain.journal.reading import read_journal
from mooring.insight.replay.replaying import Replay, RunRules
from mooring.insight.replay.report import ReplayReport
from mooring.insight.replay.rules import other_rules, recorded_rules
from tests.explain.journal.journals import JournaledCluster, journaled, node, pod

__all__ = ["JournaledCluster", "journaled", "node", "pod", "replayed", "write_config"]


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
