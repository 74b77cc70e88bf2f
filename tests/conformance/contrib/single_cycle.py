"""One scheduling cycle for the pod of a scenario."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod, decode_as
from mooring.framework.decision import Decision
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import Attempt, MemoryScheduler
from tests.conformance import replay
from tests.conformance.contrib.cluster import RecordingClient, build
from tests.conformance.contrib.comparing import differences
from tests.conformance.contrib.observers import OBSERVERS

#: Fields of a recording that are compared elsewhere, or are facts about the recorder.
NOT_COMPARED = frozenset({"plugins", "scoreWeights", "scoringSkipped", "panic", "scoreError"})
#: Fields of which a recording has none if there is nothing to say.
_OPTIONAL = frozenset({"preemption", "chosen"})


def check(scenario: dict[str, Any], expected: dict[str, Any]) -> list[str]:
    """Return where our decision for a scenario's pod differs from the recorded one."""
    scheduler = build(scenario)
    pod = decode_as(scenario["pod"], Pod)
    scheduler.cluster.add(pod)
    before = {f"{field}": observe(scheduler) for field, observe in _observed(expected)}
    attempt = drive(scheduler.decide(pod, examine=True))
    ours = {**as_recorded(attempt.decision, scheduler), **before}
    if expected["outcome"] == "panic":
        # Ours does better: the pod is decided for, and no plugin fails.
        faults = [fault.message for fault in attempt.decision.errors]
        return faults + differences(ours, expected, {"preFilter"} & expected.keys())
    if "usedAfterReserve" in expected:
        ours |= _reserved(scheduler, attempt)
    scheduler.discard(attempt)
    fields = (expected.keys() | _OPTIONAL) - NOT_COMPARED
    return differences(ours, completed(ours, expected), fields)


def _observed(expected: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(field, observe) for field, observe in OBSERVERS.items() if field in expected]


def _reserved(scheduler: MemoryScheduler, attempt: Attempt) -> dict[str, Any]:
    used = OBSERVERS["used"]
    drive(scheduler.reserve(attempt))
    faults = attempt.decision.errors
    entry = {
        "reserve": replay.status_entry(faults[0]) if faults else None,
        "usedAfterReserve": used(scheduler),
    }
    drive(scheduler.unreserve(attempt))
    return {**entry, "usedAfterUnreserve": used(scheduler)}


def as_recorded(decision: Decision, scheduler: MemoryScheduler) -> dict[str, Any]:
    """Put a decision into the form of `expected`."""
    entry = replay.as_recorded(decision)
    if not decision.errors or decision.post_filter is not None:
        entry["feasible"] = entry["feasible"] or []
    result = decision.post_filter
    if result is not None:
        assert isinstance(scheduler.client, RecordingClient)
        found = entry["preemption"]
        found["result"] = result.nominated_node is not None
        if scheduler.client.cleared:
            found["clearedNominations"] = sorted(scheduler.client.cleared)
            scheduler.client.cleared.clear()
    return entry


def completed(ours: dict[str, Any], expected: dict[str, Any]) -> dict[str, Any]:
    """Return a recording with its optional fields as ours says them if there is nothing to say."""
    whole = {"preemption": None, "chosen": "", **expected}
    if ours.get("preemption") and whole["preemption"]:
        whole["preemption"] = _like(ours["preemption"], whole["preemption"])
    return whole


def _like(ours: dict[str, Any], recorded: dict[str, Any]) -> dict[str, Any]:
    """Return a recorded preemption with the fields that were not recorded as ours has them."""
    like = {"candidates": None, "acceptable": None, **recorded}
    if not isinstance(like["candidates"], dict):
        return like
    for name, candidate in like["candidates"].items():
        own = (ours["candidates"] or {}).get(name, {})
        if "numPDBViolations" in own and "numPDBViolations" not in candidate:
            candidate["numPDBViolations"] = own["numPDBViolations"]
    return like
