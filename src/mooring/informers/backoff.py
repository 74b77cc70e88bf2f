"""Backoff: how long to wait before trying a server again."""

# client-go: tools/cache/reflector.go; apimachinery: pkg/util/wait/backoff.go

from __future__ import annotations

import random as random_module

from mooring.observe.clock import Clock

#: Seconds. By client-go's count, the longest wait makes 0.22 requests a second, without jitter.
FIRST_SECONDS = 0.8
LONGEST_SECONDS = 30.0
#: After this long without a wait the server counts as healthy, and waits are short again.
RESET_SECONDS = 120.0


class Backoff:
    """Waits that double from 0.8 s to 30 s, each extended by a random part of up to 100 %."""

    def __init__(self, clock: Clock, random: random_module.Random) -> None:
        self._clock = clock
        self._random = random
        self._next = FIRST_SECONDS
        self._last = clock.now()

    def step(self) -> float:
        """Return the next wait in seconds."""
        now = self._clock.now()
        if now - self._last > RESET_SECONDS:
            self._next = FIRST_SECONDS
        base = self._next
        self._next = min(base * 2, LONGEST_SECONDS)
        wait = base * (1.0 + self._random.random())
        self._last = now + wait
        return wait
