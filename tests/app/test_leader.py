from __future__ import annotations

import asyncio
import logging
import random

import pytest
from msgspec.structs import replace

from mooring.api.durations import Duration
from mooring.api.events import Lease
from mooring.api.lease_numbers import MOST_IN_LEASE
from mooring.api.timestamps import parse_time
from mooring.app import leader
from mooring.app.leader import LeaderElector, check_timing, make_fence
from mooring.app.lease_lock import LeaseLock
from mooring.config.types import LeaderElection
from mooring.errors import ApiError, ConfigError, NoAnswerError
from tests.app.lease_server import Server
from tests.support.virtual_loop import LoopClock, VirtualLoop, run_virtually

FORBIDDEN = (
    'leases.coordination.k8s.io "kube-scheduler" is forbidden: User "x" cannot get resource '
    '"leases" in API group "coordination.k8s.io" in the namespace "kube-system"'
)


class Metrics:
    def __init__(self) -> None:
        self.seen: list[bool] = []
        self.slow = 0

    def leading(self, name: str, leads: bool) -> None:
        assert name == "kube-scheduler"
        self.seen.append(leads)

    def slow_path(self, name: str) -> None:
        self.slow += 1


class Candidate:
    """One process that wants to lead."""

    def __init__(
        self,
        server: Server,
        identity: str = "me",
        skew: float = 0.0,
        *,
        timeout: float = 5.0,
        renew_seconds: float = 10.0,
        warns: bool = False,
    ) -> None:
        self.metrics = Metrics()
        self.started: list[float] = []
        self.lost: list[float] = []
        self.leaders: list[str] = []
        lock = LeaseLock(
            server,
            "kube-system",
            "kube-scheduler",
            identity=identity,
            component="default-scheduler",
            timeout=timeout,
            clock=LoopClock(skew=skew),
        )
        settings = LeaderElection(renew_deadline=Duration.from_seconds(renew_seconds))
        self.fence = make_fence(settings, lambda: asyncio.get_running_loop().time())
        self.elector = LeaderElector(
            settings,
            lock,
            fence=self.fence,
            metrics=self.metrics,
            on_new_leader=self.leaders.append,
            rng=random.Random(1),
            warns=warns,
        )

    async def run(self) -> bool:
        time = asyncio.get_running_loop().time
        return await self.elector.run(
            lambda: self.started.append(time()), lambda: self.lost.append(time())
        )

    def begin(self) -> asyncio.Task[bool]:
        return asyncio.create_task(self.run())


def test_a_free_lease_is_acquired_at_once_renewed_and_released(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.INFO - 5)
    server = Server()
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(9)
        assert me.elector.is_leader
        me.elector.stop()
        assert await running is True

    run_virtually(scenario())
    assert me.started == [0.0]
    assert me.lost == []
    assert me.leaders == ["me"]
    assert me.metrics.seen == [False, True, False]
    assert server.calls == ["get", "create", *["update"] * 5, "get", "update"]
    first, *renewals, last = server.writes
    assert (first.holder_identity, first.lease_duration_seconds, first.lease_transitions) == (
        "me",
        15,
        0,
    )
    assert [parse_time(one.renew_time or "") for one in renewals] == pytest.approx(
        [1_800_000_000.0 + second for second in (0, 2, 4, 6, 8)], abs=1e-3
    )
    assert {one.acquire_time for one in renewals} == {first.acquire_time}
    assert (last.holder_identity, last.lease_duration_seconds, last.lease_transitions) == (
        "",
        1,
        0,
    )
    messages = [record.getMessage() for record in caplog.records]
    assert messages[:3] == [
        "Attempting to acquire leader lease...",
        "Successfully acquired lease",
        "Successfully renewed lease",
    ]
    assert messages[-1] == "Failed to renew lease"
    assert caplog.records[-1].kv == {
        "lock": "kube-system/kube-scheduler",
        "err": "context canceled",
    }


