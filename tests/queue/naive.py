"""The simplest possible queue, as a reference: one list that is searched completely each time."""

from __future__ import annotations

import math
from typing import Any

from mooring.api import Pod
from mooring.framework.cluster_events import ClusterEvent

#: Whether a plugin that refused a pod wants it tried again: wakes(plugin, pod, event, old, new).
Wakes = Any

ACTIVATE = "activate"
TIMEOUT = "timeout"


class Record:
    """A pod and its state in the queue."""

    def __init__(self, pod: Pod, now: float, sequence: int) -> None:
        self.pod = pod
        self.place = "Active"
        self.since = (now, sequence)
        self.looked_at = now
        self.attempts = 0
        self.refusals = 0
        self.errors = 0
        self.expires = -math.inf
        self.refused_by: frozenset[str] = frozenset()
        self.pending: frozenset[str] = frozenset()
        self.gate = ""
        self.missed: list[tuple[ClusterEvent | str, Any, Any]] = []


class NaiveQueue:
    """A queue that decides as kube-scheduler's does with its default configuration."""

    def __init__(self, gates: dict[str, Any], wakes: Wakes, now: float) -> None:
        self.gates = gates
        self.wakes = wakes
        self.records: list[Record] = []
        self.sequence = 0
        self.next_look = now + 30

    def find(self, name: str) -> Record | None:
        for record in self.records:
            if record.pod.name == name and record.place != "Flying":
                return record
        return None

    def flying(self) -> list[Record]:
        return [record for record in self.records if record.place == "Flying"]

    def add(self, pod: Pod, now: float) -> None:
        old = self.find(pod.name)
        if old is not None:
            self.records.remove(old)
        self.sequence += 1
        record = Record(pod, now, self.sequence)
        self.records.append(record)
        self.enter(record, "Active")

    def delete(self, name: str) -> None:
        record = self.find(name)
        if record is not None:
            self.records.remove(record)

    def update(self, pod: Pod, events: list[ClusterEvent], old: Pod, now: float) -> None:
        for record in self.flying():
            if record.pod.metadata.uid == pod.metadata.uid:
                for flying in self.flying():
                    flying.missed += [(event, old, pod) for event in events]
                return
        found = self.find(pod.name)
        if found is None:
            self.add(pod, now)
            return
        found.pod = pod
        if found.place == "Unschedulable":
            for event in events:
                self.consider(found, event, old, pod, now)
                if found.place != "Unschedulable":
                    return

    def pop(self) -> Record | None:
        active = [record for record in self.records if record.place == "Active"]
        early = [
            record
            for record in self.records
            if record.place == "Backoff" and (record.refused_by or record.pending)
        ]
        if active:
            chosen = min(active, key=lambda record: (-record.pod.priority, record.since))
        elif early:
            chosen = min(
                early, key=lambda record: (record.expires, -record.pod.priority, record.since)
            )
        else:
            return None
        chosen.place = "Flying"
        chosen.attempts += 1
        chosen.missed = []
        return chosen

    def fail(
        self, record: Record, refused_by: frozenset[str], pending: frozenset[str], now: float
    ) -> None:
        record.refused_by, record.pending = refused_by, pending
        if refused_by or pending:
            record.refusals += 1
            record.errors = 0
        else:
            record.errors += 1
        self.sequence += 1
        record.since = (now, self.sequence)
        record.looked_at = now
        wait = min(10, 2 ** ((record.errors or record.refusals) - 1))
        record.expires = math.floor(now + wait)
        record.place = "Unschedulable"
        if not refused_by and not pending:
            self.enter(record, "Active" if self.is_over(record, now) else "Backoff")
            return
        answers = [self.answer(record, *missed) for missed in record.missed]
        self.follow(record, max(answers, default=0), now)

    def move_all(self, event: ClusterEvent, old: Any, new: Any, now: float) -> None:
        for record in list(self.records):
            if record.place == "Unschedulable":
                self.consider(record, event, old, new, now)
        for record in self.flying():
            record.missed.append((event, old, new))

    def activate(self, pod: Pod) -> None:
        record = self.find(pod.name)
        if record is not None and record.place in ("Unschedulable", "Backoff"):
            if record.place == "Backoff":
                record.place = "Active"
            else:
                self.enter(record, "Active")
        elif any(one.pod.metadata.uid == pod.metadata.uid for one in self.flying()):
            for one in self.flying():
                one.missed.append((ACTIVATE, None, pod))

    def flush(self, now: float) -> None:
        for record in self.records:
            if record.place == "Backoff" and self.is_over(record, now):
                record.place = "Active"
        if now >= self.next_look:
            self.next_look = now + 30
            late = [
                record
                for record in self.records
                if record.place == "Unschedulable" and record.looked_at < now - 300
            ]
            for record in late:
                record.looked_at = now
                self.follow(record, 1, now)
            for record in self.flying() if late else ():
                record.missed.append((TIMEOUT, None, None))

    # ---- decisions

    def answer(self, record: Record, event: Any, old: Any, new: Any) -> int:
        """Return whether an event queues a pod. 0: no; 1: after its backoff; 2: immediately."""
        if event == TIMEOUT:
            return 1
        if event == ACTIVATE:
            return int(new.metadata.uid == record.pod.metadata.uid)
        if any(self.wakes(name, record.pod, event, old, new) for name in record.pending):
            return 2
        return int(any(self.wakes(n, record.pod, event, old, new) for n in record.refused_by))

    def consider(self, record: Record, event: Any, old: Any, new: Any, now: float) -> None:
        if record.gate and not self.wakes(record.gate, record.pod, event, old, new):
            # The gate would still hold the pod, whatever other plugins refused it.
            return
        self.follow(record, self.answer(record, event, old, new), now)

    def follow(self, record: Record, answer: int, now: float) -> None:
        if answer == 1 and not self.is_over(record, now):
            self.enter(record, "Backoff")
        elif answer:
            self.enter(record, "Active")

    def is_over(self, record: Record, now: float) -> bool:
        return record.expires < math.floor(now)

    def enter(self, record: Record, place: str) -> None:
        closed = [name for name, status in self.gates.items() if status(record.pod) is not None]
        if closed:
            record.gate = record.gate if record.gate in closed else closed[0]
            record.refused_by |= {record.gate}
            record.place = "Unschedulable"
        else:
            record.gate = ""
            record.place = place
