"""RateLimit: limits how many requests a client sends."""

# client-go: util/flowcontrol/throttle.go, on golang.org/x/time/rate

from __future__ import annotations

import asyncio

from mooring.observe.clock import Clock


class RateLimit:
    """A token bucket: `qps` requests a second, and up to `burst` at once after a pause.

    Requests pass in the order in which they came. Owned by one event loop.
    """

    def __init__(self, qps: float, burst: int, clock: Clock) -> None:
        if qps <= 0 or burst < 1:
            raise ValueError(f"qps and burst must be positive, got {qps} and {burst}")
        self._qps = qps
        self._burst = burst
        self._clock = clock
        self._tokens = float(burst)
        self._last = clock.now()

    def reserve(self) -> float:
        """Take a token and return after how many seconds it may be used."""
        now = self._clock.now()
        # If the clock was set back, no tokens are added or removed.
        passed = max(0.0, now - self._last)
        self._last = now
        self._tokens = min(self._burst, self._tokens + passed * self._qps) - 1.0
        return 0.0 if self._tokens >= 0 else -self._tokens / self._qps

    async def wait(self) -> float:
        """Wait for the limit and return how many seconds that took."""
        delay = self.reserve()
        if delay > 0:
            try:
                await self._clock.sleep(delay)
            except asyncio.CancelledError:
                self._tokens += 1.0
                raise
        return delay


def rate_limit(qps: float, burst: int, clock: Clock) -> RateLimit | None:
    """Return the limit that `clientConnection` describes; None if there is none.

    A negative qps means no limit, zero means client-go's default.
    """
    # client-go: rest/config.go, DefaultQPS and DefaultBurst
    if qps < 0:
        return None
    return RateLimit(qps or 5.0, burst or 10, clock)