def test_becoming_leader_is_an_event_about_the_lease() -> None:
    server = Server()
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(1)
        me.elector.stop()
        await running

    run_virtually(scenario())
    [event] = server.events
    assert event["reason"] == "LeaderElection"
    assert event["message"] == "me became leader"
    assert event["type"] == "Normal"
    assert event["source"] == {"component": "default-scheduler"}
    assert event["involvedObject"]["kind"] == "Lease"
    assert event["involvedObject"]["uid"] == "kube-system/kube-scheduler"
    assert event["metadata"]["name"].startswith("kube-scheduler.")
    assert event["firstTimestamp"] == "2027-01-15T08:00:00Z"


def test_a_held_lease_is_taken_over_when_it_was_not_renewed_for_its_duration() -> None:
    server = Server()
    server.hold("other")
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(40)
        me.elector.stop()
        await running

    run_virtually(scenario())
    # Between the duration of the lease and one jittered retry later.
    assert 15.0 <= me.started[0] <= 15.0 + 2 * 2.2
    taken = server.writes[1]
    assert taken.holder_identity == "me"
    assert taken.lease_transitions == 4
    assert me.leaders[:2] == ["other", "me"]


def test_a_lease_that_is_renewed_is_never_taken_however_wrong_its_clock() -> None:
    server = Server()
    server.hold("other")
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        for _ in range(30):
            await asyncio.sleep(10)
            server.hold("other")
        assert me.started == []
        me.elector.stop()
        assert await running is True

    run_virtually(scenario())
    assert {one.holder_identity for one in server.writes} == {"other"}


@pytest.mark.parametrize("warns", [True, False])
def test_a_candidate_that_waits_says_every_minute_who_holds_the_lease(
    warns: bool, caplog: pytest.LogCaptureFixture
) -> None:
    server = Server()
    server.hold("other")
    me = Candidate(server, warns=warns)
    said: list[float] = []

    async def scenario() -> None:
        running = me.begin()
        for _ in range(18):
            await asyncio.sleep(10)
            server.hold("other")
            said.append(len([one for one in caplog.records if one.levelname == "WARNING"]))
        me.elector.stop()
        await running

    run_virtually(scenario())
    # At the start, and after one, two and three minutes at the latest.
    expected = [1] * 6 + [2] * 6 + [3] * 6
    if not warns:
        assert said == [0] * 18
        return
    assert all(found in (wanted, wanted - 1) for found, wanted in zip(said, expected, strict=True))
    assert said[0] == 1 and said[-1] == 3
    first = next(one for one in caplog.records if one.levelname == "WARNING")
    assert first.message.startswith("Another process holds the lease: ")
    assert "--leader-elect-resource-name" in first.message
    assert first.kv == {
        "lock": "kube-system/kube-scheduler",
        "holder": "other",
        "since": "2099-01-01T00:00:00.000000Z",
    }


def test_a_full_count_of_transitions_stays_full() -> None:
    """The API refuses a larger number, with which nobody could take the lease any more."""
    server = Server()
    server.hold("other")
    assert server.lease is not None
    spec = replace(server.lease.spec, lease_transitions=MOST_IN_LEASE)
    server.put(replace(server.lease, spec=spec))
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(20.0)
        assert me.started
        assert server.lease is not None
        assert server.lease.spec.lease_transitions == MOST_IN_LEASE
        me.elector.stop()
        await running

    run_virtually(scenario())


def test_a_lease_that_is_deleted_is_not_taken_while_its_holder_may_lead() -> None:
    server = Server()
    me = Candidate(server)

    async def scenario() -> None:
        server.hold("other", seconds=3600)
        running = me.begin()
        await asyncio.sleep(10.0)
        await server.delete(Lease, "kube-scheduler", "kube-system")
        await asyncio.sleep(14.0)
        assert not me.started
        # Not for the hour: a stranger may have named any duration.
        await asyncio.sleep(8.0)
        assert me.started
        me.elector.stop()
        await running

    run_virtually(scenario())


def test_a_released_lease_is_taken_at_the_next_try() -> None:
    server = Server()
    server.hold("", seconds=1)
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(0.1)
        assert me.started == [0.0]
        me.elector.stop()
        await running

    run_virtually(scenario())
    assert server.writes[1].lease_transitions == 4


