"""LeaseFence: prevents writes of a scheduler once another may hold the lease.

Leader election alone leaves a gap: a process that is stopped (SIGSTOP, a frozen cgroup, a suspended
machine) and continued does not know how long it was stopped, and writes until it notices that
another process holds the lease. So every write is checked right before its first byte is sent.
For others, a lease ends at the earliest one lease duration after they saw it renewed, which is
after the renewal was sent. So writing is safe for one lease duration, counted from the moment
before sending. What remains is a stop between the check and the write: one request.
"""

from __future__ import annotations

import math
from collections.abc import Callable

from mooring.client.transport import Request
from mooring.errors import LeaseExpiredError
from mooring.observe.clock import boot_time

READS = frozenset(("GET", "HEAD"))

EXPIRED = "not sent: the lease was last renewed {:.1f} s ago, and lasts {:g} s"
NOT_HELD = "not sent: the lease is not held"


class LeaseFence:
    """The permission to write that a lease of some `seconds` gives.

    Leader election renews and closes it on its own thread, the scheduling loop checks it on
    another: they share one float.
    """

    def __init__(self, seconds: float, clock: Callable[[], float] = boot_time) -> None:
        #: The clock by which leader election times its renewals.
        self.clock = clock
        self._seconds = seconds
        #: When the last successful renewal was sent.
        self._renewed = -math.inf

    @property
    def is_open(self) -> bool:
        """Return whether writes may be sent."""
        return self.clock() - self._renewed < self._seconds

    def renew(self, sent: float) -> None:
        """Allow writes for one lease duration after `sent`, the moment a renewal was sent."""
        self._renewed = sent

    def close(self) -> None:
        """Allow no more writes: the lease is lost, or is about to be released."""
        self._renewed = -math.inf

    def check(self) -> None:
        """Raise LeaseExpiredError if writes are not allowed."""
        renewed = self._renewed
        passed = self.clock() - renewed
        if passed >= self._seconds:
            held = renewed != -math.inf
            raise LeaseExpiredError(EXPIRED.format(passed, self._seconds) if held else NOT_HELD)

    def check_request(self, request: Request) -> None:
        """Raise LeaseExpiredError if a request is a write and writes are not allowed."""
        if request.method not in READS:
            self.check()
