from __future__ import annotations

import random

import pytest
from msgspec.structs import replace

from mooring.serve.connections import (
    NOTICE_TICKS,
    REFUSED,
    TOO_MANY,
    AcceptedConnection,
    Connections,
    Limits,
    Stage,
    StageLimit,
    peer_address,
)

SMALL = Limits(
    waiting=StageLimit(8, 4, 3),
    handshake=StageLimit(8, 3, 2),
    head=StageLimit(12, 3, 2),
    idle=StageLimit(25, 3, 2),
    connections=10,
)


class Peer(AcceptedConnection):
    """A connection that records whether it was closed."""

    def __init__(self, address: str = "10.0.0.1") -> None:
        super().__init__(address)
        self.closed = False

    def close(self) -> None:
        assert not self.closed
        self.closed = True


def admitted(
    connections: Connections, number: int, address: str = "10.0.0.1", *stages: Stage
) -> list[Peer]:
    """Return new connections that have moved through some stages to the last."""
    peers = [Peer(address) for _ in range(number)]
    for peer in peers:
        assert connections.admit(peer)
        for stage in stages:
            connections.move(peer, stage)
    return peers


def closed(peers: list[Peer]) -> list[bool]:
    return [peer.closed for peer in peers]


def test_the_oldest_of_an_address_makes_room_for_its_newest() -> None:
    connections = Connections(SMALL)
    other = admitted(connections, 1, "10.0.0.2")
    peers = admitted(connections, 5)
    assert closed(peers) == [True, True, False, False, False]
    assert closed(other) == [False]


def test_the_oldest_of_all_makes_room_where_no_address_has_too_many() -> None:
    connections = Connections(SMALL)
    peers = [peer for i in range(6) for peer in admitted(connections, 1, f"10.0.0.{i}")]
    assert closed(peers) == [True, True, False, False, False, False]


@pytest.mark.parametrize("stage", [Stage.HANDSHAKE, Stage.HEAD, Stage.IDLE])
def test_every_stage_has_limits_of_its_own(stage: Stage) -> None:
    connections = Connections(SMALL)
    peers = admitted(connections, 4, "10.0.0.1", stage)
    assert closed(peers) == [True, True, False, False]
    assert connections.count(stage) == 2


def test_requests_under_way_are_never_closed_for_others() -> None:
    connections = Connections(SMALL)
    peers = admitted(connections, 10, "10.0.0.1", Stage.SERVING)
    late = Peer()
    assert not connections.admit(late)
    assert not any(closed(peers)) and not late.closed


@pytest.mark.parametrize("stage", [stage for stage in Stage if stage is not Stage.WAITING])
def test_authenticated_clients_are_never_closed_for_others(stage: Stage) -> None:
    connections = Connections(SMALL)
    peers: list[Peer] = []
    for _ in range(10):
        peers += admitted(connections, 1, "10.0.0.1", Stage.SERVING)
        connections.authenticate(peers[-1])
        connections.move(peers[-1], stage)
    assert not connections.admit(Peer("10.0.0.2"))
    assert not any(closed(peers))


def test_strangers_make_room_in_all_those_without_a_request_first() -> None:
    connections = Connections(SMALL)
    idle = admitted(connections, 1, "10.0.0.9", Stage.IDLE)
    serving = admitted(connections, 8, "10.0.0.1", Stage.SERVING)
    waiting = admitted(connections, 1)
    newest = admitted(connections, 1)
    assert closed(waiting) == [True] and closed(idle) == [False]
    connections.move(newest[0], Stage.SERVING)
    admitted(connections, 1)
    assert closed(idle) == [True] and not any(closed(serving + newest))


@pytest.mark.parametrize(
    ("stage", "seconds"),
    [(Stage.WAITING, 8), (Stage.HANDSHAKE, 8), (Stage.HEAD, 12), (Stage.IDLE, 25)],
)
def test_each_stage_ends_in_time(stage: Stage, seconds: int) -> None:
    connections = Connections(SMALL)
    [peer] = admitted(connections, 1, "10.0.0.1", stage)
    for _ in range(seconds):
        connections.tick()
    assert not peer.closed
    connections.tick()
    assert peer.closed and len(connections) == 0


