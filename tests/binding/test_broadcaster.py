"""EventBroadcaster: what is written when, on an event loop with virtual time."""

from __future__ import annotations

import asyncio
import logging
import random
from collections.abc import Callable
from typing import Any

import msgspec
import pytest

from mooring.api import Event, Pod
from mooring.binding import broadcaster
from mooring.binding.broadcaster import (
    DROPPED,
    MAY_RETRY,
    REJECTED,
    RETRY_LIMIT,
    SENDERS,
    EventBroadcaster,
)
from mooring.binding.event_recorder import EventRecorder
from mooring.errors import ApiError, LeaseExpiredError, NoAnswerError
from tests.cycle.scheduling import make_pod
from tests.support.virtual_loop import LoopClock, run_virtually

MINUTE = 60.0
NOT_FOUND = ApiError(404, reason="NotFound")
EXISTS = ApiError(409, reason="AlreadyExists")
FORBIDDEN = ApiError(403, reason="Forbidden")
NO_ANSWER = NoAnswerError("connection refused", sent=False)


class FakeClient:
    """A client that records writes; the first calls raise `failures`, one each."""

    def __init__(self) -> None:
        self.written: list[tuple[str, str, Any]] = []
        self.times: list[float] = []
        self.failures: list[ApiError] = []
        self.before: Callable[[], Any] | None = None
        self.under_way = self.most_under_way = 0

    async def _write(self, verb: str, name: str, what: Any) -> None:
        self.under_way += 1
        self.most_under_way = max(self.most_under_way, self.under_way)
        if self.before is not None:
            await self.before()
        self.under_way -= 1
        self.times.append(asyncio.get_running_loop().time())
        if self.failures:
            failure = self.failures.pop(0)
            self.written.append((f"{verb} {failure.status}", name, what))
            raise failure
        self.written.append((verb, name, what))

    async def create(self, event: Event) -> Event:
        series = event.series and event.series.count
        await self._write("create", event.regarding.name, series)
        return event

    async def patch(self, kind: Any, name: str, namespace: str, patch: Any) -> None:
        assert kind is Event
        await self._write("patch", name.partition(".")[0], patch["series"]["count"])


class Scene:
    """A broadcaster with its client and a recorder."""

    def __init__(self) -> None:
        self.client = FakeClient()
        client: Any = self.client
        self.broadcaster = EventBroadcaster(
            client, LoopClock(), random=random.Random(1), hostname="host"
        )
        self.recorder = self.broadcaster.recorder("default-scheduler")

    def fail(self, pod: Pod, note: str = "no room", recorder: EventRecorder | None = None) -> None:
        """Report a pod that cannot be scheduled."""
        (recorder or self.recorder).event(pod, "Warning", "FailedScheduling", "Scheduling", note)

    @property
    def written(self) -> list[tuple[str, str, Any]]:
        return self.client.written


def scene(story: Callable[[Scene], Any]) -> Scene:
    """Run a story on virtual time, then close the broadcaster."""

    async def play() -> Scene:
        made = Scene()
        await story(made)
        await made.broadcaster.close()
        return made

    return run_virtually(play())


async def settle() -> None:
    """Give the senders time to write what is not waiting for a retry."""
    await asyncio.sleep(0.001)


def versioned(version: str) -> Pod:
    pod = make_pod()
    metadata = msgspec.structs.replace(pod.metadata, resource_version=version)
    return msgspec.structs.replace(pod, metadata=metadata)


def test_recorders_are_named_after_profile_and_host() -> None:
    async def story(it: Scene) -> None:
        sent: list[Event] = []
        it.broadcaster.record = sent.append  # type: ignore[method-assign]
        it.fail(make_pod(), recorder=it.broadcaster.recorder("other"))
        assert sent[0].reporting_controller == "other"
        assert sent[0].reporting_instance == "other-host"

    scene(story)


def test_the_second_of_a_kind_makes_a_series_that_later_ones_only_count_in() -> None:
    async def story(it: Scene) -> None:
        for number in range(5):
            it.fail(make_pod(), f"note {number}")
            await settle()
        assert it.written == [("create", "web", None), ("patch", "web", 2)]

    scene(story)


