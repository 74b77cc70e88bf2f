"""Status: what a plugin returns if it does not simply agree."""

from __future__ import annotations

from enum import IntEnum

import msgspec

from mooring.api.spelling import spelled


class Code(IntEnum):
    """The kinds of status, in kube-scheduler's order."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """Return kube-scheduler's spelling, used in metrics and records."""
        return _LABELS[self]


_LABELS = (
    "Success",
    "Error",
    "Unschedulable",
    "UnschedulableAndUnresolvable",
    "Wait",
    "Skip",
    "Pending",
)

#: Stands for a node's name in the reasons of a status that names its nodes.
_NODE = "{node}"
_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


@spelled(AsError="message", IsRejected="is_rejected")
class Status(msgspec.Struct, frozen=True, gc=False):
    """A plugin's answer: a code, the reasons, and the name of the plugin.

    A plugin that agrees returns None; `Status.success()` means the same.

    >>> Status.unschedulable("node(s) were unschedulable").message
    'node(s) were unschedulable'
    """

    code: Code
    reasons: tuple[str, ...] = ()
    #: Name of the plugin that answered; the framework fills it in.
    plugin: str = ""
    #: Seconds to wait, with code WAIT.
    timeout: float = 0.0
    #: Traceback text, with code ERROR, if an exception was the cause.
    traceback: str = ""
    #: Whether `{node}` in the reasons stands for the name of each node that is refused.
    names_node: bool = False
    #: Whether the pod waits for its whole backoff, as after an error: the attempt took long.
    backs_off: bool = False

    @classmethod
    def success(cls, *reasons: str) -> Status:
        """Return a status that agrees; the reasons are kept for a log that shows the status.

        >>> Status.success("all 3 disks are free").message
        'all 3 disks are free'
        """
        return cls(Code.SUCCESS, reasons) if reasons else _SUCCESS

    @classmethod
    def skip(cls) -> Status:
        """Skip this plugin: its Filter or Score does not run; in Bind, the next plugin is used."""
        return _SKIP

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Refuse the node or pod; preemption might help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Refuse the node or pod; preemption would not help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        """Refuse until something outside is done; the pod is then retried without backoff."""
        return cls(Code.PENDING, reasons)

    @classmethod
    def error(cls, *reasons: str) -> Status:
        """Report a fault: the cycle ends and the pod is retried."""
        return cls(Code.ERROR, reasons)

    @classmethod
    def wait(cls, seconds: float, *reasons: str) -> Status:
        """Hold the pod at Permit for at most `seconds`."""
        return cls(Code.WAIT, reasons, timeout=seconds)

    @property
    def message(self) -> str:
        """Return the reasons as one text."""
        return ", ".join(self.reasons)

    @property
    def is_success(self) -> bool:
        """Return whether the plugin agrees."""
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        """Return whether the plugin is to be skipped."""
        return self.code is Code.SKIP

    @property
    def is_wait(self) -> bool:
        """Return whether the pod must wait at Permit."""
        return self.code is Code.WAIT

    @property
    def is_rejected(self) -> bool:
        """Return whether this is a refusal: unschedulable, unresolvable or pending."""
        return self.code in _REJECTIONS

    @property
    def is_error(self) -> bool:
        """Return whether this is a fault."""
        return self.code is Code.ERROR

    def by(self, plugin: str) -> Status:
        """Return the same status, attributed to `plugin`."""
        if self.plugin == plugin:
            return self
        return msgspec.structs.replace(self, plugin=plugin)

    def per_node(self) -> Status:
        """Return the same refusal, in which `{node}` stands for the name of each refused node.

        With it, `filter_nodes` can refuse thousands of nodes with a text that names the node, and
        the texts are made only for nodes whose status is read.
        """
        if not self.is_rejected:
            raise ValueError(f"only a refusal can name its nodes, not {self.code.label}")
        return msgspec.structs.replace(self, names_node=True)

    def after_backoff(self) -> Status:
        """Return the same refusal, after which the pod waits for its whole backoff.

        Otherwise a scheduler that has nothing else to do tries a refused pod earlier. For a plugin
        that refuses because the attempt took too long.
        """
        if not self.is_rejected:
            raise ValueError(f"only a refusal can make a pod back off, not {self.code.label}")
        return msgspec.structs.replace(self, backs_off=True)

    def for_node(self, name: str) -> Status:
        """Return the status of one of the refused nodes.

        >>> Status.unschedulable("{node} is too far").per_node().for_node("n1").message
        'n1 is too far'
        """
        if not self.names_node:
            return self
        reasons = tuple(reason.replace(_NODE, name) for reason in self.reasons)
        return msgspec.structs.replace(self, reasons=reasons, names_node=False)


_SUCCESS = Status(Code.SUCCESS)
_SKIP = Status(Code.SKIP)


def code_of(status: Status | None) -> Code:
    """Return the code of a status; None means success."""
    return Code.SUCCESS if status is None else status.code