def test_one_of_two_candidates_leads_and_the_other_follows_whatever_their_clocks() -> None:
    server = Server()
    one, two = Candidate(server, "one"), Candidate(server, "two", skew=-86_400.0)

    async def scenario() -> None:
        first = one.begin()
        await asyncio.sleep(0.5)
        second = two.begin()
        await asyncio.sleep(60)
        assert (len(one.started), len(two.started)) == (1, 0)
        one.elector.stop()
        assert await first is True
        await asyncio.sleep(5)
        assert two.elector.is_leader
        assert not one.elector.is_leader
        two.elector.stop()
        await second

    run_virtually(scenario())
    # It takes over within one retry, not after the lease duration.
    assert 60.5 <= two.started[0] <= 65.0


def test_a_leader_that_cannot_renew_gives_up_at_the_renew_deadline() -> None:
    server = Server()
    me = Candidate(server)

    async def scenario() -> bool:
        running = me.begin()
        await asyncio.sleep(5)

        def refuse(verb: str) -> None:
            raise NoAnswerError("connection refused", sent=False)

        server.trouble = refuse
        return await running

    assert run_virtually(scenario()) is False
    # The renewal that began after 6 seconds was retried for 10; the lease is valid until 19.
    assert me.lost == [pytest.approx(16.0, abs=0.01)]
    assert me.metrics.seen == [False, True, False]


def test_a_request_that_hangs_is_cut_and_tried_again() -> None:
    server = Server()
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(5)
        hanging = [asyncio.sleep(3600)]
        server.trouble = lambda verb: hanging.pop() if hanging else None
        await asyncio.sleep(30)
        assert me.elector.is_leader
        assert me.lost == []
        me.elector.stop()
        await running

    run_virtually(scenario())
    assert me.metrics.slow == 1


@pytest.mark.parametrize("holder", ["thief", ""], ids=["by another", "and given up again"])
def test_a_leader_that_reads_another_holder_stops_leading_at_once(
    holder: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.INFO)
    server = Server()
    me = Candidate(server)

    async def scenario() -> bool:
        running = me.begin()
        await asyncio.sleep(5)
        server.hold(holder)
        server.calls.clear()
        return await running

    assert run_virtually(scenario()) is False
    # At the next renewal, not at the renew deadline after 16 seconds.
    assert me.lost == [pytest.approx(6.0, abs=0.01)]
    # The lease is neither written nor released: it is, or for a time was, another's.
    assert server.calls == ["update", "get"]
    assert server.writes[-1].holder_identity == holder
    assert me.leaders == ["me", holder]
    assert me.metrics.seen == [False, True, False]
    assert caplog.records[-1].getMessage() == "Failed to renew lease"
    assert caplog.records[-1].kv["err"] == f"the lease is held by {holder or 'nobody'}"


def test_writes_pass_for_the_duration_of_the_lease_after_the_last_renewal_was_sent() -> None:
    server = Server()
    # It gives up after the last write has passed.
    me = Candidate(server, renew_seconds=14.0)

    async def scenario() -> None:
        assert not me.fence.is_open
        running = me.begin()
        await asyncio.sleep(5)
        assert me.fence.is_open
        # The renewal sent after 6 seconds gets its response after 9.
        slow = [asyncio.sleep(3)]
        server.trouble = lambda verb: slow.pop() if slow else asyncio.sleep(3600)
        await asyncio.sleep(4.5)
        assert server.calls[-2:] == ["update", "update"]
        # No later renewal succeeds; what counts is when the last successful one was sent.
        await asyncio.sleep(11.4)
        assert asyncio.get_running_loop().time() == pytest.approx(20.9)
        assert me.fence.is_open
        await asyncio.sleep(0.2)
        assert not me.fence.is_open
        assert me.lost == []
        running.cancel()

    run_virtually(scenario())


