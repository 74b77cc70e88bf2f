"""Status: what a plugin answers when it does not simply agree."""

from __future__ import annotations

from enum import IntEnum

import msgspec


class Code(IntEnum):
    """Name the kinds of answer, in kube-scheduler's order."""

    SUCCESS = 0
    ERROR = 1
    UNSCHEDULABLE = 2
    UNSCHEDULABLE_AND_UNRESOLVABLE = 3
    WAIT = 4
    SKIP = 5
    PENDING = 6

    @property
    def label(self) -> str:
        """Return kube-scheduler's spelling, as metrics and records carry it."""
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

_REJECTIONS = frozenset({Code.UNSCHEDULABLE, Code.UNSCHEDULABLE_AND_UNRESOLVABLE, Code.PENDING})


class Status(msgspec.Struct, frozen=True, gc=False):
    """Carry a plugin's answer: a code, the reasons, and who said it.

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
    #: Traceback text, with code ERROR, where an exception was the cause.
    traceback: str = ""

    @classmethod
    def success(cls) -> Status:
        """Agree."""
        return _SUCCESS

    @classmethod
    def skip(cls) -> Status:
        """Step aside: the coupled Filter or Score is not asked; for Bind, the next plugin is."""
        return _SKIP

    @classmethod
    def unschedulable(cls, *reasons: str) -> Status:
        """Refuse; preemption might help."""
        return cls(Code.UNSCHEDULABLE, reasons)

    @classmethod
    def unresolvable(cls, *reasons: str) -> Status:
        """Refuse; preemption would not help."""
        return cls(Code.UNSCHEDULABLE_AND_UNRESOLVABLE, reasons)

    @classmethod
    def pending(cls, *reasons: str) -> Status:
        """Stop here until something outside is done; the pod returns without backoff."""
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
        """Tell whether this is agreement."""
        return self.code is Code.SUCCESS

    @property
    def is_skip(self) -> bool:
        """Tell whether the plugin stepped aside."""
        return self.code is Code.SKIP

    @property
    def is_wait(self) -> bool:
        """Tell whether the pod is to wait at Permit."""
        return self.code is Code.WAIT

    @property
    def is_rejected(self) -> bool:
        """Tell whether this is a refusal: unschedulable, unresolvable or pending."""
        return self.code in _REJECTIONS

    @property
    def is_error(self) -> bool:
        """Tell whether this is a fault."""
        return self.code is Code.ERROR

    def by(self, plugin: str) -> Status:
        """Return the same status, said by `plugin`."""
        if self.plugin == plugin:
            return self
        return msgspec.structs.replace(self, plugin=plugin)


_SUCCESS = Status(Code.SUCCESS)
_SKIP = Status(Code.SKIP)


def code_of(status: Status | None) -> Code:
    """Return the code of an answer, where None is success."""
    return Code.SUCCESS if status is None else status.code
