"""LiveExplanation: what a running scheduler says of one pod, as data and as text."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import msgspec

from mooring.api import Pod
from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.data import explanation_data
from mooring.explain.examination import Examination
from mooring.explain.group_explanation import tree_table
from mooring.explain.outcome_texts import message_of
from mooring.explain.queue_text import duration_text, queue_text
from mooring.explain.tables import wrap
from mooring.explain.text import explanation_text
from mooring.framework.tried_groups import GroupLine
from mooring.queue.queue_places import QueuePlace

#: Version of the format of the data.
VERSION = 2

_LIMITED = (
    "only the message's own counts, and keys of labels and taints: amounts, values and what each "
    "node lacks are for users who may list nodes"
)


class LiveExplanation(msgspec.Struct, kw_only=True):
    """A pod's attempt explained, with its place in the queue and its other attempts."""

    #: When the question was answered, in seconds since the epoch.
    time: float
    #: What the plugins said: in the attempt of `record`, or now.
    found: Examination
    #: The attempt that is explained; None if no attempt was recorded.
    record: AttemptRecord | None = None
    #: Whether the plugins were asked now, because the answers in the attempt are not known.
    asked_now: bool = False
    #: Whether the attempt was replayed from the journal.
    from_journal: bool = False
    #: Why the journal gave no answer, or how the replay differs from the record; "" if neither.
    journal_problem: str = ""
    #: The other attempts that are known, the oldest first.
    others: Sequence[AttemptRecord] = ()
    #: Where the pod is in the queue; None if it does not wait.
    queue: QueuePlace | None = None
    #: The node that the pod has.
    current_node: str = ""
    #: The pod as it is now; None if it is gone, or not known here.
    pod: Pod | None = None
    #: Whether the pod still exists.
    exists: bool = True
    #: The groups of the tree of the pod's group: in this attempt if it was replayed from the
    #: journal, otherwise in the tree's last attempt.
    tree: Sequence[GroupLine] = ()
    #: The extenders, which are not asked for an explanation.
    extenders: Sequence[str] = ()
    #: Whether it is the part that a user sees who may not list nodes (`limited_answer`).
    limited: bool = False

    @property
    def state(self) -> str:
        """Return how the pod is now, in a few words."""
        if not self.exists:
            return "is gone"
        return f"is on {self.current_node}" if self.current_node else "is pending"

    @property
    def pod_words(self) -> str:
        """Return every word that the pod's owner wrote into the pod: all but its status."""
        pods = [self.found.decision.pod, *(() if self.pod is None else (self.pod,))]
        return msgspec.json.encode([(pod.metadata, pod.spec) for pod in pods]).decode()

    def data(self) -> dict[str, Any]:
        """Return the explanation for JSON and YAML (docs/explain.md)."""
        return {
            "version": VERSION,
            "time": self.time,
            "state": self.state,
            "exists": self.exists,
            "currentNode": self.current_node,
            "askedNow": self.asked_now,
            "fromJournal": self.from_journal,
            "journalProblem": self.journal_problem,
            "limited": self.limited,
            "recorded": self.found.recorded,
            **explanation_data([self.found]),
            "record": _plain(self.record),
            "queue": _plain(self.queue),
            "tree": _plain(self.tree),
            "earlierAttempts": [_plain(record) for record in self.others],
            "extendersNotAsked": list(self.extenders),
        }

    def lines(self, width: int | None = None, *, nodes: int | None = None) -> list[str]:
        """Return the explanation as text; `nodes` is how many nodes a table shows."""
        queue = "" if self.queue is None else queue_text(self.queue, self.time)
        lines = explanation_text(
            [self.found], width, nodes=nodes, current=self.current_node, queue=queue
        )
        lines[0] = self._heading()
        told = "" if self.record is None else self.record.message
        if self.record is not None and told not in ("", message_of(self.found.decision)):
            # Asked now, or in a cycle that did not decide, the plugins may say something else.
            text = f"  attempt {self.record.attempt}: {told}"
            lines[1:1] = wrap(text, width, indent="    ")
        if self.limited:
            lines[1:1] = wrap(f"  {_LIMITED}", width, indent="    ")
        if self.journal_problem:
            lines[1:1] = wrap(f"  the journal: {self.journal_problem}", width, indent="    ")
        if self.extenders and not self.from_journal:
            names = ", ".join(self.extenders)
            lines.insert(1, f"  extenders are not asked for an explanation: {names}")
        if self.tree:
            top = f"{self.found.decision.pod.metadata.namespace}/{self.tree[0].name}"
            which = "This" if self.from_journal else "The last"
            lines += ["", f"{which} attempt of composite pod group {top}:"]
            lines += tree_table(self.tree)
        return lines

    def _heading(self) -> str:
        decision, record = self.found.decision, self.record
        if record is None:
            when = "no attempt is known"
        else:
            ago = duration_text(self.time - record.time)
            when = f"attempt {record.attempt}, {ago} ago"
        asked = "; asked now" if self.asked_now else ""
        asked = "; from the journal" if self.from_journal else asked
        return f"{decision.pod.key} {self.state}: {when}, profile {decision.profile_name}{asked}"


def _plain(value: Any) -> Any:
    return msgspec.to_builtins(value)
