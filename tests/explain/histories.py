"""Worlds whose attempts are recorded."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from mooring.explain.attempt_history import DEFAULT_MEMORY, AttemptHistory
from mooring.explain.explainer import Explainer
from mooring.framework.plugin import Plugin
from tests.app.world import World, make_node, make_pod

T = TypeVar("T")


class RecordedWorld(World):
    """A World with a history of attempts, and an Explainer that answers at once."""

    def __init__(self, *plugins: type[Plugin], limit: int = DEFAULT_MEMORY, **options: Any) -> None:
        self.history = AttemptHistory(limit)
        super().__init__(*plugins, taps=[self.history], **options)
        self.explainer = Explainer(self.scheduler, self.history)

    def add_nodes(self, count: int, **options: Any) -> None:
        for number in range(count):
            self.nodes.add(make_node(f"n{number}", **options))

    async def try_pod(self, name: str, **options: Any) -> None:
        """Add a pod, and run until nothing more happens."""
        self.pods.add(make_pod(name, **options))
        await self.settle()
        self.history.validate()

    async def ask(self, question: Coroutine[Any, Any, T]) -> T:
        """Ask, and let the loop answer between two cycles."""
        asked = asyncio.ensure_future(question)
        await asyncio.sleep(0)
        await self.settle()
        return await asked
