"""The messages of a failed attempt, worded exactly as kube-scheduler's.

# kube-scheduler: framework/types.go (FitError), schedule_one.go (truncateMessage)
"""

from __future__ import annotations

from collections import Counter

from mooring.framework.decision import NodeStatuses

NO_NODES_AVAILABLE = "no nodes available to schedule pods"

#: Longest note of an Event, in bytes.
NOTE_LENGTH_LIMIT = 1024
_CUT = " ..."


def fit_error(
    statuses: NodeStatuses,
    pre_filter_message: str = "",
    post_filter_message: str = "",
) -> str:
    """Return why no node fits: counts of reasons, sorted as text ("10 …" comes before "2 …")."""
    if pre_filter_message:
        message = f"0/{len(statuses)} nodes are available: {pre_filter_message}."
    else:
        message = statuses.describe()
    if post_filter_message:
        message += f" {post_filter_message}"
    return message


def refused_on_node(reasons: tuple[str, ...]) -> str:
    """Return why the chosen node was rejected at Reserve or Permit."""
    counted = sorted(f"{count} {reason}" for reason, count in Counter(reasons).items())
    message = "0/1 nodes are available:"
    return f"{message} {', '.join(counted)}." if counted else message


def event_note(message: str) -> str:
    """Cut a message to the limit of an Event's note; the pod's condition has the full text."""
    data = message.encode()
    if len(data) <= NOTE_LENGTH_LIMIT:
        return message
    return data[: NOTE_LENGTH_LIMIT - len(_CUT)].decode(errors="ignore") + _CUT
