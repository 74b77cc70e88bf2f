"""AttemptDetails: what the plugins said of every node in one attempt, as the decision held it.

The arrays are those of the decision, not copies, wherever nothing can change them later: cached
answers are shared by the attempts of identical pods. Nothing here refers to a pod, and of the
snapshot only what exists once anyway.
"""

from __future__ import annotations

import sys
from collections.abc import Container, Iterator, Mapping, Sequence

import msgspec
import numpy as np
from msgspec.structs import replace

from mooring.api import ObjectMeta, Pod, PodSchedulingGroup, PodSpec, PodStatus
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
from mooring.typing import Ints

#: Bytes of an AttemptDetails, its dictionary and its list of parts: about 700 are measured.
DETAILS_SIZE = 800
#: Bytes of a Status and its tuple of reasons without the texts, and of a NodeStatuses.
_STATUS_SIZE = 150
_STATUSES_SIZE = 600
#: Bytes of the object that numpy has for an array.
_ARRAY_SIZE = 112

#: What attempts may share: the names of the nodes, refusals, rows, totals, a plugin's scores.
Part = tuple[str, ...] | NodeStatuses | Rows | Ints | PluginScores


class AttemptDetails(msgspec.Struct):
    """The answers of the plugins in one attempt; arrays have an entry per node."""

    #: The names of all nodes, by row.
    names: tuple[str, ...] = ()
    #: The first refusal of each node; None if Filter was not reached.
    statuses: NodeStatuses | None = None
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

    def parts(self) -> Iterator[Part]:
        """Yield what attempts may share."""
        if self.statuses is not None:
            yield self.names
            yield self.statuses
        if self.feasible is not None:
            yield self.feasible
        if self.totals is not None:
            yield self.totals
        yield from self.scores.values()


def details_of(decision: Decision, known: Container[int] = ()) -> AttemptDetails:
    """Return what is to be kept of a decision besides its record.

    `known` has the identities of scores that are kept already.
    """
    details = AttemptDetails(
        statuses=decision.statuses,
        totals=decision.totals,
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
    if decision.statuses is not None:
        details.names = decision.statuses.names
    if decision.feasible is not None:
        details.feasible = decision.feasible.rows
    if decision.scores:
        scores = decision.scores
        replaced = {
            name: _copied(one)
            for name, one in scores.items()
            if id(one) not in known and not _is_lasting(one)
        }
        details.scores = {**scores, **replaced} if replaced else scores
    return details


def _is_lasting(scores: PluginScores) -> bool:
    """Return whether nobody writes to the arrays."""
    # A plugin may write to its array in the next cycle. A read-only view can show a column that
    # the cache writes to.
    raw, normalized = scores.raw, scores.normalized
    if raw.flags.writeable or raw.base is not None:
        return False
    return normalized is raw or not (normalized.flags.writeable or normalized.base is not None)


def _copied(scores: PluginScores) -> PluginScores:
    raw = scores.raw.copy()
    normalized = raw if scores.normalized is scores.raw else scores.normalized.copy()
    return replace(scores, raw=raw, normalized=normalized)


def size_of_part(part: Part) -> int:
    """Return the bytes of something that attempts may share."""
    if isinstance(part, np.ndarray):
        return _ARRAY_SIZE + part.nbytes
    if isinstance(part, PluginScores):
        size = _ARRAY_SIZE + part.raw.nbytes
        return size if part.normalized is part.raw else size + _ARRAY_SIZE + part.normalized.nbytes
    if isinstance(part, NodeStatuses):
        codes, statuses = part.columns
        texts = sum(
            _STATUS_SIZE + sum(map(len, status.reasons)) + len(status.traceback)
            for status in statuses
        )
        return _STATUSES_SIZE + codes.nbytes + texts
    return sys.getsizeof(part)


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
    if details.statuses is not None:
        passed = details.statuses.passing
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
        spec=PodSpec(scheduler_name=record.profile, scheduling_group=group_of(record.pod_group)),
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


def group_of(key: str) -> PodSchedulingGroup | None:
    """Return spec.schedulingGroup of a pod whose group is "namespace/name"; None for ""."""
    return PodSchedulingGroup(pod_group_name=key.partition("/")[2]) if key else None


def _named(namespace: str, name: str, uid: str = "") -> Pod:
    return Pod(metadata=ObjectMeta(namespace=namespace, name=name, uid=uid))


def _verdicts(details: AttemptDetails) -> FilterVerdicts:
    verdicts = FilterVerdicts(details.names)
    if details.statuses is None:
        return verdicts
    codes, statuses = details.statuses.columns
    verdicts.asked = (codes >= 0) | (codes == NodeStatuses.PASSES)
    for code, status in enumerate(statuses):
        rows = np.flatnonzero(codes == code)
        if len(rows):
            if status.plugin not in verdicts.codes:
                verdicts.add_plugin(status.plugin)
            verdicts.refuse(status.plugin, status, rows)
    return verdicts
