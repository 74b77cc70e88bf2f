"""Schedulers whose plugins record what they are asked, and how often answers are reused."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from mooring.framework.decision import Outcome
from mooring.framework.plugin import Plugin
from mooring.testing import make_node, make_pod
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from tests.cycle.scheduling import make_scheduler


def hits(scheduler: MemoryScheduler) -> int:
    """Return how often a pod reused the answers for another."""
    return int(
        sum(
            counter.value
            for (_, outcome), counter in scheduler.metrics.batch_attempts.items()
            if outcome == "hint_used"
        )
    )


def recording(asked: list[tuple[str, list[str]]], **methods: Any) -> type[Plugin]:
    """Return a plugin that scores by the number of pods and records its calls."""

    class Recording(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Any:
            asked.append(("filter", [node.name]))

        def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Iterator[Any]:
            asked.append(("filter_nodes", list(nodes.names)))
            return iter(())

        def score(self, state: Any, pod: Any, node: Any) -> Any:
            asked.append(("score", [node.name]))
            return 100 - len(node.pods)

        def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
            asked.append(("score_nodes", list(nodes.names)))
            return 100 - nodes.pod_count

        def sign_pod(self, pod: Any) -> Any:
            return pod.metadata.labels.get("team", "")

    for name, method in methods.items():
        setattr(Recording, name, method)
    return Recording


EVERY = [f"n{i}" for i in range(8)]


AFRESH = [("filter_nodes", EVERY), ("score_nodes", EVERY)]


def start(asked: list[tuple[str, list[str]]], **methods: Any) -> MemoryScheduler:
    """Return a scheduler of eight nodes whose first pod has been placed."""
    nodes = [make_node(name) for name in EVERY]
    scheduler = make_scheduler([recording(asked, **methods)], nodes)
    place(scheduler, asked)
    return scheduler


def place(
    scheduler: MemoryScheduler, asked: list[tuple[str, list[str]]], **fields: Any
) -> list[tuple[str, list[str]]]:
    """Place one more pod and return the calls of the recording plugin."""
    asked.clear()
    name = f"pod-{len(scheduler.cache.pods)}"
    pod = make_pod(name, **fields)
    scheduler.cluster.add(pod)
    decision = drive(scheduler.schedule_one(pod))
    assert decision.outcome is Outcome.SCHEDULED, decision.message
    return list(asked)
