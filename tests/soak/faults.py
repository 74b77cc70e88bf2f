"""FaultPlan: what goes wrong between a scheduler and a simulated API server, from a seed.

Every seed draws its own weather: some are calm but for one kind of fault, some have all of them at
once. Nothing here does what a real server or network cannot do: a watch of one kind never loses or
reorders changes without saying so, and a write has been carried out, or never will be, by the time
its failure is seen.
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
    #: The connection cannot be made.
    REFUSED = auto()
    #: 429 with Retry-After.
    TOO_MANY = auto()
    #: 409: somebody else wrote at the same moment.
    CONFLICT = auto()
    #: 500, and the write was not, or was, carried out.
    ERROR = auto()
    ERROR_APPLIED = auto()
    #: The connection is cut before, or after, the write is carried out.
    CUT = auto()
    CUT_APPLIED = auto()
    #: No answer comes within the time allowed.
    TIMEOUT = auto()
    TIMEOUT_APPLIED = auto()


class StreamEnd(Enum):
    """How a watch ends before its time."""

    #: The connection breaks.
    CUT = auto()
    #: The server ends it in good order.
    CLOSED = auto()
    #: The server says 410: it has forgotten too much.
    GONE = auto()
    #: Nothing comes any more, and nobody says so.
    SILENT = auto()
    #: 500 within the stream.
    ERROR = auto()


class Breakage(Enum):
    """How a connection that stands breaks within an exchange."""

    CUT = auto()
    CLOSED = auto()
    RESET = auto()
    PIPE = auto()
    TLS = auto()

    def error(self) -> BaseException:
        """Return what a transport gets to see."""
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


#: 409 is an answer to writes alone.
_WRITE_ONLY = frozenset((RequestFault.CONFLICT,))
_RATES = (0.0, 0.0, 0.02, 0.1, 0.3)


class Weather(msgspec.Struct, frozen=True, kw_only=True):
    """How much of everything goes wrong."""

    #: The share of requests that fail, and in which ways.
    requests: float
    request_faults: tuple[RequestFault, ...]
    #: The mean seconds a watch lives; 0 for watches that live their whole time.
    stream_seconds: float
    stream_ends: tuple[StreamEnd, ...]
    #: The share of requests and batches that take seconds and not milliseconds.
    slow: float
    duplicates: float
    #: Whether the server offers the first state as a stream.
    watch_list: bool
    #: Moments, in seconds from the start.
    kills: tuple[float, ...]
    restarts: tuple[float, ...]
    compactions: tuple[float, ...]
    #: The most seconds in which a server that has just started refuses those whose rights it has
    #: not loaded yet.
    warming: float
    #: Moments from which on the network of a scheduler is down for a while.
    partitions: tuple[float, ...]
    #: The ways in which connections break.
    breakages: tuple[Breakage, ...]
    #: Moments from which on the process of a scheduler is suspended for a while.
    suspensions: tuple[float, ...]


def draw_weather(random: random_module.Random, seconds: float) -> Weather:
    """Draw the faults of one run, all of which end after some seconds."""

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
    )


class FaultPlan:
    """Decide about every request and every watch, as they come."""

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
        """Return after how many seconds a watch ends, and how; None where it lives its time."""
        mean = self.weather.stream_seconds
        if not self.active or not mean:
            return 0.0, None
        return self._random.expovariate(1.0 / mean), self._random.choice(self.weather.stream_ends)

    def delay(self) -> float:
        """Return how long a message is on its way, in seconds."""
        if self.active and self._random.random() < self.weather.slow:
            return self._random.uniform(0.1, 8.0)
        return self._random.uniform(0.0005, 0.02)

    def is_duplicated(self) -> bool:
        """Tell whether a change is told twice."""
        return self.active and self._random.random() < self.weather.duplicates

    def warming(self) -> float:
        """Return for how many seconds a server that has just started knows nobody's rights."""
        return self._random.uniform(0.0, self.weather.warming)

    def refusal(self) -> int:
        """Return what such a server answers, by status; 0 where it has the rights asked for."""
        return self._random.choice((0, 401, 403, 403, 403, 403))

    def lateness(self) -> float | None:
        """Return after how many seconds a write arrives whose sender has gone; None for never."""
        return self._random.uniform(0.0, 30.0) if self._random.random() < 0.5 else None

    def breaks_all(self) -> bool:
        """Tell whether a connection that breaks takes the watches of its process with it."""
        return self._random.random() < 0.5

    def breakage(self) -> BaseException:
        """Return how a connection breaks within an exchange."""
        return self._random.choice(self.weather.breakages).error()

    def batch(self, changes: int) -> int:
        """Return how many changes come at once."""
        return self._random.randint(1, changes)

    def page(self, limit: int) -> int:
        """Return how many objects of a list come at once, of at most `limit`."""
        return self._random.randint(1, 8) if self.active and limit else limit
