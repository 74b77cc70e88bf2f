"""Comparisons of a recorded attempt with the decision that a replay takes."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import Enum

import msgspec

from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.recording import weighted_points
from mooring.framework.decision import Decision, Outcome
from mooring.journal.entries import AttemptEnds
from mooring.shadow.comparison import Verdict, compare
from mooring.virtual.comparing_scheduler import weighted_gains


class AttemptVerdict(Enum):
    """How a decision of a replay compares with the recorded one."""

    #: The same node, or pending as before.
    SAME = "same"
    #: Another node, and the recorded one has the same total.
    TIED = "tied"
    ANOTHER_NODE = "another node"
    PENDING_INSTEAD = "pending instead"
    SCHEDULED_INSTEAD = "scheduled instead"
    #: They differ, and a plugin lacks answers that the journal leaves out.
    NOT_COMPARABLE = "not comparable"


class AttemptComparison(msgspec.Struct, frozen=True):
    """One attempt: what was decided then, and what a replay decides."""

    #: "namespace/name".
    pod: str
    #: The number of the pod's attempt, and when it began.
    attempt: int
    time: float
    verdict: AttemptVerdict
    #: The node that was chosen then; "" if the pod stayed pending.
    recorded: str = ""
    #: The node that is chosen now; "" if the pod stays pending.
    node: str = ""
    #: The plugin that makes the difference.
    plugin: str = ""
    #: By how many weighted points it has changed the lead of the new node over the recorded one.
    points: int = 0
    #: The refusal, or why the pod is pending.
    reason: str = ""


def verdict_of(ends: AttemptEnds, decision: Decision) -> AttemptVerdict:
    """Compare the outcome of a decision with the recorded one."""
    recorded, node = ends.record.node, decision.node_name
    if recorded == node:
        return AttemptVerdict.SAME
    if not node:
        return AttemptVerdict.PENDING_INSTEAD
    if not recorded:
        return AttemptVerdict.SCHEDULED_INSTEAD
    return AttemptVerdict.TIED if recorded in decision.best else AttemptVerdict.ANOTHER_NODE


def compare_attempt(
    ends: AttemptEnds, decision: Decision, examined: Decision, before: Decision | None
) -> AttemptComparison:
    """Compare a decision with the recorded one, and find the plugin that makes the difference.

    `examined` is the same decision with all nodes filtered and scored, `before` that of the
    recorded rules; None if they are not known.
    """
    record, verdict = ends.record, verdict_of(ends, decision)
    plugin, points, reason = "", 0, ""
    if verdict is AttemptVerdict.SCHEDULED_INSTEAD:
        plugin, reason = _refused_before(before, decision.node_name)
        plugin = plugin or next(iter(record.refusing_plugins), "")
        reason = reason or record.message
    elif verdict is AttemptVerdict.PENDING_INSTEAD:
        found = compare(examined, record.node)
        plugin, reason = found.plugin, found.reason or decision.message
        if decision.outcome is Outcome.ERROR:
            plugin = next((fault.plugin for fault in decision.errors), "")
            reason = decision.message
    elif verdict is not AttemptVerdict.SAME:
        plugin, points, reason = _why_another(examined, before, record.node, decision.node_name)
    return AttemptComparison(
        record.key,
        record.attempt,
        record.time,
        verdict,
        record.node,
        decision.node_name,
        plugin,
        points,
        reason,
    )


def incomparable(
    record: AttemptRecord, node_name: str, lacking: Collection[str]
) -> AttemptComparison:
    """Return the comparison of a decision that differs while plugins lack answers."""
    return AttemptComparison(
        record.key,
        record.attempt,
        record.time,
        AttemptVerdict.NOT_COMPARABLE,
        record.node,
        node_name,
        ", ".join(sorted(filter(None, lacking))),
    )


def _refused_before(before: Decision | None, node_name: str) -> tuple[str, str]:
    """Return the plugin that refused a node under the recorded rules, and its refusal."""
    if before is None:
        return "", ""
    status = before.pre_filter
    if status is None and before.statuses is not None:
        status = before.statuses.get(node_name)
    return ("", "") if status is None else (status.plugin, status.message)


def _why_another(
    examined: Decision, before: Decision | None, recorded: str, node_name: str
) -> tuple[str, int, str]:
    """Return why a node is preferred to the recorded one: plugin, points, refusal."""
    found = compare(examined, recorded)
    if found.verdict is Verdict.REFUSED:
        return found.plugin, 0, found.reason
    plugin, reason = _refused_before(before, node_name)
    if plugin:
        # The recorded rules did not have the choice.
        return plugin, 0, reason
    leads = weighted_gains(examined, recorded, node_name)
    earlier = {} if before is None else weighted_gains(before, recorded, node_name)
    names = dict.fromkeys((*leads, *earlier))
    changes = {name: leads.get(name, 0) - earlier.get(name, 0) for name in names}
    if not any(changes.values()):
        return "", 0, ""
    # The change that favours the new node most.
    plugin = max(changes, key=changes.__getitem__)
    return plugin, changes[plugin], ""


class Deviation(msgspec.Struct, frozen=True):
    """An attempt whose decision under the recorded rules is not the recorded one."""

    pod: str
    attempt: int
    time: float
    #: What differs, the most telling first: "node", "message", "totals", ...
    what: str
    recorded: str
    found: str
    #: The plugin that makes the difference, as far as that can be told.
    plugin: str = ""


#: What `find_deviation` compares, in this order.
_COMPARED = (
    "node",
    "outcome",
    "message",
    "refusing plugins",
    "nominated node",
    "victims",
    "evaluated nodes",
    "feasible nodes",
    "totals",
)


def find_deviation(
    ends: AttemptEnds, decision: Decision, totals: int
) -> tuple[str, str, str] | None:
    """Return what differs, as recorded and as found; None if the decision is the recorded one.

    `totals` is the checksum of the decision's totals.
    """
    record, result = ends.record, decision.post_filter
    nominated = "" if result is None else result.nominated_node or ""
    victims = () if result is None else tuple(pod.key for pod in result.victims)
    refusing = decision.unschedulable_plugins | decision.pending_plugins
    recorded = (
        record.node,
        record.outcome,
        record.message,
        record.refusing_plugins,
        record.nominated_node,
        record.victims,
        record.evaluated,
        record.feasible,
        ends.totals,
    )
    found = (
        decision.node_name,
        decision.outcome.value,
        decision.message,
        tuple(sorted(refusing)) if refusing else (),
        nominated,
        victims,
        decision.evaluated_nodes,
        0 if decision.feasible is None else len(decision.feasible),
        totals,
    )
    if recorded == found:
        return None
    return next(
        (what, _text(then), _text(now))
        for what, then, now in zip(_COMPARED, recorded, found, strict=True)
        if then != now
    )


def _text(value: object) -> str:
    return ", ".join(map(str, value)) if isinstance(value, tuple) else str(value)


def deviating_plugin(ends: AttemptEnds, decision: Decision, examined: Decision) -> str:
    """Return the plugin that answered differently than recorded; "" if that cannot be told.

    A journal holds no answers of plugins, so this goes by what it does hold: which plugins refused,
    and the points of the chosen node.
    """
    record = ends.record
    refusing = decision.unschedulable_plugins | decision.pending_plugins
    changed = refusing.symmetric_difference(record.refusing_plugins)
    if changed:
        return min(changed)
    if record.node:
        if record.node != decision.node_name:
            plugin = compare(examined, record.node).plugin
            if plugin:
                return plugin
        return _differing_points(ends.points, examined, record.node)
    return next((fault.plugin for fault in decision.errors), "")


def _differing_points(recorded: Mapping[str, int], examined: Decision, node_name: str) -> str:
    """Return the plugin whose weighted points of a node differ most from the recorded ones."""
    found = weighted_points(examined, node_name)
    if not recorded or not found:
        return ""
    differences = {
        name: abs(recorded.get(name, 0) - found.get(name, 0))
        for name in dict.fromkeys((*recorded, *found))
    }
    plugin = max(differences, key=differences.__getitem__)
    return plugin if differences[plugin] else ""
