"""Connections: which of them a server keeps, for how long, and which it closes to make room.

A port is open to anyone, and a connection costs memory and a file before its client is known. So
each stage of a connection has a time limit, and the number of strangers (peers that have not
authenticated) is limited per stage, in total and per address. Beyond the limit the newest
connection is kept and the oldest of its stage is closed: refusing the newest would let idle
connections lock out an honest client at the same address. Connections of authenticated clients and
connections with a request in progress are never closed to make room.

Time is counted in ticks of the owning loop, one per second. Seconds in which the loop was blocked
or the process was stopped do not count, so a client is not punished for the server's delay.
"""

from __future__ import annotations

import abc
import enum
import ipaddress
import logging

import msgspec

from mooring.observe.logs import kv, vlog

log = logging.getLogger(__name__)

#: Ticks between two log lines about closed connections.
NOTICE_TICKS = 60

TOO_MANY = "Too many connections: closed the oldest ones without a request under way"
REFUSED = "Too many connections, all with requests under way: refused new ones"


class Stage(enum.Enum):
    """What a connection is doing."""

    #: Accepted; nothing has been read.
    WAITING = "waiting"
    HANDSHAKE = "handshake"
    #: The head of a request has not completely arrived.
    HEAD = "head"
    #: A request is being processed.
    SERVING = "serving"
    #: Between two requests.
    IDLE = "idle"


class StageLimit(msgspec.Struct, frozen=True):
    """How long a connection may stay in a stage, and how many strangers may be in it."""

    seconds: int
    total: int
    per_address: int


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """The limits of one server. A stranger that sends no request is disconnected within 30 s."""

    waiting: StageLimit = StageLimit(8, 10_000, 5_000)
    handshake: StageLimit = StageLimit(8, 1_000, 500)
    head: StageLimit = StageLimit(10, 500, 250)
    idle: StageLimit = StageLimit(25, 500, 250)
    #: Longer than client-go keeps an idle connection (90 s), so that the client closes it.
    authenticated_idle_seconds: int = 120
    #: How long a client may take to read what was written to it.
    stalled_seconds: int = 30
    #: The limit of all connections together.
    connections: int = 20_000


class AcceptedConnection(abc.ABC):
    """One accepted connection."""

    __slots__ = ("address", "authenticated", "since", "stage")

    def __init__(self, address: str) -> None:
        self.address = address
        self.authenticated = False
        #: None before it is admitted and after it is closed.
        self.stage: Stage | None = None
        #: The tick at which the stage began.
        self.since = 0

    @abc.abstractmethod
    def close(self) -> None:
        """Close the connection at once, without waiting for the peer."""


_Queue = dict[AcceptedConnection, None]


