"""Explanations as plain data, for JSON and YAML: the shape that docs/schedule.md describes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from mooring.explain.amounts import diagnosis_text
from mooring.explain.causes import Cause, NearMiss
from mooring.explain.examination import Examination
from mooring.explain.filter_verdicts import PASSES
from mooring.explain.outcome_texts import message_of, why_chosen
from mooring.framework.decision import Decision
from mooring.framework.diagnosis import Detail, Diagnosis, keys_of
from mooring.framework.status import Status
from mooring.typing import Ints

#: Version of the format of `mooring explain -o json|yaml` and of the page's answers.
ANSWER_VERSION = 2


def answer_data(
    found: Examination, *, rules: str, unread: Sequence[str], current: str
) -> dict[str, Any]:
    """Return an examination of now, with what it rests on.

    `unread` names the kinds that could not be read, `current` the node of a pod that has one.
    """
    return {
        "version": ANSWER_VERSION,
        "rules": rules,
        "unread": list(unread),
        "currentNode": current,
        **explanation_data([found]),
    }


def explanation_data(attempts: Sequence[Examination]) -> dict[str, Any]:
    """Return everything about a pod's last attempt, and how the ones before it ended."""
    found = attempts[-1]
    decision, verdicts = found.decision, found.verdicts
    feasible = np.zeros(len(verdicts), dtype=np.bool_)
    if found.feasible is not None:
        feasible[found.feasible] = True
    return {
        "namespace": decision.pod.metadata.namespace,
        "name": decision.pod.metadata.name,
        "profile": decision.profile_name,
        **_attempt(found),
        "chosenNode": found.chosen,
        "why": why_chosen(found),
        "seed": decision.seed,
        "bestNodes": found.best,
        "preEnqueue": _refusal(decision.pre_enqueue),
        "preFilter": _refusal(decision.pre_filter),
        "preFilterNodes": (
            None if decision.pre_filter_nodes is None else sorted(decision.pre_filter_nodes)
        ),
        "nodes": verdicts.names,
        "asked": verdicts.asked.tolist(),
        "feasible": feasible.tolist(),
        "statuses": [status_data(status) for status in verdicts.statuses],
        "filterPlugins": [
            {
                "name": name,
                "verdicts": [None if code == PASSES else code for code in codes.tolist()],
            }
            for name, codes in verdicts.codes.items()
        ],
        "skippedFilterPlugins": sorted(decision.skipped_filter or ()),
        "scorePlugins": [
            {
                "name": name,
                "weight": scores.weight,
                "raw": _per_node(found, scores.raw),
                "normalized": (
                    _per_node(found, scores.normalized)
                    if scores.is_normalized
                    else [None] * len(verdicts)
                ),
            }
            for name, scores in found.scores.items()
        ],
        "skippedScorePlugins": sorted(decision.skipped_score or ()),
        "totals": None if decision.totals is None else _per_node(found, decision.totals),
        "whyNot": [_cause(cause) for cause in found.causes],
        "nearest": [_near_miss(miss) for miss in found.near_misses],
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


def _per_node(found: Examination, values: Ints) -> list[int | None]:
    """Return an entry per node from values of the feasible nodes; None for the others."""
    spread: list[int | None] = [None] * len(found.verdicts)
    if found.feasible is not None:
        for row, value in zip(found.feasible.tolist(), values.tolist(), strict=True):
            spread[row] = value
    return spread


def _cause(cause: Cause) -> dict[str, Any]:
    return {
        "nodes": cause.nodes,
        **status_data(cause.status),
        "example": {"node": cause.example, **_diagnosis(cause.diagnosis)},
    }


def _diagnosis(diagnosis: Diagnosis) -> dict[str, Any]:
    if diagnosis is None or isinstance(diagnosis, str | Detail):
        return {
            "text": diagnosis_text(diagnosis),
            "short": [],
            "keys": list(keys_of(diagnosis)),
        }
    short = [
        {
            "resource": one.resource,
            "asked": one.asked,
            "free": one.free,
            "missing": one.missing,
        }
        for one in diagnosis
    ]
    return {"text": "", "short": short, "keys": []}


def _near_miss(miss: NearMiss) -> dict[str, Any]:
    return {
        "nodes": miss.nodes,
        **status_data(miss.status),
        "example": miss.example,
        "missing": dict(miss.missing),
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