def test_nobody_holds_a_connection_for_more_than_30_seconds_without_a_request() -> None:
    limits = Limits()
    stages = (limits.waiting, limits.handshake, limits.head)
    # Each stage may last up to a tick longer than its limit.
    assert sum(stage.seconds + 1 for stage in stages) <= 30
    assert limits.idle.seconds < 30


def test_a_request_that_is_answered_slowly_is_waited_for() -> None:
    connections = Connections(SMALL)
    [peer] = admitted(connections, 1, "10.0.0.1", Stage.SERVING)
    for _ in range(1000):
        connections.tick()
    assert not peer.closed


def test_an_authenticated_client_may_be_idle_for_longer() -> None:
    connections = Connections(SMALL)
    [peer] = admitted(connections, 1, "10.0.0.1", Stage.SERVING)
    connections.authenticate(peer)
    connections.move(peer, Stage.IDLE)
    for _ in range(SMALL.authenticated_idle_seconds):
        connections.tick()
    assert not peer.closed
    connections.tick()
    assert peer.closed


def test_a_client_that_does_not_read_is_closed_even_with_a_request_under_way() -> None:
    connections = Connections(SMALL)
    stalled, reading = admitted(connections, 2, "10.0.0.1", Stage.SERVING)
    for peer in (stalled, reading):
        connections.authenticate(peer)
        connections.stall(peer)
    for _ in range(SMALL.stalled_seconds):
        connections.tick()
    connections.flow(reading)
    connections.stall(reading)
    connections.tick()
    assert stalled.closed and not reading.closed


def test_closing_is_logged_once_a_minute_with_its_number(caplog: pytest.LogCaptureFixture) -> None:
    connections = Connections(SMALL)
    admitted(connections, 13)
    for _ in range(NOTICE_TICKS):
        connections.tick()
    admitted(connections, 10, "10.0.0.1", Stage.SERVING)
    for _ in range(5):
        assert not connections.admit(Peer("10.0.0.7"))
    lines = [(record.getMessage(), record.__dict__["kv"]) for record in caplog.records]
    assert lines == [
        (TOO_MANY, {"connections": 1, "lastAddress": "10.0.0.1"}),
        (TOO_MANY, {"connections": 9, "lastAddress": "10.0.0.1"}),
        (REFUSED, {"connections": 1, "lastAddress": "10.0.0.7"}),
    ]


def test_what_has_ended_is_left_alone() -> None:
    connections = Connections(SMALL)
    [peer] = admitted(connections, 1)
    connections.remove(peer)
    connections.remove(peer)
    connections.move(peer, Stage.SERVING)
    connections.authenticate(peer)
    connections.stall(peer)
    assert len(connections) == 0 and peer.stage is None and not peer.closed


def test_all_of_some_stages_are_closed() -> None:
    connections = Connections(SMALL)
    waiting = admitted(connections, 2)
    serving = admitted(connections, 2, "10.0.0.1", Stage.SERVING)
    connections.close(Stage.WAITING, Stage.HANDSHAKE)
    assert all(closed(waiting)) and not any(closed(serving))


@pytest.mark.parametrize("seed", range(20))
def test_every_index_tells_the_same_whatever_happens(seed: int) -> None:
    draw = random.Random(seed)
    connections = Connections(replace(SMALL, stalled_seconds=3))
    peers: list[Peer] = []
    for _ in range(400):
        if not peers or draw.random() < 0.2:
            peers.append(Peer(f"10.0.0.{draw.randrange(4)}"))
            connections.admit(peers[-1])
        peer = draw.choice(peers)
        match draw.randrange(8):
            case 0:
                connections.authenticate(peer)
            case 1:
                connections.stall(peer)
            case 2:
                connections.flow(peer)
            case 3:
                connections.remove(peer)
            case 4:
                connections.tick()
            case _:
                connections.move(peer, draw.choice([*Stage]))
        connections.validate()
        assert all(peer.stage is None for peer in peers if peer.closed)


@pytest.mark.parametrize(
    ("name", "address"),
    [
        ("10.1.2.3", "10.1.2.3"),
        ("::ffff:10.1.2.3", "10.1.2.3"),
        ("2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        ("2001:db8:1:2::9", "2001:db8:1:2::/64"),
        ("fe80::1%eth0", "fe80::/64"),
        ("a unix socket", "a unix socket"),
    ],
)
def test_an_ipv6_host_counts_by_its_network(name: str, address: str) -> None:
    assert peer_address(name) == address
