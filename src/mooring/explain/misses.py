"""Nearest misses: nodes that only one plugin refuses."""

from __future__ import annotations

from collections.abc import Iterable

import msgspec

from mooring.explain.examination import NodeVerdict
from mooring.framework.status import Status


class Miss(msgspec.Struct, frozen=True):
    """One node and the only plugin that refuses it."""

    node: str
    status: Status


def nearest_misses(nodes: Iterable[NodeVerdict]) -> list[Miss]:
    """Return the nodes that exactly one plugin refuses.

    Nodes that PreFilter left out are not included, because no Filter plugin ran on them.
    """
    return [
        Miss(verdict.name, verdict.refusals[0])
        for verdict in nodes
        if verdict.asked and len(verdict.refusals) == 1 and verdict.refusals[0].is_rejected
    ]