def test_a_series_is_told_of_after_its_first_event() -> None:
    async def story(it: Scene) -> None:
        for _ in range(4):
            it.fail(make_pod())
        await settle()
        assert it.written == [("create", "web", None), ("patch", "web", 4)]

    scene(story)


OTHERS: list[Callable[[Scene], None]] = [
    lambda it: it.fail(make_pod("api")),
    lambda it: it.fail(versioned("8")),
    lambda it: it.recorder.event(make_pod(), "Normal", "FailedScheduling", "Scheduling", "note"),
    lambda it: it.recorder.event(make_pod(), "Warning", "Preempted", "Scheduling", "note"),
    lambda it: it.recorder.event(make_pod(), "Warning", "FailedScheduling", "Binding", "note"),
    lambda it: it.fail(make_pod(), recorder=it.broadcaster.recorder("other")),
    lambda it: it.recorder.event(
        make_pod(), "Warning", "FailedScheduling", "Scheduling", "note", related=make_pod("x")
    ),
]


@pytest.mark.parametrize(
    "other",
    OTHERS,
    ids=["pod", "resourceVersion", "type", "reason", "action", "profile", "related object"],
)
def test_events_that_differ_in_more_than_the_note_are_no_series(
    other: Callable[[Scene], None],
) -> None:
    async def story(it: Scene) -> None:
        it.fail(make_pod())
        other(it)
        await settle()
        assert [verb for verb, *_ in it.written] == ["create", "create"]

    scene(story)


def test_a_series_ends_with_its_last_count() -> None:
    async def story(it: Scene) -> None:
        it.broadcaster.start()
        for _ in range(7):
            it.fail(make_pod())
            await settle()
        await asyncio.sleep(7 * MINUTE)
        assert it.written[2:] == []
        await asyncio.sleep(6 * MINUTE)
        assert it.written[2:] == [("patch", "web", 7)]
        it.fail(make_pod())
        await settle()
        assert it.written[3:] == [("create", "web", None)]

    scene(story)


@pytest.mark.parametrize(
    ("quiet", "ended"), [(359.0, False), (360.0, False), (360.5, True)], ids=str
)
def test_a_series_has_ended_after_more_than_six_minutes(quiet: float, ended: bool) -> None:
    async def story(it: Scene) -> None:
        for _ in range(3):
            it.fail(make_pod())
            await settle()
        await asyncio.sleep(quiet - 0.001)
        it.broadcaster.finish_series()
        await settle()
        assert it.written[2:] == [("patch", "web", 3)] * ended

    scene(story)


def test_series_are_looked_at_every_six_minutes_and_refreshed_every_thirty() -> None:
    async def story(it: Scene) -> None:
        looked: list[tuple[str, float]] = []
        now = asyncio.get_running_loop().time
        it.broadcaster.finish_series = lambda: looked.append(("finish", now()))  # type: ignore
        it.broadcaster.refresh_series = lambda: looked.append(("refresh", now()))  # type: ignore
        begin = now()
        it.broadcaster.start()
        await asyncio.sleep(61 * MINUTE)
        times = [round(time - begin) for what, time in looked if what == "finish"]
        assert times == [360 * number for number in range(1, 11)]
        assert [round(time - begin) for what, time in looked if what == "refresh"] == [1800, 3600]

    scene(story)


def test_a_single_event_is_not_refreshed() -> None:
    async def story(it: Scene) -> None:
        it.fail(make_pod())
        await settle()
        it.broadcaster.refresh_series()
        await settle()
        assert it.written == [("create", "web", None)]

    scene(story)


def test_a_single_event_is_forgotten_without_a_word() -> None:
    async def story(it: Scene) -> None:
        it.broadcaster.start()
        it.fail(make_pod())
        await asyncio.sleep(13 * MINUTE)
        it.fail(make_pod())
        await settle()
        assert it.written == [("create", "web", None)] * 2

    scene(story)


