"""LoopExplanations: questions to a scheduler from the loop that serves, which may be another."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine, Iterable
from typing import Any, TypeVar

from mooring.explain.explainer import Explainer, QueuePage
from mooring.explain.live_explanation import LiveExplanation
from mooring.explain.scheduler_rules import SchedulerRules
from mooring.serve.explanations import RecordPage

T = TypeVar("T")


class LoopExplanations:
    """The answers of a scheduler that runs in a given event loop (`explanations.Explanations`)."""

    def __init__(self, explainer: Explainer, loop: asyncio.AbstractEventLoop) -> None:
        self._explainer = explainer
        self._loop = loop

    async def explain_pod(self, namespace: str, name: str, attempt: int | None) -> LiveExplanation:
        """Return the explanation of a pod."""
        return await self._ask(self._explainer.explain_pod(namespace, name, attempt))

    async def queue_page(self, after: str, limit: int) -> QueuePage:
        """Return where the pods are that wait."""
        return await self._ask(self._explainer.queue_page(after, limit))

    async def records_since(self, sequence: int, limit: int) -> RecordPage:
        """Return the records after a sequence number."""
        return await self._ask(self._records(sequence, limit))

    async def wait_for_records(self, sequence: int) -> None:
        """Wait until there is a record after a sequence number."""
        await self._ask(self._explainer.wait_for_records(sequence))

    def rules(self) -> SchedulerRules | None:
        """Return the rules by which the scheduler decides."""
        return self._explainer.rules

    async def node_names(self) -> Iterable[str]:
        """Return the names of the nodes that the scheduler knows."""
        return await self._ask(self._explainer.node_names())

    async def _records(self, sequence: int, limit: int) -> RecordPage:
        found = self._explainer.records_since(sequence, limit)
        history = self._explainer.history
        return RecordPage(found.records, found.missed, 0 if history is None else history.latest)

    async def _ask(self, question: Coroutine[Any, Any, T]) -> T:
        if asyncio.get_running_loop() is self._loop:
            return await question
        return await asyncio.wrap_future(asyncio.run_coroutine_threadsafe(question, self._loop))
