"""Explanations as plain data, for JSON and YAML: the shape that docs/schedule.md describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mooring.explain.examination import Examination, NodeVerdict
from mooring.explain.misses import nearest_misses
from mooring.explain.outcome_texts import message_of, why_chosen
from mooring.framework.decision import Decision
from mooring.framework.status import Status


def explanation_data(attempts: Sequence[Examination]) -> dict[str, Any]:
    """Return everything about a pod's last attempt, and how the ones before it ended."""
    found = attempts[-1]
    decision = found.decision
    return {
        "namespace": decision.pod.metadata.namespace,
        "name": decision.pod.metadata.name,
        "profile": decision.profile_name,
        **_attempt(found),
        "chosenNode": found.chosen,
        "why": why_chosen(found),
        "seed": decision.seed,
        "bestNodes": decision.best,
        "preEnqueue": _refusal(decision.pre_enqueue),
        "preFilter": _refusal(decision.pre_filter),
        "preFilterNodes": (
            None if decision.pre_filter_nodes is None else sorted(decision.pre_filter_nodes)
        ),
        "filterPlugins": list(found.filters),
        "skippedFilterPlugins": sorted(decision.skipped_filter or ()),
        "scorePlugins": [
            {"name": name, "weight": weight} for name, weight in found.weights.items()
        ],
        "skippedScorePlugins": sorted(decision.skipped_score or ()),
        "nodes": [_node(verdict) for verdict in found.nodes],
        "nearestMisses": [
            {"node": miss.node, **status_data(miss.status)} for miss in nearest_misses(found.nodes)
        ],
        "errors": [error_data(status) for status in (*decision.errors, *found.faults)],
        "earlierAttempts": [_attempt(earlier) for earlier in attempts[:-1]],
    }


def status_data(status: Status) -> dict[str, Any]:
    """Return a plugin's refusal."""
    return {
        "plugin": status.plugin,
        "code": status.code.label,
        "reasons": list(status.reasons),
    }


def error_data(status: Status) -> dict[str, Any]:
    """Return a plugin's fault."""
    return {
        "plugin": status.plugin,
        "message": status.message,
        "traceback": status.traceback,
    }


def _refusal(status: Status | None) -> dict[str, Any] | None:
    return None if status is None else status_data(status)


def _attempt(found: Examination) -> dict[str, Any]:
    decision = found.decision
    return {
        "attempt": found.attempt,
        "outcome": decision.outcome.value,
        "node": decision.node_name,
        "message": message_of(decision),
        "postFilter": _post_filter(decision),
    }


def _post_filter(decision: Decision) -> dict[str, Any] | None:
    result = decision.post_filter
    if result is None:
        return None
    return {
        **status_data(result.status),
        "nominatedNode": result.nominated_node or "",
        "victims": [pod.key for pod in result.victims],
        "candidates": [
            {
                "node": candidate.node_name,
                "victims": [pod.key for pod in candidate.victims],
                "pdbViolations": candidate.pdb_violations,
            }
            for candidate in result.candidates
        ],
    }


def _node(verdict: NodeVerdict) -> dict[str, Any]:
    return {
        "name": verdict.name,
        "asked": verdict.asked,
        "feasible": verdict.feasible,
        "refusals": [status_data(status) for status in verdict.refusals],
        "scores": {
            name: {"raw": score.raw, "normalized": score.normalized}
            for name, score in verdict.scores.items()
        },
        "total": verdict.total,
    }
