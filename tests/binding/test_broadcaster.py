"""EventBroadcaster: what is written when, on an event loop with virtual time."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable

import pytest

from mooring.api import Event
from mooring.binding import broadcaster
from mooring.binding.broadcaster import (
    REJECTED,
    SENDERS,
)
from tests.binding.event_scenes import (
    EXISTS,
    MINUTE,
    NOT_FOUND,
    Scene,
    scene,
    settle,
    versioned,
)
from tests.cycle.scheduling import make_pod


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
