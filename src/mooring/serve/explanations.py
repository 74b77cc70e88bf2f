"""What the paths of explanations ask: of a scheduler, and about the rights of a reader."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Protocol

import msgspec

from mooring.explain.attempt_record import AttemptRecord
from mooring.explain.explainer import QueuePage
from mooring.explain.live_explanation import LiveExplanation
from mooring.explain.scheduler_rules import SchedulerRules


class RecordPage(msgspec.Struct, frozen=True):
    """Some of the records that are kept, in the order of their sequence numbers."""

    records: Sequence[AttemptRecord]
    #: Whether records before the first of these are gone already.
    missed: bool
    #: The sequence number of the newest record of all.
    latest: int


class Explanations(Protocol):
    """A scheduler that answers questions about its decisions, on the loop that serves."""

    async def explain_pod(self, namespace: str, name: str, attempt: int | None) -> LiveExplanation:
        """Return the explanation of a pod: of an attempt, or else of the last one.

        Raise UnknownPodError, TooManyQuestions, AnswerLimitError, or ObjectError if no profile
        serves the pod.
        """
        ...

    async def queue_page(self, after: str, limit: int) -> QueuePage:
        """Return where the pods are that wait, from what an earlier page names on."""
        ...

    async def records_since(self, sequence: int, limit: int) -> RecordPage:
        """Return the records after a sequence number, at most `limit`."""
        ...

    async def wait_for_records(self, sequence: int) -> None:
        """Wait until there is a record after a sequence number."""
        ...

    def rules(self) -> SchedulerRules | None:
        """Return the rules by which the scheduler decides; None if they are not known."""
        ...

    async def node_names(self) -> Iterable[str]:
        """Return the names of the nodes that the scheduler knows."""
        ...


class ExplanationReader(Protocol):
    """The user of a request. Raise ApiError if a right cannot be decided."""

    #: The name, for messages.
    name: str

    async def may_get_path(self, path: str) -> bool:
        """Return whether the user may get a path that is no resource."""
        ...

    async def may_get_pod(self, namespace: str, name: str) -> bool:
        """Return whether the user may get a pod; without a name, every pod of the namespace."""
        ...

    async def may_list_nodes(self) -> bool:
        """Return whether the user may list nodes."""
        ...
