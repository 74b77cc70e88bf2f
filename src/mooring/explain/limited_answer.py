"""The part of an explanation for a user who may get the pod and may not list nodes.

Such a user can create pods with one guess each, for example about the value of a node's label, and
read what becomes of them. The limit is therefore what kube-scheduler tells every user of a pod: its
condition and its Events count the nodes by reason. To these counts the answer adds the keys of
labels and taints. Answers per node, examples, amounts, scores and the pods that preemption chose
are left out, and so is every field that is not listed here.

Searching texts for values was rejected: a plugin may write them in any form.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooring.framework.status import Code
from mooring.framework.tried_groups import ALL_NODES

#: The fields that stay as they are.
_KEPT = (
    "version",
    "time",
    "state",
    "exists",
    "currentNode",
    "askedNow",
    "fromJournal",
    "recorded",
    "namespace",
    "name",
    "profile",
    "attempt",
    "outcome",
    "node",
    "message",
    "chosenNode",
    "preEnqueue",
    "preFilter",
    "queue",
)
#: The fields that readers of the format need, without their contents.
_EMPTIED: Mapping[str, Any] = {
    "why": "",
    "seed": 0,
    "bestNodes": (),
    "preFilterNodes": None,
    "nodes": (),
    "asked": (),
    "feasible": (),
    "statuses": (),
    "filterPlugins": (),
    "skippedFilterPlugins": (),
    "scorePlugins": (),
    "skippedScorePlugins": (),
    "totals": None,
    "nearest": (),
    "errors": (),
}
#: The fields of a record that stay.
_OF_RECORD = frozenset(
    {
        "sequence",
        "time",
        "namespace",
        "name",
        "uid",
        "profile",
        "attempt",
        "outcome",
        "node",
        "message",
        "nominatedNode",
        "podGroup",
        "compositePodGroup",
        "bound",
        "bindingError",
    }
)
#: The results of a group that name neither nodes nor placements.
_PLAIN_RESULTS = frozenset({"fits", "not tried"})
_DOES_NOT_FIT = "does not fit"
_JOURNAL_PROBLEM = "the attempt could not be replayed as it was recorded"

Data = Mapping[str, Any]


def limited_answer(data: Data) -> dict[str, Any]:
    """Return the part of `LiveExplanation.data` that does not need the right to list nodes.

    Names of nodes and pods that stay are hidden by `mooring.explain.redaction`.
    """
    record = data["record"]
    return {
        **{field: data[field] for field in _KEPT},
        **_EMPTIED,
        "limited": True,
        "journalProblem": _JOURNAL_PROBLEM if data["journalProblem"] else "",
        "postFilter": _post_filter(data["postFilter"]),
        "whyNot": _counted_reasons(data),
        "record": None if record is None else _record(record),
        "earlierAttempts": [_record(one) for one in data["earlierAttempts"]],
        "tree": [_group(one) for one in data["tree"]],
        "extendersNotAsked": [
            f"extender {number}" for number, _ in enumerate(data["extendersNotAsked"], 1)
        ],
    }


def _counted_reasons(data: Data) -> list[dict[str, Any]]:
    """Return the reasons that the pod's message counts, with the keys that they are about.

    The message counts each reason over all nodes; which reasons one node has is not in it.
    """
    counts: dict[str, int] = {}
    plugins: dict[str, str] = {}
    keys: dict[str, list[str]] = {}
    for cause in data["whyNot"]:
        for reason in cause["reasons"]:
            counts[reason] = counts.get(reason, 0) + cause["nodes"]
            plugins.setdefault(reason, cause["plugin"])
            keys.setdefault(reason, []).extend(cause["example"]["keys"])
    message = data["message"]
    return [
        {
            "nodes": count,
            "plugin": plugins[reason],
            "code": Code.UNSCHEDULABLE.label,
            "reasons": [reason],
            "example": {
                "node": "",
                "text": "",
                "short": [],
                "keys": list(dict.fromkeys(keys[reason])),
            },
        }
        for reason, count in sorted(counts.items(), key=lambda counted: (-counted[1], counted[0]))
        if any(f" {count} {reason}{end}" in message for end in ",.")
    ]


def _post_filter(found: Data | None) -> dict[str, Any] | None:
    return None if found is None else {**found, "victims": [], "candidates": []}


def _record(record: Data) -> dict[str, Any]:
    return {field: value for field, value in record.items() if field in _OF_RECORD}


def _group(line: Data) -> dict[str, Any]:
    """Return a group's line without its placement, which is named by the value of a label."""
    return {
        **line,
        "placement": ALL_NODES if line["placement"] == ALL_NODES else "-",
        "result": line["result"] if line["result"] in _PLAIN_RESULTS else _DOES_NOT_FIT,
    }