class Connections:
    """The connections of one server. Owned by the loop that serves.

    `tick` is called once a second while there are connections.
    """

    def __init__(self, limits: Limits) -> None:
        self._limits = {
            Stage.WAITING: limits.waiting,
            Stage.HANDSHAKE: limits.handshake,
            Stage.HEAD: limits.head,
            Stage.IDLE: limits.idle,
        }
        self._authenticated_idle_seconds = limits.authenticated_idle_seconds
        self._stalled_seconds = limits.stalled_seconds
        self._most = limits.connections
        #: In the order in which they entered the stage.
        self._strangers: dict[Stage, _Queue] = {stage: {} for stage in Stage}
        self._authenticated: dict[Stage, _Queue] = {stage: {} for stage in Stage}
        self._by_address: dict[tuple[Stage, str], _Queue] = {}
        self._stalled: dict[AcceptedConnection, int] = {}
        self._number = 0
        self._ticks = 0
        self._notices = {text: _Notice(text) for text in (TOO_MANY, REFUSED)}

    def __len__(self) -> int:
        return self._number

    def count(self, stage: Stage) -> int:
        """Return the number of connections in a stage."""
        return len(self._strangers[stage]) + len(self._authenticated[stage])

    def admit(self, connection: AcceptedConnection) -> bool:
        """Admit a new connection, closing an old one if there are too many.

        Returns False without admitting it if no other connection can be closed: all have a request
        in progress or are authenticated.
        """
        if len(self) >= self._most and not self.make_room():
            self._notices[REFUSED].count(connection.address, self._ticks)
            return False
        self._number += 1
        self._enter(connection, Stage.WAITING)
        return True

    def move(self, connection: AcceptedConnection, stage: Stage) -> None:
        """Record that a connection has entered a stage; does nothing if it is closed."""
        if connection.stage is None:
            return
        self._leave(connection)
        self._enter(connection, stage)

    def authenticate(self, connection: AcceptedConnection) -> None:
        """Record that the peer of a connection has authenticated."""
        if connection.authenticated or connection.stage is None:
            return
        stage, since = connection.stage, connection.since
        self._leave(connection)
        connection.authenticated = True
        self._enter(connection, stage)
        connection.since = since

    def stall(self, connection: AcceptedConnection) -> None:
        """Record that the peer does not read what is written to it."""
        if connection.stage is not None:
            self._stalled[connection] = self._ticks

    def flow(self, connection: AcceptedConnection) -> None:
        """Record that the peer reads again."""
        self._stalled.pop(connection, None)

    def remove(self, connection: AcceptedConnection) -> None:
        """Remove a connection that has been closed."""
        if connection.stage is None:
            return
        self._leave(connection)
        self._stalled.pop(connection, None)
        self._number -= 1
        connection.stage = None

    def make_room(self) -> bool:
        """Close the stranger that has gone longest without a request; False if there is none."""
        for stage in (Stage.WAITING, Stage.HANDSHAKE, Stage.HEAD, Stage.IDLE):
            for oldest in self._strangers[stage]:
                self._notices[TOO_MANY].count(oldest.address, self._ticks)
                self._close(oldest)
                return True
        return False

    @property
    def stalled(self) -> int:
        """The number of connections whose client does not read."""
        return len(self._stalled)

    def tick(self) -> None:
        """Count one second, and close every connection that has exceeded its time limit."""
        self._ticks += 1
        for stage, limit in self._limits.items():
            self._expire(self._strangers[stage], limit.seconds)
            seconds = limit.seconds
            if stage is Stage.IDLE:
                seconds = self._authenticated_idle_seconds
            self._expire(self._authenticated[stage], seconds)
        for connection, since in [*self._stalled.items()]:
            if self._ticks - since <= self._stalled_seconds:
                break
            vlog(log, 4, "Closed a connection that is not read", address=connection.address)
            self._close(connection)
        for notice in self._notices.values():
            notice.tell(self._ticks)

    def close(self, *stages: Stage) -> None:
        """Close every connection in one of these stages."""
        for stage in stages:
            for connection in [*self._strangers[stage], *self._authenticated[stage]]:
                self._close(connection)

    def validate(self) -> None:
        """Check that all indexes agree; for tests."""
        assert len(self) == sum(map(self.count, Stage))
        for stage, queue in self._strangers.items():
            own = [one for (at, _), some in self._by_address.items() if at is stage for one in some]
            assert sorted(map(id, own)) == sorted(map(id, queue))
            assert all(one.stage is stage and not one.authenticated for one in queue)
            limit = self._limits.get(stage)
            assert limit is None or len(queue) <= limit.total
        assert all(self._by_address.values())
        for stage, queue in self._authenticated.items():
            assert all(one.stage is stage and one.authenticated for one in queue)
        assert len(self) <= self._most
        assert all(one.stage is not None for one in self._stalled)

    def _expire(self, queue: _Queue, seconds: int) -> None:
        for connection in [*queue]:
            if self._ticks - connection.since <= seconds:
                return
            vlog(
                log,
                4,
                "Closed a connection that was too slow",
                address=connection.address,
                stage=connection.stage and connection.stage.value,
            )
            self._close(connection)

    def _enter(self, connection: AcceptedConnection, stage: Stage) -> None:
        connection.stage = stage
        connection.since = self._ticks
        if connection.authenticated:
            self._authenticated[stage][connection] = None
            return
        queue = self._strangers[stage]
        queue[connection] = None
        own = self._by_address.setdefault((stage, connection.address), {})
        own[connection] = None
        limit = self._limits.get(stage)
        if limit is None:
            return
        if len(own) > limit.per_address:
            oldest = next(iter(own))
        elif len(queue) > limit.total:
            oldest = next(iter(queue))
        else:
            return
        self._notices[TOO_MANY].count(oldest.address, self._ticks)
        self._close(oldest)

    def _leave(self, connection: AcceptedConnection) -> None:
        stage = connection.stage
        assert stage is not None
        if connection.authenticated:
            del self._authenticated[stage][connection]
            return
        del self._strangers[stage][connection]
        key = (stage, connection.address)
        own = self._by_address[key]
        del own[connection]
        if not own:
            del self._by_address[key]

    def _close(self, connection: AcceptedConnection) -> None:
        self.remove(connection)
        connection.close()


class _Notice:
    """A log line about something that may happen thousands of times a second."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._number = 0
        self._address = ""
        self._last: int | None = None

    def count(self, address: str, ticks: int) -> None:
        self._number += 1
        self._address = address
        self.tell(ticks)

    def tell(self, ticks: int) -> None:
        """Log the count, unless it was logged a short while ago."""
        if not self._number or (self._last is not None and ticks - self._last < NOTICE_TICKS):
            return
        log.warning(self._text, extra=kv(connections=self._number, lastAddress=self._address))
        self._number = 0
        self._last = ticks


def peer_address(name: str) -> str:
    """Return the key for limits per address: an IPv4 address, or the /64 of an IPv6 address.

    A single host commonly has all addresses of a /64.
    """
    if ":" not in name:
        return name
    try:
        address = ipaddress.IPv6Address(name.partition("%")[0])
    except ValueError:
        return name
    if address.ipv4_mapped is not None:
        return str(address.ipv4_mapped)
    return str(ipaddress.ip_network((address, 64), strict=False))
