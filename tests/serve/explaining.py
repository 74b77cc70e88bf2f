"""A scheduler that answers questions, and readers with some rights."""

from __future__ import annotations

import asyncio
from collections.abc import Iterable

from mooring.errors import ObjectError
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.examination import Examination
from mooring.explain.explainer import QueuePage
from mooring.explain.filter_verdicts import FilterVerdicts
from mooring.explain.live_explanation import LiveExplanation
from mooring.explain.questions import AnswerLimitError, TooManyQuestions, UnknownPodError
from mooring.explain.scheduler_rules import SchedulerRules
from mooring.framework.decision import Decision
from mooring.queue.queue_places import Whereabouts, place_of
from mooring.serve.explanations import RecordPage
from mooring.testing import make_pod

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
        self.replays = True
        self.known_rules: SchedulerRules | None = None
        self.hangs = False
        self.news = asyncio.Event()

    def add(self, *sequences: int) -> None:
        self.records += map(record, sequences)
        self.latest = max((self.latest, *sequences))
        self.news.set()

    async def explain_pod(self, namespace: str, name: str, attempt: int | None) -> LiveExplanation:
        self.asked.append((namespace, name, attempt))
        if self.hangs:
            await asyncio.Event().wait()
        if self.busy:
            raise TooManyQuestions(0.2)
        if not self.replays:
            raise AnswerLimitError("not within 40 s")
        if name == "odd":
            raise ObjectError("no profile serves it")
        if (namespace, name) != ("shop", "web"):
            raise UnknownPodError(f"pod {namespace}/{name} is not known")
        message = "taken by other/db-0 on node-1, not on node-9; shop/cart is there"
        decision = Decision(make_pod(name, namespace=namespace), "default-scheduler")
        decision.message = message
        found = Examination(decision, 1, verdicts=FilterVerdicts(["node-1"]))
        return LiveExplanation(time=1.0, found=found)

    async def queue_page(self, after: str, limit: int) -> QueuePage:
        start = int(after or "0")
        places = [place_of(make_pod(f"pod-{i}"), Whereabouts.ACTIVE) for i in range(3)]
        following = str(start + limit) if start + limit < 3 else ""
        return QueuePage(items=places[start : start + limit], continue_=following, total=3)

    async def records_since(self, sequence: int, limit: int) -> RecordPage:
        found = [one for one in self.records if one.sequence > sequence][:limit]
        return RecordPage(found, self.missed, self.latest)

    async def wait_for_records(self, sequence: int) -> None:
        while self.latest <= sequence:
            self.news.clear()
            await self.news.wait()

    def rules(self) -> SchedulerRules | None:
        return self.known_rules

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
