"""AttemptDetails: what the plugins said of every node in one attempt, as the decision held it.

The arrays are those of the decision, not copies, wherever nothing can change them later: cached
answers are shared by the attempts of identical pods. Nothing here refers to the snapshot or to a
pod.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import msgspec
import numpy as np

from mooring.api import ObjectMeta, Pod, PodSpec, PodStatus
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.causes import Cause
from mooring.explain.examination import Examination
from mooring.explain.filter_verdicts import FilterVerdicts
from mooring.framework.decision import (
    Decision,
    NodeStatuses,
    Outcome,
    PluginScores,
    PostFilterResult,
)
from mooring.framework.nodes import Rows
from mooring.framework.status import Status
from mooring.typing import Codes, Ints

#: Bytes of an AttemptDetails and its dictionaries without the arrays: about 500 are measured.
DETAILS_SIZE = 600
#: Bytes of a Status and its tuple of reasons without the texts.
_STATUS_SIZE = 150


class AttemptDetails(msgspec.Struct):
    """The answers of the plugins in one attempt; arrays have an entry per node."""

    #: The names of all nodes, by row.
    names: tuple[str, ...] = ()
    #: A code per node into `statuses` (`NodeStatuses.columns`); None if Filter was not reached.
    codes: Codes | None = None
    statuses: Sequence[Status] = ()
    #: The rows that passed, in the order of the scores; None for all nodes.
    feasible: Rows | None = None
    scores: Mapping[str, PluginScores] = {}
    totals: Ints | None = None
    seed: int = 0
    pre_filter: Status | None = None
    pre_filter_nodes: frozenset[str] | None = None
    skipped_filter: frozenset[str] | None = None
    skipped_score: frozenset[str] | None = None
    #: What PostFilter said, without pods: those are in the record.
    post_filter: Status | None = None
    #: The node that the pod was nominated to when it was tried.
    was_nominated: str = ""
    errors: Sequence[Status] = ()

    def parts(self) -> Iterator[Any]:
        """Yield the arrays and sequences that attempts may share."""
        yield self.names
        if self.codes is not None:
            yield self.codes
            yield self.statuses
        if self.feasible is not None:
            yield self.feasible
        if self.totals is not None:
            yield self.totals
        for scores in self.scores.values():
            yield scores.raw
            if scores.normalized is not scores.raw:
                yield scores.normalized


def details_of(decision: Decision) -> AttemptDetails:
    """Return what is to be kept of a decision besides its record."""
    details = AttemptDetails(
        seed=decision.seed,
        pre_filter=decision.pre_filter,
        pre_filter_nodes=decision.pre_filter_nodes,
        skipped_filter=decision.skipped_filter,
        skipped_score=decision.skipped_score,
        was_nominated=decision.pod.status.nominated_node_name,
        errors=decision.errors,
    )
    if decision.post_filter is not None:
        details.post_filter = decision.post_filter.status
    statuses = decision.statuses
    if statuses is not None:
        details.names = statuses.names
        details.codes, details.statuses = statuses.columns
    if decision.feasible is not None:
        details.feasible = decision.feasible.rows
    if decision.totals is not None:
        details.totals = decision.totals
        details.scores = {name: _lasting(scores) for name, scores in decision.scores.items()}
    return details


def _lasting(scores: PluginScores) -> PluginScores:
    """Return scores whose arrays nobody writes to."""
    raw, normalized = scores.raw, scores.normalized
    if _is_lasting(raw) and _is_lasting(normalized):
        return scores
    kept = raw if _is_lasting(raw) else raw.copy()
    if normalized is raw:
        return PluginScores(kept, kept, scores.weight)
    return PluginScores(
        kept, normalized if _is_lasting(normalized) else normalized.copy(), scores.weight
    )


def _is_lasting(scores: Ints) -> bool:
    # A plugin may write to its array in the next cycle. A read-only view can show a column that
    # the cache writes to.
    return not scores.flags.writeable and scores.base is None


def size_of_part(part: Any) -> int:
    """Return the bytes of an array or sequence of `AttemptDetails.parts`."""
    if isinstance(part, np.ndarray):
        return sys.getsizeof(part) if part.base is None else part.nbytes
    size = sys.getsizeof(part)
    if part and isinstance(part[0], Status):
        size += sum(
            _STATUS_SIZE + sum(map(sys.getsizeof, (*status.reasons, status.traceback)))
            for status in part
        )
    return size


def recorded_examination(record: AttemptRecord, details: AttemptDetails) -> Examination:
    """Return an attempt as it was recorded: with the first refusal of each node, and all scores."""
    decision = recorded_decision(record, details)
    verdicts = _verdicts(details)
    found = Examination(
        decision, record.attempt, chosen=record.node, verdicts=verdicts, recorded=True
    )
    found.causes = [
        Cause(status, len(rows), verdicts.names[rows[0]])
        for status, rows in verdicts.groups(verdicts.first)
    ]
    if details.codes is not None:
        passed = np.flatnonzero(details.codes == NodeStatuses.PASSES)
        found.feasible = passed if details.feasible is None else details.feasible
    found.scores = details.scores
    return found


def recorded_decision(record: AttemptRecord, details: AttemptDetails | None) -> Decision:
    """Return the decision of an attempt, without nodes and pods other than by name."""
    details = AttemptDetails() if details is None else details
    result: PostFilterResult | None = None
    if details.post_filter is not None or record.nominated_node:
        result = PostFilterResult(
            details.post_filter or Status.success(),
            record.nominated_node or None,
            tuple(_named(*key.split("/", 1)) for key in record.victims),
        )
    pod = _named(record.namespace, record.name, record.uid)
    pod = msgspec.structs.replace(
        pod,
        spec=PodSpec(scheduler_name=record.profile),
        status=PodStatus(nominated_node_name=details.was_nominated),
    )
    return Decision(
        pod,
        record.profile,
        Outcome(record.outcome),
        seed=details.seed,
        num_nodes=len(details.names),
        pre_filter=details.pre_filter,
        pre_filter_nodes=details.pre_filter_nodes,
        skipped_filter=details.skipped_filter,
        skipped_score=details.skipped_score,
        evaluated_nodes=record.evaluated,
        totals=details.totals,
        node_name=record.node if record.outcome == Outcome.SCHEDULED.value else "",
        unschedulable_plugins=frozenset(record.refusing_plugins),
        post_filter=result,
        message=record.message,
        errors=details.errors,
    )


def _named(namespace: str, name: str, uid: str = "") -> Pod:
    return Pod(metadata=ObjectMeta(namespace=namespace, name=name, uid=uid))


def _verdicts(details: AttemptDetails) -> FilterVerdicts:
    verdicts = FilterVerdicts(details.names)
    if details.codes is None:
        return verdicts
    codes = details.codes
    verdicts.asked = (codes >= 0) | (codes == NodeStatuses.PASSES)
    for code, status in enumerate(details.statuses):
        rows = np.flatnonzero(codes == code)
        if len(rows):
            if status.plugin not in verdicts.codes:
                verdicts.add_plugin(status.plugin)
            verdicts.refuse(status.plugin, status, rows)
    return verdicts
