"""Failure: why an attempt to schedule a pod failed."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from mooring.cycle.message import NO_NODES_AVAILABLE, refused_on_node
from mooring.errors import cut_text
from mooring.framework.decision import Decision, Outcome
from mooring.framework.status import Code, Status


class Failure:
    """Why an attempt failed, in the terms of the queue and the API server."""

    __slots__ = (
        "backs_off",
        "faults",
        "message",
        "no_fit",
        "nominated",
        "of_group",
        "pending",
        "rejected",
        "unschedulable",
    )

    def __init__(
        self,
        message: str,
        *,
        rejected: bool,
        no_fit: bool = False,
        of_group: bool = False,
        unschedulable: Collection[str] = (),
        pending: Collection[str] = (),
        nominated: str | None = "",
        backs_off: bool = False,
    ) -> None:
        #: Cut, because an API server refuses a condition of megabytes and the pod would have none.
        self.message = cut_text(message)
        #: Whether a plugin refused the pod; False after an error.
        self.rejected = rejected
        #: Whether no node was found, or the node was lost before the binding cycle began.
        self.no_fit = no_fit
        #: Whether the pod shares the fate of its pod group, which was not scheduled.
        self.of_group = of_group
        #: The plugins that refused; the queue waits for the events that they have registered.
        self.unschedulable = unschedulable
        self.pending = pending
        #: The nominated node; "" clears the nomination, None leaves it.
        self.nominated = nominated
        #: Whether the pod waits for its whole backoff even if the scheduler has nothing to do.
        self.backs_off = backs_off
        #: Errors of plugins after the scheduling cycle, each with its traceback.
        self.faults: Sequence[Status] = ()

    @classmethod
    def on_node(cls, status: Status) -> Failure:
        """Return the failure of a pod that lost its node before the binding cycle began."""
        if not status.is_rejected:
            return cls(status.message, rejected=False)
        return cls(
            refused_on_node(status.reasons),
            rejected=True,
            no_fit=True,
            unschedulable=(status.plugin,),
            pending=(status.plugin,) if status.code is Code.PENDING else (),
            backs_off=status.backs_off,
        )

    @classmethod
    def of(cls, decision: Decision) -> Failure:
        """Return the failure of a scheduling cycle."""
        result = decision.post_filter
        return cls(
            decision.message,
            rejected=decision.outcome is Outcome.UNSCHEDULABLE,
            no_fit=decision.outcome is Outcome.UNSCHEDULABLE,
            unschedulable=decision.unschedulable_plugins,
            pending=decision.pending_plugins,
            nominated="" if result is None else result.nominated_node,
            backs_off=decision.backs_off,
        )

    @classmethod
    def in_group(cls, decision: Decision) -> Failure:
        """Return the failure of a scheduling cycle for a pod of a group.

        A pod that no node takes keeps its nomination: PodGroupPostFilter decides about it.
        """
        failure = cls.of(decision)
        if failure.no_fit and decision.message != NO_NODES_AVAILABLE:
            failure.nominated = None
        return failure
