"""FaultPlan: what goes wrong between a scheduler and a simulated API server, from a seed.

Every seed draws its own rates and kinds of faults (`Weather`): some have only one kind, some have
all of them at once. Nothing here does what a real server or network cannot do: a watch never loses
or reorders changes without an error, and when the failure of a write is seen, it either has been
applied or never will be.
"""

from __future__ import annotations

import errno
import random as random_module
import ssl
from enum import Enum, auto

import msgspec

from mooring.client.protocol import ProtocolError


class RequestFault(Enum):
    """What happens to one request; all but NONE and LATE show as failures."""

    NONE = auto()
    #: The connection is refused.
    REFUSED = auto()
    #: 429 with Retry-After.
    TOO_MANY = auto()
    #: 409: another client wrote at the same moment.
    CONFLICT = auto()
    #: 500, and the write was not, or was, applied.
    ERROR = auto()
    ERROR_APPLIED = auto()
    #: The connection is cut before, or after, the write is applied.
    CUT = auto()
    CUT_APPLIED = auto()
    #: No response arrives before the timeout.
    TIMEOUT = auto()
    TIMEOUT_APPLIED = auto()


class StreamEnd(Enum):
    """How a watch ends early."""

    #: The connection breaks.
    CUT = auto()
    #: The server ends it properly.
    CLOSED = auto()
    #: The server responds with 410: the resource version is too old.
    GONE = auto()
    #: No more events arrive, without any error.
    SILENT = auto()
    #: 500 within the stream.
    ERROR = auto()


class Breakage(Enum):
    """How an open connection breaks during a request."""

    CUT = auto()
    CLOSED = auto()
    RESET = auto()
    PIPE = auto()
    TLS = auto()

    def error(self) -> BaseException:
        """Return the exception that a transport sees."""
        match self:
            case Breakage.CUT:
                return ProtocolError("cut")
            case Breakage.CLOSED:
                return ProtocolError("closed")
            case Breakage.RESET:
                return ConnectionResetError(errno.ECONNRESET, "Connection reset by peer")
            case Breakage.PIPE:
                return BrokenPipeError(errno.EPIPE, "Broken pipe")
            case Breakage.TLS:
                return ssl.SSLError(1, "[SSL: DECRYPTION_FAILED_OR_BAD_RECORD_MAC] bad record mac")


#: By how many seconds a wall clock is set at most, forward or back.
CLOCK_CHANGE_SECONDS = 6 * 3600.0

#: Only writes get a 409.
_WRITE_ONLY = frozenset((RequestFault.CONFLICT,))
_RATES = (0.0, 0.0, 0.02, 0.1, 0.3)


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """The rates and kinds of faults of one run."""

    #: The share of requests that fail, and in which ways.
    requests: float
    request_faults: tuple[RequestFault, ...]
    #: The mean seconds until a watch ends early; 0 for never.
    stream_seconds: float
    stream_ends: tuple[StreamEnd, ...]
    #: The share of requests and batches that take seconds instead of milliseconds.
    slow: float
    duplicates: float
    #: Whether the server supports watch lists (sendInitialEvents).
    watch_list: bool
    #: Moments, in seconds from the start.
    kills: tuple[float, ...]
    restarts: tuple[float, ...]
    compactions: tuple[float, ...]
    #: For how many seconds at most a server that has just started refuses clients whose rights it
    #: has not loaded yet.
    warming: float
    #: Moments at which the network of a scheduler goes down for a while.
    partitions: tuple[float, ...]
    #: The ways in which connections break.
    breakages: tuple[Breakage, ...]
    #: Moments at which the process of a scheduler is suspended for a while.
    suspensions: tuple[float, ...]
    #: Moments at which the wall clock of a scheduler is set, forward or back.
    clock_changes: tuple[float, ...]


def draw_weather(random: random_module.Random, seconds: float) -> Weather:
    """Draw the faults of one run; all of them end after `seconds`."""

    def some(faults: type[RequestFault] | type[StreamEnd]) -> tuple[object, ...]:
        wanted = [fault for fault in faults if fault is not RequestFault.NONE]
        return tuple(random.sample(wanted, random.randint(1, len(wanted))))

    def moments(most: int) -> tuple[float, ...]:
        number = random.choice((0, 0, random.randint(1, most)))
        return tuple(sorted(random.uniform(0.5, seconds) for _ in range(number)))

    return Weather(
        requests=random.choice(_RATES),
        request_faults=some(RequestFault),  # type: ignore[arg-type]
        stream_seconds=random.choice((0.0, 2.0, 15.0, 60.0)),
        stream_ends=some(StreamEnd),  # type: ignore[arg-type]
        slow=random.choice(_RATES),
        duplicates=random.choice(_RATES),
        watch_list=random.random() < 0.7,
        kills=moments(4),
        restarts=moments(3),
        compactions=moments(4),
        warming=random.choice((0.0, 3.0, 20.0)),
        partitions=moments(3),
        breakages=tuple(random.sample(list(Breakage), random.randint(1, 3))),
        suspensions=moments(3),
        clock_changes=moments(6),
    )


class FaultPlan:
    """The faults of every request and every watch, drawn as they happen."""

    def __init__(self, weather: Weather, random: random_module.Random) -> None:
        self.weather = weather
        #: False once everything works.
        self.active = True
        self._random = random

    def request(self, method: str) -> RequestFault:
        """Return what happens to a request."""
        if not self.active or self._random.random() >= self.weather.requests:
            return RequestFault.NONE
        fault = self._random.choice(self.weather.request_faults)
        return RequestFault.NONE if method == "GET" and fault in _WRITE_ONLY else fault

    def stream(self) -> tuple[float, StreamEnd | None]:
        """Return after how many seconds a watch ends early, and how; None if it does not."""
        mean = self.weather.stream_seconds
        if not self.active or not mean:
            return 0.0, None
        return self._random.expovariate(1.0 / mean), self._random.choice(self.weather.stream_ends)

    def delay(self) -> float:
        """Return how long a message is in transit, in seconds."""
        if self.active and self._random.random() < self.weather.slow:
            return self._random.uniform(0.1, 8.0)
        return self._random.uniform(0.0005, 0.02)

    def is_duplicated(self) -> bool:
        """Return whether a change is sent twice."""
        return self.active and self._random.random() < self.weather.duplicates

    def warming(self) -> float:
        """Return for how many seconds a server that has just started has no rights loaded."""
        return self._random.uniform(0.0, self.weather.warming)

    def refusal(self) -> int:
        """Return the status with which such a server refuses; 0 if it does not."""
        return self._random.choice((0, 401, 403, 403, 403, 403))

    def lateness(self) -> float | None:
        """Return after how many seconds a write arrives after its sender ended; None for never."""
        return self._random.uniform(0.0, 30.0) if self._random.random() < 0.5 else None

    def breaks_all(self) -> bool:
        """Return whether all watches of a process break with one of its connections."""
        return self._random.random() < 0.5

    def breakage(self) -> BaseException:
        """Return the exception of a connection that breaks during a request."""
        return self._random.choice(self.weather.breakages).error()

    def batch(self, changes: int) -> int:
        """Return how many changes arrive together."""
        return self._random.randint(1, changes)

    def page(self, limit: int) -> int:
        """Return how many objects a page of a list has, at most `limit`."""
        return self._random.randint(1, 8) if self.active and limit else limit
