"""Events that cannot be written at once: tried again, given up, dropped, or ended by closing."""

from __future__ import annotations

import asyncio
import logging

import pytest

from mooring.binding import broadcaster
from mooring.binding.broadcaster import (
    DROPPED,
    MAY_RETRY,
    REJECTED,
    RETRY_LIMIT,
    SENDERS,
)
from mooring.errors import ApiError, LeaseExpiredError
from tests.binding.event_scenes import (
    EXISTS,
    FORBIDDEN,
    MINUTE,
    NO_ANSWER,
    Scene,
    scene,
    settle,
)
from tests.cycle.scheduling import make_pod


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