def test_a_renewal_that_was_answered_after_its_lease_ended_is_followed_by_another(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    # As if the process had been stopped between sending and receiving: no timeout applies.
    monkeypatch.setattr(leader, "check_timing", lambda settings: None)
    server = Server()
    me = Candidate(server, timeout=3600.0, renew_seconds=3600.0)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(5)
        stopped = [asyncio.sleep(20)]
        server.trouble = lambda verb: stopped.pop() if stopped else None
        await asyncio.sleep(21.0001)
        # Sent after 6 s, response after 26 s: it proves nothing about now, but the next one does.
        assert server.calls[-2:] == ["update", "update"]
        assert me.fence.is_open
        me.elector.stop()
        assert await running is True

    run_virtually(scenario())


@pytest.mark.parametrize("stops", [True, False], ids=["stopping", "after a loss"])
def test_no_write_passes_from_before_the_release_on(stops: bool) -> None:
    server = Server()
    me = Candidate(server)
    open_at_release: list[bool] = []

    def trouble(verb: str) -> None:
        if not (stops or me.lost):
            raise NoAnswerError("connection refused", sent=False)
        open_at_release.append(me.fence.is_open)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(5)
        assert me.fence.is_open
        server.trouble = trouble
        if stops:
            me.elector.stop()
        assert await running is stops

    run_virtually(scenario())
    assert server.writes[-1].holder_identity == ""
    assert open_at_release == [False, False]


def test_an_election_that_breaks_leaves_no_permission_to_write() -> None:
    server = Server()
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(5)
        assert me.fence.is_open

        def break_it(verb: str) -> None:
            raise RuntimeError("a bug")

        server.trouble = break_it
        with pytest.raises(RuntimeError, match="a bug"):
            await running
        assert not me.fence.is_open

    run_virtually(scenario())


def test_the_fence_lasts_for_the_whole_seconds_that_are_written_into_the_lease() -> None:
    settings = LeaderElection(lease_duration=Duration.parse("15900ms"))
    now = 0.0
    fence = make_fence(settings, lambda: now)
    fence.renew(0.0)
    now = 14.9
    assert fence.is_open
    now = 15.0
    assert not fence.is_open


def test_a_conflict_is_resolved_by_reading() -> None:
    server = Server()
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(5)
        # As if a user had labelled the lease: the version is new, the holder is not.
        assert server.lease is not None
        server.put(server.lease)
        await asyncio.sleep(5)
        assert me.elector.is_leader
        me.elector.stop()
        assert await running is True

    run_virtually(scenario())
    assert me.metrics.slow == 1
    assert server.writes[-1].holder_identity == ""


def test_a_write_whose_answer_was_lost_is_found_out_by_reading() -> None:
    server = Server()
    me = Candidate(server)

    async def scenario() -> None:
        server.lost_answers = {"create"}
        running = me.begin()
        await asyncio.sleep(1)
        assert me.started == []
        server.lost_answers = set()
        await asyncio.sleep(20)
        assert me.elector.is_leader
        server.lost_answers = {"update"}
        await asyncio.sleep(3)
        server.lost_answers = set()
        await asyncio.sleep(20)
        assert me.lost == []
        me.elector.stop()
        assert await running is True

    run_virtually(scenario())
    # The leader has not changed.
    assert {one.lease_transitions for one in server.writes} == {0}


def test_a_renewal_after_a_lost_answer_shows_that_somebody_is_there() -> None:
    server = Server()
    me = Candidate(server)

    async def scenario() -> None:
        running = me.begin()
        await asyncio.sleep(5)
        written = len(server.writes)

        async def lose(verb: str) -> None:
            if verb == "get":
                await asyncio.sleep(4)
                server.lost_answers = set()

        server.lost_answers = {"update"}
        server.trouble = lose
        await asyncio.sleep(6)
        # The first write was applied, so the second must differ for others to notice it.
        first, second = (one.renew_time for one in server.writes[written : written + 2])
        assert first is not None and second is not None and first < second
        me.elector.stop()
        server.trouble = lambda verb: None
        assert await running is True

    run_virtually(scenario())


def test_missing_permission_is_logged_and_tried_again(caplog: pytest.LogCaptureFixture) -> None:
    server = Server()
    me = Candidate(server)

    def refuse(verb: str) -> None:
        raise ApiError(403, FORBIDDEN, reason="Forbidden", method="GET", url="https://x")

    async def scenario() -> None:
        server.trouble = refuse
        running = me.begin()
        await asyncio.sleep(10)
        server.trouble = lambda verb: None
        await asyncio.sleep(5)
        assert me.elector.is_leader
        me.elector.stop()
        await running

    run_virtually(scenario())
    refusals = [r for r in caplog.records if r.getMessage() == "Error retrieving lease lock"]
    assert len(refusals) >= 3
    assert refusals[0].kv == {"err": FORBIDDEN, "lock": "kube-system/kube-scheduler"}


def test_a_right_that_the_log_has_named_is_missed_quietly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    server = Server()
    me = Candidate(server)

    def refuse(verb: str) -> None:
        error = ApiError(403, FORBIDDEN, reason="Forbidden")
        error.repeated = len(server.calls) > 1
        raise error

    async def scenario() -> None:
        server.trouble = refuse
        running = me.begin()
        await asyncio.sleep(20)
        me.elector.stop()
        await running

    run_virtually(scenario())
    assert len(server.calls) > 3
    assert [one.message for one in caplog.records if one.levelno >= logging.ERROR] == [
        "Error retrieving lease lock"
    ]


def test_stopping_while_waiting_for_the_lease_leaves_it_alone() -> None:
    server = Server()
    server.hold("other")
    me = Candidate(server)

    async def scenario() -> float:
        running = me.begin()
        await asyncio.sleep(3)
        me.elector.stop()
        assert await running is True
        return asyncio.get_running_loop().time()

    assert run_virtually(scenario()) == pytest.approx(3.0, abs=0.01)
    assert me.started == []
    assert len(server.writes) == 1


def test_a_lease_acquired_while_stopping_is_released() -> None:
    async def story() -> None:
        server = Server()
        me = Candidate(server)
        created = asyncio.Event()

        async def create(obj: Lease) -> Lease:
            server.put(obj)
            created.set()
            await asyncio.sleep(3600)
            raise AssertionError("cancelled before")

        server.create = create  # type: ignore[method-assign]
        running = asyncio.create_task(me.run())
        await created.wait()
        me.elector.stop()
        assert await running
        assert [spec.holder_identity for spec in server.writes] == ["me", ""]
        assert me.started == []

    run_virtually(story())


def test_the_health_check_fails_for_a_leader_that_stands_still() -> None:
    server = Server()
    me = Candidate(server)
    check = me.elector.check

    async def scenario() -> None:
        loop = asyncio.get_running_loop()
        assert isinstance(loop, VirtualLoop)
        assert check.problem() is None
        running = me.begin()
        await asyncio.sleep(1)
        assert check.problem() is None
        loop.stand_still(33)
        assert check.problem() is None
        loop.stand_still(2)
        problem = "failed election to renew leadership on lease kube-scheduler"
        assert check.problem() == problem
        me.elector.stop()
        await running

    assert check.name == "leaderElection"
    run_virtually(scenario())


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({}, None),
        ({"lease_duration": "10s"}, "leaseDuration must be greater than renewDeadline"),
        (
            {"renew_deadline": "2.4s"},
            "renewDeadline must be greater than retryPeriod*JitterFactor",
        ),
        (
            {"retry_period": "-1s", "renew_deadline": "0s"},
            "renewDeadline must be greater than zero",
        ),
        ({"retry_period": "0s"}, "retryPeriod must be greater than zero"),
    ],
    ids=str,
)
def test_durations_that_cannot_work_together_are_refused(
    changes: dict[str, str], message: str | None
) -> None:
    values = {name: Duration.parse(text) for name, text in changes.items()}
    settings = LeaderElection(**values)
    if message is None:
        check_timing(settings)
        return
    with pytest.raises(ConfigError) as caught:
        check_timing(settings)
    assert str(caught.value) == f"couldn't create leader elector: {message}"
