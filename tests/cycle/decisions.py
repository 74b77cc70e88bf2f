"""Decisions as comparable values."""

from __future__ import annotations

from typing import Any

from mooring.framework.decision import Decision


def told(decision: Decision) -> dict[str, Any]:
    """Return everything in a decision, as comparable values."""
    statuses, totals, post = decision.statuses, decision.totals, decision.post_filter
    return {
        "outcome": decision.outcome,
        "node": decision.node_name,
        "message": decision.message,
        "seed": decision.seed,
        "pre_filter": decision.pre_filter,
        "statuses": None if statuses is None else dict(statuses.items()),
        "skipped": (decision.skipped_filter, decision.skipped_score),
        "feasible": None if decision.feasible is None else list(decision.feasible.names),
        "evaluated": decision.evaluated_nodes,
        "scores": {
            name: (scores.raw.tolist(), scores.normalized.tolist(), scores.weight)
            for name, scores in decision.scores.items()
        },
        "totals": None if totals is None else totals.tolist(),
        "unschedulable_plugins": decision.unschedulable_plugins,
        "errors": [status.message for status in decision.errors],
        "post_filter": post and (post.status, post.nominated_node, [v.key for v in post.victims]),
    }