def test_a_series_that_goes_on_is_refreshed_twice_an_hour() -> None:
    async def story(it: Scene) -> None:
        it.broadcaster.start()
        await asyncio.sleep(1)
        for _ in range(62):
            it.fail(make_pod())
            await asyncio.sleep(MINUTE)
        assert [entry[2] for entry in it.written] == [None, 2, 30, 60]
        minutes = [moment // MINUTE for moment in it.client.times]
        assert minutes == [0, 1, 30, 60]

    scene(story)


def test_a_series_whose_event_expired_is_created_anew() -> None:
    async def story(it: Scene) -> None:
        it.fail(make_pod())
        await settle()
        it.client.failures = [NOT_FOUND]
        it.fail(make_pod())
        await settle()
        assert it.written[1:] == [("patch 404", "web", 2), ("create", "web", 2)]

    scene(story)


def test_a_series_that_was_created_meanwhile_is_patched_later() -> None:
    async def story(it: Scene) -> None:
        it.fail(make_pod())
        await settle()
        it.client.failures = [NOT_FOUND, EXISTS]
        it.fail(make_pod())
        await asyncio.sleep(13)
        assert it.written[1:] == [
            ("patch 404", "web", 2),
            ("create 409", "web", 2),
            ("patch", "web", 2),
        ]

    scene(story)


def test_without_an_answer_an_event_is_tried_again_later(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    async def story(it: Scene) -> None:
        it.client.failures = [NO_ANSWER] * 2
        it.fail(make_pod())
        await asyncio.sleep(30)
        assert [verb for verb, *_ in it.written] == ["create 0", "create 0", "create"]
        pauses = [b - a for a, b in zip(it.client.times, it.client.times[1:], strict=False)]
        assert all(10 <= pause <= 12.5 for pause in pauses)
        assert pauses[0] != pauses[1]

    scene(story)
    assert [entry.message for entry in caplog.records] == [MAY_RETRY] * 2


def test_an_event_that_the_lease_forbids_is_tried_again_later_without_an_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.set_level(logging.ERROR)

    async def story(it: Scene) -> None:
        it.client.failures = [LeaseExpiredError("not sent: the lease is not held")]
        it.fail(make_pod())
        await asyncio.sleep(15)
        assert [verb for verb, *_ in it.written] == ["create 0", "create"]

    scene(story)
    assert caplog.records == []


def test_after_twelve_tries_an_event_is_given_up(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.ERROR)

    async def story(it: Scene) -> None:
        it.client.failures = [NO_ANSWER] * 50
        it.fail(make_pod())
        await asyncio.sleep(5 * MINUTE)
        assert len(it.written) == 12
        it.client.failures = []
        it.fail(make_pod("api"))
        await settle()
        assert it.written[-1] == ("create", "api", None)

    scene(story)
    assert caplog.records[-1].message == RETRY_LIMIT


@pytest.mark.parametrize(
    ("failure", "logged"),
    [(FORBIDDEN, [REJECTED]), (EXISTS, []), (ApiError(500, reason="InternalError"), [REJECTED])],
    ids=["forbidden", "there already", "failed"],
)
def test_a_refusal_is_final(
    failure: ApiError, logged: list[str], caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.ERROR)

    async def story(it: Scene) -> None:
        it.client.failures = [failure]
        it.fail(make_pod())
        await asyncio.sleep(MINUTE)
        assert len(it.written) == 1

    scene(story)
    assert [entry.message for entry in caplog.records] == logged


def test_a_bug_in_the_client_costs_one_event(caplog: pytest.LogCaptureFixture) -> None:
    async def story(it: Scene) -> None:
        async def explode() -> None:
            it.client.before = None
            raise ValueError("a bug")

        it.client.before = explode
        it.fail(make_pod())
        it.fail(make_pod("api"))
        await asyncio.sleep(MINUTE)
        assert it.written == [("create", "api", None)]

    scene(story)
    assert [entry.message for entry in caplog.records] == [REJECTED]


def test_other_events_do_not_wait_for_one_that_is_to_be_tried_again() -> None:
    async def story(it: Scene) -> None:
        it.client.failures = [NO_ANSWER] * (SENDERS + 1)
        for number in range(SENDERS + 1):
            it.fail(make_pod(f"pod-{number}"))
        await settle()
        it.fail(make_pod())
        await settle()
        assert it.written[-1] == ("create", "web", None)
        await asyncio.sleep(13)
        assert len(it.written) == 2 * (SENDERS + 1) + 1

    scene(story)


def test_a_few_writes_are_under_way_at_a_time() -> None:
    async def story(it: Scene) -> None:
        it.client.before = lambda: asyncio.sleep(1)
        for number in range(5 * SENDERS):
            it.fail(make_pod(f"pod-{number}"))
        await asyncio.sleep(4.5)
        assert len(it.written) == 4 * SENDERS
        assert it.client.most_under_way == SENDERS

    assert len(scene(story).written) == 5 * SENDERS


def test_every_event_finds_a_sender_however_they_come() -> None:
    async def story(it: Scene) -> None:
        for number in range(200):
            it.fail(make_pod(f"pod-{number}"))
            for _ in range(number % 5):
                await asyncio.sleep(0)
        await settle()
        assert len(it.written) == 200

    scene(story)


def test_events_beyond_measure_are_dropped(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(broadcaster, "MAX_PENDING", 20)

    async def story(it: Scene) -> None:
        it.client.before = lambda: asyncio.sleep(1)
        for number in range(50):
            it.fail(make_pod(f"pod-{number}"))
        await asyncio.sleep(20)
        assert len(it.written) == 20
        it.fail(make_pod("pod-49"))
        await asyncio.sleep(2)
        assert it.written[-1] == ("create", "pod-49", None)

    scene(story)
    assert [entry.message for entry in caplog.records] == [DROPPED]


def test_events_that_wait_to_be_tried_again_count_as_pending(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(broadcaster, "MAX_PENDING", 3)

    async def story(it: Scene) -> None:
        it.client.failures = [NO_ANSWER] * 3
        for number in range(3):
            it.fail(make_pod(f"pod-{number}"))
            await settle()
        it.fail(make_pod("dropped"))
        await asyncio.sleep(13)
        it.fail(make_pod("kept"))
        await settle()
        assert [name for verb, name, _ in it.written if verb == "create"][-1] == "kept"
        assert "dropped" not in [name for _, name, _ in it.written]

    scene(story)


def test_dropping_is_told_again_when_it_begins_again(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(broadcaster, "MAX_PENDING", 2)

    async def story(it: Scene) -> None:
        for batch in range(2):
            for number in range(9):
                it.fail(make_pod(f"pod-{batch}-{number}"))
            await settle()
        assert len(it.written) == 4

    scene(story)
    assert [entry.message for entry in caplog.records] == [DROPPED] * 2


def test_a_write_that_fails_at_first_has_twelve_tries_the_next_time_too() -> None:
    async def story(it: Scene) -> None:
        it.client.failures = [NO_ANSWER] * 11
        it.fail(make_pod())
        await asyncio.sleep(5 * MINUTE)
        assert len(it.written) == 12
        it.client.failures = [NO_ANSWER] * 11
        it.fail(make_pod())
        await asyncio.sleep(5 * MINUTE)
        assert len(it.written) == 24
        assert it.written[-1] == ("patch", "web", 2)

    scene(story)


def test_the_oldest_are_forgotten_when_too_many_are_known(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(broadcaster, "MAX_KNOWN", 2)

    async def story(it: Scene) -> None:
        for _ in range(3):
            it.fail(make_pod())
            await settle()
        it.fail(make_pod("api"))
        await settle()
        assert it.written == [("create", "web", None), ("patch", "web", 2), ("create", "api", None)]
        it.fail(make_pod("db"))
        await settle()
        assert sorted(it.written[3:]) == [("create", "db", None), ("patch", "web", 3)]
        it.fail(make_pod())
        await settle()
        assert it.written[-1] == ("create", "web", None)

    scene(story)


def test_closing_writes_what_is_queued_and_takes_no_more() -> None:
    async def story(it: Scene) -> None:
        it.broadcaster.start()
        it.client.before = lambda: asyncio.sleep(0.1)
        for number in range(30):
            it.fail(make_pod(f"pod-{number}"))
        await it.broadcaster.close()
        assert len(it.written) == 30
        it.client.before = None
        it.fail(make_pod())
        await settle()
        assert len(it.written) == 30

    scene(story)


def test_closing_does_not_wait_for_a_server_that_does_not_answer() -> None:
    async def story(it: Scene) -> None:
        it.client.before = lambda: asyncio.sleep(1000)
        it.fail(make_pod())
        await settle()
        begin = asyncio.get_running_loop().time()
        await it.broadcaster.close()
        assert asyncio.get_running_loop().time() - begin == 5
        assert asyncio.all_tasks() == {asyncio.current_task()}

    assert scene(story).written == []


def test_closing_tries_nothing_again() -> None:
    """The next try would come 10 to 12.5 seconds after the first, while the other is written."""

    async def story(it: Scene) -> None:
        it.client.failures = [NO_ANSWER]
        it.fail(make_pod())
        await asyncio.sleep(9)
        it.client.before = lambda: asyncio.sleep(4)
        it.fail(make_pod("api"))
        await it.broadcaster.close()
        assert it.written == [("create 0", "web", None), ("create", "api", None)]

    scene(story)


def test_closing_ends_what_watches_over_series() -> None:
    async def story(it: Scene) -> None:
        it.broadcaster.start()
        await settle()
        await it.broadcaster.close()
        assert asyncio.all_tasks() == {asyncio.current_task()}

    scene(story)


def test_an_event_that_repeats_before_it_is_tried_again_is_created_first() -> None:
    async def story(it: Scene) -> None:
        it.client.failures = [NO_ANSWER]
        it.fail(make_pod())
        await settle()
        it.fail(make_pod())
        await settle()
        assert it.written == [("create 0", "web", None)]
        await asyncio.sleep(13)
        assert it.written[1:] == [("create", "web", None), ("patch", "web", 2)]

    scene(story)


@pytest.mark.parametrize("is_series", [False, True], ids=["an Event", "a series"])
def test_an_event_that_is_there_already_is_told_at_verbosity_5(
    is_series: bool, caplog: pytest.LogCaptureFixture
) -> None:
    """A series is patched later instead."""

    async def story(it: Scene) -> None:
        if is_series:
            it.fail(make_pod())
            await settle()
            it.client.failures = [NOT_FOUND]
        it.client.failures.append(EXISTS)
        it.fail(make_pod())
        with caplog.at_level(logging.INFO - 5):
            await asyncio.sleep(13)

    scene(story)
    assert caplog.messages == [REJECTED] * (not is_series)


def test_twenty_thousand_events_may_be_pending() -> None:
    async def story(it: Scene) -> None:
        for number in range(20_001):
            it.fail(make_pod(f"pod-{number}"))
        await it.broadcaster.close()
        assert [name for _, name, _ in it.written] == [f"pod-{number}" for number in range(20_000)]

    scene(story)


def test_ten_thousand_events_are_known() -> None:
    async def story(it: Scene) -> None:
        for _ in range(3):
            it.fail(make_pod())
            await settle()
        for number in range(9_999):
            it.fail(make_pod(f"pod-{number}"))
        await settle()
        assert len(it.written) == 2 + 9_999
        it.fail(make_pod("one-more"))
        await settle()
        assert sorted(it.written[2 + 9_999 :]) == [
            ("create", "one-more", None),
            ("patch", "web", 3),
        ]

    scene(story)


def test_two_writes_are_under_way_at_a_time_and_none_is_kept_after_its_end() -> None:
    async def story(it: Scene) -> None:
        before = asyncio.all_tasks()
        it.client.before = lambda: asyncio.sleep(1)
        for number in range(5):
            it.fail(make_pod(f"pod-{number}"))
        await asyncio.sleep(0.5)
        assert it.client.under_way == 2
        await asyncio.sleep(5)
        assert it.client.most_under_way == 2
        assert asyncio.all_tasks() == before

    scene(story)
