"""A scheduler that answers questions, and readers with some rights."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable
from typing import Any

from mooring.errors import ObjectError
from mooring.explain.attempt_record import AttemptRecord
from mooring.serve.explanations import DecisionPage, QueuePage, TooManyQuestions

POD = "/explain/v1/namespaces/shop/pods/web"
QUEUE = "/explain/v1/queue"
DECISIONS = "/explain/v1/decisions"


def record(sequence: int) -> AttemptRecord:
    return AttemptRecord(
        sequence=sequence,
        time=1.0,
        namespace="shop",
        name="web",
        uid="u",
        profile="default-scheduler",
        attempt=sequence,
        outcome="unschedulable",
    )


class FakeScheduler:
    """Explanations of one pod, three places in the queue, and records that tests add."""

    def __init__(self) -> None:
        self.records: list[AttemptRecord] = []
        self.missed = False
        self.latest = 0
        self.asked: list[tuple[str, str, int | None]] = []
        self.busy = False
        self.hangs = False
        self.news = asyncio.Event()

    def add(self, *sequences: int) -> None:
        self.records += map(record, sequences)
        self.latest = max((self.latest, *sequences))
        self.news.set()

    async def explain_pod(self, namespace: str, name: str, attempt: int | None) -> dict[str, Any]:
        self.asked.append((namespace, name, attempt))
        if self.hangs:
            await asyncio.Event().wait()
        if self.busy:
            raise TooManyQuestions(0.2)
        if (namespace, name) != ("shop", "web"):
            raise ObjectError(f"there is no pod {namespace}/{name}")
        return {
            "namespace": namespace,
            "name": name,
            "nodes": ["node-1"],
            "message": "taken by other/db-0 on node-1, not on node-9; shop/cart is there",
        }

    async def queue_places(self, after: str, limit: int) -> QueuePage:
        start = int(after or "0")
        items = [{"name": f"pod-{i}"} for i in range(3)][start : start + limit]
        return QueuePage(items, str(start + limit) if start + limit < 3 else "")

    async def decisions_since(self, sequence: int, limit: int) -> DecisionPage:
        found = [one for one in self.records if one.sequence > sequence][:limit]
        return DecisionPage(found, self.missed, self.latest)

    async def wait_for_decision(self, sequence: int) -> None:
        while self.latest <= sequence:
            self.news.clear()
            await self.news.wait()

    async def node_names(self) -> Iterable[str]:
        return ["node-1", "node-9"]


class FakeReader:
    """A reader with the rights that are given."""

    name = "jane"

    def __init__(self, *, paths: bool = False, pods: tuple[str, ...] = (), nodes: bool = False):
        self._paths = paths
        self._pods = pods
        self._nodes = nodes

    async def may_get_path(self, path: str) -> bool:
        return self._paths

    async def may_get_pod(self, namespace: str, name: str) -> bool:
        return f"{namespace}/{name}" in self._pods

    async def may_list_nodes(self) -> bool:
        return self._nodes


ALL = FakeReader(paths=True)
