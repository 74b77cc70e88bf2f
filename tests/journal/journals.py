"""Journals of a scheduler on a small API server, on virtual time."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path
from typing import Any

from mooring import Plugin
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from mooring.config import default_config, load_config
from mooring.framework.features import FeatureGates
from mooring.journal.entries import Entry, SegmentHead
from mooring.journal.head import make_head
from mooring.journal.journal import SchedulingJournal
from mooring.journal.journal_reading import read_journal
from mooring.journal.segment_writer import SegmentWriter
from mooring.observe.journal_metrics import JournalMetrics
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry
from mooring.scheduler.running_scheduler import RunningScheduler
from tests.apiserver.api_server import ADMIN, ApiServer
from tests.explain.test_live_examination import PODS, node, pod
from tests.support.virtual_loop import LoopClock, run_virtually

__all__ = ["JournaledCluster", "journaled", "node", "pod", "read", "simple_head"]

#: The path at which groups are created, by kind.
GROUPS = {
    "PodGroup": "/apis/scheduling.k8s.io/v1beta1/namespaces/default/podgroups",
    "CompositePodGroup": ("/apis/scheduling.k8s.io/v1alpha3/namespaces/default/compositepodgroups"),
}


def simple_head(run: str = "one") -> SegmentHead:
    """Return a head as the first segment of a run has it."""
    return SegmentHead(time=1.0, format=1, mooring="0.0", run=run, number=0, first=True)


def read(folder: Path, kind: type[Any] | None = None, **limits: float) -> list[Any]:
    """Return the entries of a journal, or those of one kind."""
    found: list[Entry] = list(read_journal(folder, **limits))
    return found if kind is None else [entry for entry in found if isinstance(entry, kind)]


class JournaledCluster:
    """An API server, and a scheduler that writes a journal whenever it is told to."""

    def __init__(
        self,
        writer: SegmentWriter,
        server: ApiServer,
        plugins: Sequence[type[Plugin]],
        more_taps: Sequence[Any] = (),
        config_file: Path | None = None,
        gates: frozenset[str] = frozenset(),
    ) -> None:
        self.server = server
        self.clock = LoopClock()
        self.metrics = Metrics()
        registry = default_registry(plugins)
        features = FeatureGates(dict.fromkeys(gates, True))
        options: Any = {"registry": registry, "feature_gates": features}
        if config_file is None:
            config = default_config(enabled=[plugin.name for plugin in plugins], **options)
        else:
            config = load_config(config_file, **options)
        head = make_head(config, registry=registry, features=features, now=self.clock.now())
        shown = JournalMetrics(self.metrics.registry)
        self.journal = SchedulingJournal(writer, head, self.clock, shown)
        self.client = Client(LocalTransport(server.api, ADMIN), clock=self.clock)
        self.running = RunningScheduler(
            config,
            client=self.client,
            event_client=self.client,
            registry=registry,
            features=features,
            clock=self.clock,
            metrics=self.metrics,
            taps=(self.journal, *more_taps),
        )

    async def start(self) -> None:
        """Attach the journal and read the cluster."""
        self.journal.attach(self.running)
        await self.running.sync()

    async def create(self, *objects: dict[str, Any]) -> None:
        """Create nodes, pods and groups, and wait until the scheduler has them."""
        for obj in objects:
            path = PODS if "containers" in obj.get("spec", {}) else "/api/v1/nodes"
            made = await self.server.ask("POST", GROUPS.get(obj.get("kind", ""), path), obj)
            assert made["kind"] != "Status", made
        await self.clock.sleep(0.01)

    async def schedule(self) -> None:
        """Try the pods that are ready, and let their binding cycles end."""
        while await self.running.scheduler.turn():
            await self.clock.sleep(0.01)
        await self.clock.sleep(0.1)
        self.running.scheduler.inbox.drain()

    async def close(self) -> None:
        """End the scheduler, and write what waits."""
        await self.running.close()
        await self.client.close()
        self.journal.close()


def journaled(
    folder: Path,
    play: Callable[[JournaledCluster], Awaitable[Any]],
    *plugins: type[Plugin],
    segment_bytes: int = 2**20,
    max_bytes: int = 2**22,
    config: Path | None = None,
    gates: frozenset[str] = frozenset(),
) -> Any:
    """Play on a cluster whose scheduler writes a journal; return what `play` returns."""

    async def live() -> Any:
        writer = SegmentWriter(folder, max_bytes=max_bytes, segment_bytes=segment_bytes)
        server = ApiServer(features=gates)
        cluster = JournaledCluster(writer, server, plugins, config_file=config, gates=gates)
        try:
            await cluster.start()
            return await play(cluster)
        finally:
            await cluster.close()
            writer.close()

    return run_virtually(live())
