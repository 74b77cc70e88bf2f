"""AttemptRandom: a random source whose state is one integer, so that it can be recorded."""

from __future__ import annotations

import random as random_module
from typing import Any

_MASK = 2**64 - 1
_BITS = 64
#: splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number Generators, 2014).
_STEP = 0x9E3779B97F4A7C15
_FIRST = 0xBF58476D1CE4E5B9
_SECOND = 0x94D049BB133111EB


def state_of(source: random_module.Random) -> int:
    """Return the state of an AttemptRandom; 0 for another source, whose state is no integer."""
    return source.state if isinstance(source, AttemptRandom) else 0


class AttemptRandom(random_module.Random):
    """A random source for scheduling decisions, not for secrets.

    `state` is all there is: a source with the same state draws the same numbers.

    >>> source = AttemptRandom(7)
    >>> before = source.state
    >>> drawn = [source.randrange(100) for _ in range(3)]
    >>> source.state = before
    >>> drawn == [source.randrange(100) for _ in range(3)]
    True
    """

    _state: int

    @property
    def state(self) -> int:
        """The state, from 0 to 2**64 - 1: the seed of what is drawn next."""
        return self._state

    @state.setter
    def state(self, state: int) -> None:
        self._state = state & _MASK
        # `gauss` draws two numbers and keeps one.
        self.gauss_next = None

    def seed(self, a: Any = None, version: int = 2) -> None:
        """Set the state from an integer, or from anything that `random.Random` takes."""
        if not isinstance(a, int):
            a = random_module.Random(a).getrandbits(_BITS)
        self.state = a

    def getstate(self) -> tuple[Any, ...]:
        """Return the state, in the form that `setstate` takes."""
        return (self._state,)

    def setstate(self, state: tuple[Any, ...]) -> None:
        """Set a state that `getstate` has returned."""
        (self.state,) = state

    def random(self) -> float:
        """Return the next number in [0, 1)."""
        return (self._next() >> 11) * 2.0**-53

    def getrandbits(self, k: int, /) -> int:
        """Return an integer of `k` random bits."""
        if 0 < k <= _BITS:
            return self._next() >> (_BITS - k)
        if k < 0:
            raise ValueError("number of bits must be non-negative")
        drawn = 0
        for _ in range(-(-k // _BITS)):
            drawn = drawn << _BITS | self._next()
        return drawn >> (-k % _BITS)

    def _next(self) -> int:
        """Return the next 64 random bits."""
        state = self._state = (self._state + _STEP) & _MASK
        mixed = ((state ^ (state >> 30)) * _FIRST) & _MASK
        mixed = ((mixed ^ (mixed >> 27)) * _SECOND) & _MASK
        return mixed ^ (mixed >> 31)
