"""A store that follows a server through all kinds of failures. Time is virtual."""

from __future__ import annotations

import asyncio
import gc
import logging
import random
from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import Pod, PodGroup
from mooring.client.resources import Resource
from mooring.client.watch import WatchEvent
from mooring.errors import ApiError, NoAnswerError
from mooring.informers.reflector import MOST_SHORT_WATCHES, NOT_ENABLED, NOT_SERVED, Selection
from mooring.informers.store import EventHandler
from tests.informers.scripted import (
    GONE,
    UNSUPPORTED,
    Lasting,
    Run,
    Silence,
    bookmark,
    event,
    page,
    pod,
)
from tests.support.virtual_loop import run_virtually
from tests.support.waiting import PATIENCE

CUT = NoAnswerError("the connection was cut within the answer", sent=True)
REFUSED = NoAnswerError("connection refused", sent=False)
BUSY = ApiError(429, "busy", reason="TooManyRequests", retry_after=40.0)
TOO_LARGE = ApiError(
    504,
    "Too large resource version",
    reason="Timeout",
    details={"causes": [{"reason": "ResourceVersionTooLarge"}]},
)
FIRST = [event("ADDED", "b", 2), event("ADDED", "a", 1), bookmark(5, end=True)]


def in_list_mode(lists: Any, watches: Any = (), **options: Any) -> Run:
    return Run(lists=lists, watches=watches, watch_list=False, **options)


# The initial state.


async def test_the_first_state_is_streamed_and_the_stream_goes_on() -> None:
    run = await Run(
        watches=[[FIRST, [event("MODIFIED", "a", 6), event("DELETED", "b", 7)]]]
    ).to_the_end()
    assert run.told == ["+b", "+a", "1>6 a", "-b"]
    assert run.reflector.synced.is_set()
    (_, first), (_, second) = run.source.asked
    assert first.send_initial_events and first.allow_watch_bookmarks
    assert first.resource_version_match == "NotOlderThan" and first.resource_version == ""
    assert second.resource_version == "7" and not second.send_initial_events
    assert run.clock.slept == []


async def test_nothing_shows_before_the_state_is_complete() -> None:
    run = await Run(watches=[[FIRST[0], bookmark(4), CUT]]).to_the_end()
    assert run.told == [] and not run.reflector.synced.is_set()
    assert run.reflector.failure is CUT
    assert run.clock.slept


async def test_a_stream_that_ends_within_the_state_is_begun_again() -> None:
    run = await Run(watches=[[FIRST[0]], [FIRST]]).to_the_end()
    assert run.names == ["a", "b"]


async def test_a_server_that_is_away_from_the_start_is_told_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    run = await Run(watches=[REFUSED] * 4 + [[FIRST]]).to_the_end()
    assert run.names == ["a", "b"]
    assert len(run.clock.slept) == 4
    assert [record.message for record in caplog.records] == ["Failed to watch"]


async def test_changes_within_the_first_state_are_counted_in() -> None:
    steps = [event("ADDED", "a", 1), event("MODIFIED", "a", 3), event("ADDED", "b", 2)]
    run = await Run(watches=[[[*steps, event("DELETED", "b", 4), *FIRST[2:]]]]).to_the_end()
    assert [(one.name, one.metadata.resource_version) for one in run.store.list()] == [("a", "3")]


async def test_a_server_that_cannot_stream_is_asked_for_a_list() -> None:
    run = await Run(watches=[UNSUPPORTED], lists=[page(5, "a")]).to_the_end()
    assert run.names == ["a"] and run.reflector.synced.is_set()
    assert run.source.versions("list") == ["0"]
    assert run.source.versions("watch") == ["", "5"]


@pytest.mark.parametrize("error", [GONE, TOO_LARGE], ids=["forgotten", "not there yet"])
async def test_a_version_that_the_server_lacks_is_dropped(error: ApiError) -> None:
    run = await Run(watches=[[FIRST, GONE], error, [FIRST]]).to_the_end()
    assert run.source.versions("watch") == ["", "5", "", "5"]
    assert len(run.clock.slept) == 1


async def test_a_list_comes_in_pages() -> None:
    run = await in_list_mode(
        [page(5, "a", more="x"), page(6, "b", more="y"), page(7, "c")]
    ).to_the_end()
    assert run.names == ["a", "b", "c"]
    lists = [options for verb, options in run.source.asked if verb == "list"]
    assert [one.continue_ for one in lists] == ["", "x", "y"]
    assert [one.resource_version for one in lists] == ["0", "", ""]
    assert {one.limit for one in lists} == {500}
    assert run.source.versions("watch") == ["5"]


async def test_pages_that_expire_are_asked_for_at_once() -> None:
    run = await in_list_mode([page(5, "a", more="x"), GONE, page(8, "b")]).to_the_end()
    assert run.names == ["b"]
    assert run.source.versions("watch") == ["8"]
    assert run.source.asked[2][1].limit == 0


async def test_pages_that_expire_again_and_again_are_retried_with_growing_waits() -> None:
    lists = [page(5, "a", more="x"), GONE] * 20
    run = await in_list_mode([*lists, page(9, "b")]).to_the_end()
    assert run.names == ["b"]
    assert len(run.source.versions("list")) == len(lists) + 1
    assert len(run.clock.slept) >= len(lists) / 2 / 4
    assert run.clock.slept[-1] > 4 * run.clock.slept[0]


async def test_a_stream_that_is_gone_even_at_the_latest_version_is_retried_with_waits() -> None:
    run = await Run(watches=[GONE] * 6 + [[FIRST]]).to_the_end()
    assert run.names == ["a", "b"]
    # The first refusal is about an old version.
    assert len(run.clock.slept) == 5
    assert run.clock.slept[-1] > 4 * run.clock.slept[0]


@pytest.mark.parametrize("error", [GONE, TOO_LARGE], ids=["forgotten", "not there yet"])
async def test_a_list_at_a_lost_version_is_asked_for_at_the_latest(error: ApiError) -> None:
    run = await in_list_mode([page(5, "a"), error, page(9, "b")], [GONE]).to_the_end()
    assert run.source.versions("list") == ["0", "5", ""]
    assert run.told == ["+a", "+b", "-a"]


# The changes.


async def test_a_watch_that_ends_is_taken_up_where_it_was() -> None:
    watches = [[event("ADDED", "b", 6), bookmark(9)], [Lasting(300)], [event("DELETED", "b", 11)]]
    run = await in_list_mode([page(5, "a")], watches).to_the_end()
    assert run.source.versions("watch") == ["5", "9", "9", "11"]
    assert run.source.versions("list") == ["0"]
    assert run.told == ["+a", "+b", "-b"]
    assert run.clock.slept == []


async def test_a_watch_that_is_cut_is_taken_up_at_once() -> None:
    run = await in_list_mode([page(5, "a")], [[event("ADDED", "b", 6), CUT]]).to_the_end()
    assert run.source.versions("watch") == ["5", "6"]
    assert run.clock.slept == []


@pytest.mark.parametrize("end", [[], [CUT]], ids=["ended", "cut"])
async def test_watches_that_end_after_an_event_each_time_are_resumed_once_a_second(
    end: list[Any],
) -> None:
    watches = [[event("MODIFIED", "a", 6 + number), *end] for number in range(20)]
    run = await in_list_mode([page(5, "a")], watches).to_the_end()
    assert run.source.versions("list") == ["0"]
    assert run.clock.slept == [1.0] * (20 - MOST_SHORT_WATCHES)


async def test_a_watch_that_lasts_is_resumed_at_once_after_short_ones() -> None:
    short = [event("MODIFIED", "a", 6)]
    watches = [short] * MOST_SHORT_WATCHES + [[Lasting(2)]] + [short] * MOST_SHORT_WATCHES
    run = await in_list_mode([page(5, "a")], watches).to_the_end()
    assert run.clock.slept == []


async def test_a_watch_whose_versions_go_back_is_not_believed(
    caplog: pytest.LogCaptureFixture,
) -> None:
    lists = [page(50, "a", "b"), page(70, "a", "c")]
    lie = [event("ADDED", "c", 60), event("DELETED", "a", 55), event("DELETED", "b", 61)]
    with caplog.at_level(logging.INFO):
        run = await in_list_mode(lists, [lie]).to_the_end()
    assert run.told == ["+a", "+b", "+c", "50>70 a", "60>70 c", "-b"]
    # The latest state is wanted, whatever versions the watch claimed.
    assert run.source.versions("list") == ["0", ""]
    assert len(run.clock.slept) == 1
    assert "go back, from 60 to 55" in str([record.__dict__ for record in caplog.records])


@pytest.mark.parametrize("version", ["", "b4", "0", "007"])
async def test_a_version_without_an_order_is_no_way_back(version: str) -> None:
    meta = replace(pod("a", 6).metadata, resource_version=version)
    odd = WatchEvent("MODIFIED", replace(pod("a", 6), metadata=meta))
    run = await in_list_mode([page(50, "a")], [[odd, CUT]]).to_the_end()
    assert run.source.versions("list") == ["0"]
    # Without a version, the watch is resumed where it was.
    assert run.source.versions("watch") == ["50", version or "50"]


async def test_a_forgotten_place_means_a_new_list_after_a_pause() -> None:
    lists = [page(5, "a", "b"), page(9, "b", "c")]
    run = await in_list_mode(lists, [[event("MODIFIED", "b", 6), GONE]]).to_the_end()
    assert run.source.versions("list") == ["0", "6"]
    assert run.told == ["+a", "+b", "5>6 b", "6>9 b", "+c", "-a"]
    assert len(run.clock.slept) == 1


async def test_objects_that_have_not_changed_are_not_told_again() -> None:
    run = await in_list_mode([page(5, "a"), page(5, "a")], [GONE]).to_the_end()
    assert run.told == ["+a"]


@pytest.mark.parametrize("error", [REFUSED, CUT], ids=["nobody there", "cut at once"])
async def test_a_server_that_is_away_is_waited_for_without_a_new_list(error: ApiError) -> None:
    run = await in_list_mode([page(5, "a")], [error] * 8).to_the_end()
    assert run.source.versions("list") == ["0"]
    assert run.source.versions("watch") == ["5"] * 9
    bounds = [0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 30.0, 30.0]
    for slept, base in zip(run.clock.slept, bounds, strict=True):
        assert base <= slept <= 2 * base
    assert run.reflector.failure is error


async def test_the_server_may_ask_for_more_patience_than_ours() -> None:
    run = await in_list_mode([BUSY, page(5, "a")], [BUSY, [BUSY]]).to_the_end()
    assert run.clock.slept == [40.0, 40.0, 40.0]
    assert run.source.versions("list") == ["0", "0"]


async def test_waits_are_short_again_after_two_quiet_minutes() -> None:
    watches = [REFUSED, REFUSED, REFUSED, [event("ADDED", "b", 6), Lasting(121)], REFUSED]
    run = await in_list_mode([page(5, "a")], watches).to_the_end()
    assert run.clock.slept[2] >= 3.2
    assert run.clock.slept[3] <= 1.6
    assert run.reflector.failure is REFUSED


async def test_a_failure_is_over_with_the_first_event() -> None:
    run = await in_list_mode([page(5, "a")], [REFUSED, [bookmark(6)]]).to_the_end()
    assert run.reflector.failure is None


async def test_a_watch_that_ends_at_once_with_nothing_is_suspicious(
    caplog: pytest.LogCaptureFixture,
) -> None:
    with caplog.at_level(logging.INFO):
        run = await in_list_mode([page(5, "a"), page(6, "a")], [[]]).to_the_end()
    assert run.source.versions("list") == ["0", "5"]
    assert len(run.clock.slept) == 1
    assert "watch ended with error" in caplog.text


@pytest.mark.parametrize(
    "error",
    [
        ApiError(500, "unable to decode an event", reason="ClientWatchDecoding"),
        ApiError(403, "pods is forbidden", reason="Forbidden"),
    ],
    ids=["garbage", "no rights any more"],
)
async def test_other_failures_mean_a_new_list_and_a_line(
    error: ApiError, caplog: pytest.LogCaptureFixture
) -> None:
    run = await in_list_mode([page(5, "a"), page(7, "a")], [[bookmark(6), error]]).to_the_end()
    assert run.source.versions("list") == ["0", "6"]
    assert len(run.clock.slept) == 1
    assert [record.message for record in caplog.records] == ["Failed to watch"]


async def test_a_list_that_is_refused_is_tried_again_for_ever(
    caplog: pytest.LogCaptureFixture,
) -> None:
    forbidden = ApiError(403, "pods is forbidden", reason="Forbidden")
    run = await Run(watches=[forbidden] * 5, lists=[forbidden] * 5).to_the_end()
    assert not run.reflector.synced.is_set()
    assert run.reflector.failure is forbidden
    assert len(run.clock.slept) == 5
    assert len(caplog.records) == 5


async def test_a_refusal_that_the_log_has_explained_is_repeated_quietly(
    caplog: pytest.LogCaptureFixture,
) -> None:
    forbidden = ApiError(403, "pods is forbidden", reason="Forbidden")
    again = ApiError(403, "pods is forbidden", reason="Forbidden")
    again.repeated = True
    refusals = [forbidden, *[again] * 4]
    run = await Run(watches=[*refusals], lists=[*refusals]).to_the_end()
    assert len(run.clock.slept) == 5
    assert [record.message for record in caplog.records] == ["Failed to watch"]


async def test_a_dispensable_kind_that_is_refused_holds_nobody_up() -> None:
    forbidden = ApiError(403, "pods is forbidden", reason="Forbidden")
    run = await Run(watches=[forbidden], lists=[forbidden], dispensable=True).to_the_end()
    assert run.reflector.synced.is_set() and run.names == []
    assert run.reflector.failure is forbidden
    run = await Run(watches=[REFUSED], dispensable=True).to_the_end()
    assert not run.reflector.synced.is_set()
    run = await Run(watches=[forbidden, [FIRST]], lists=[forbidden], dispensable=True).to_the_end()
    assert run.names == ["a", "b"]


async def test_a_custom_resource_that_is_not_served_holds_nobody_up_and_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    absent = ApiError(404, "the server could not find the requested resource", reason="NotFound")
    run = Run(watches=[absent] * 3 + [[FIRST]], lists=[absent] * 3, kind=PodGroup)
    await run.to_the_end()
    assert run.reflector.synced.is_set()
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [NOT_SERVED % "podgroups.v1alpha1.scheduling.x-k8s.io"]
    # Once its definition is installed, its objects are found.
    assert run.names == ["a", "b"]


OPTIONAL = Resource("lifecycle.k8s.io", "v1alpha1", "evictions", Pod, optional=True)
FORBIDDEN = ApiError(403, "cannot list resource", reason="Forbidden")


async def test_an_optional_kind_that_is_not_served_is_said_once(
    caplog: pytest.LogCaptureFixture,
) -> None:
    absent = ApiError(404, "404 page not found")
    run = Run(watches=[absent] * 3 + [[FIRST]], lists=[absent] * 3, kind=OPTIONAL)
    await run.to_the_end()
    assert run.reflector.synced.is_set()
    lines = [record.getMessage() for record in caplog.records]
    assert lines == [NOT_ENABLED % "evictions.v1alpha1.lifecycle.k8s.io"]
    assert run.names == ["a", "b"]


async def test_discovery_tells_an_absent_kind_from_missing_rights(
    caplog: pytest.LogCaptureFixture,
) -> None:
    script: dict[str, Any] = {"watches": [FORBIDDEN] * 2, "lists": [FORBIDDEN] * 2}
    absent = await Run(**script, kind=OPTIONAL, serves=False).to_the_end()
    assert absent.reflector.synced.is_set()
    assert [record.getMessage() for record in caplog.records] == [
        NOT_ENABLED % "evictions.v1alpha1.lifecycle.k8s.io"
    ]
    for served in (True, ApiError(503, "not yet")):
        refused = await Run(**script, kind=OPTIONAL, serves=served).to_the_end()
        assert not refused.reflector.synced.is_set()
        assert refused.reflector.failure is FORBIDDEN


async def test_the_objects_of_a_definition_that_is_removed_are_gone() -> None:
    absent = ApiError(404, "not found", reason="NotFound")
    gone = in_list_mode([page(5, "a"), absent], [[GONE]], kind=PodGroup)
    await gone.to_the_end()
    assert gone.told == ["+a", "-a"]
    assert not gone.reflector.is_populated


async def test_a_store_stays_populated_after_a_failure() -> None:
    assert not (await Run(watches=[REFUSED]).to_the_end()).reflector.is_populated
    refused = ApiError(403, "pods is forbidden", reason="Forbidden")
    lost = await in_list_mode([page(5, "a"), refused], [[GONE]]).to_the_end()
    assert lost.reflector.failure is refused
    assert lost.reflector.is_populated


@pytest.mark.parametrize("kind", [Pod, "boats.v1.example.com"], ids=["built in", "of a stranger"])
async def test_another_kind_that_is_not_served_is_waited_for(kind: Any) -> None:
    absent = ApiError(404, "not found", reason="NotFound")
    run = await Run(watches=[absent] * 2, lists=[absent] * 2, kind=kind).to_the_end()
    assert not run.reflector.synced.is_set()


async def test_events_of_no_known_sort_are_passed_over(caplog: pytest.LogCaptureFixture) -> None:
    odd = WatchEvent("RENAMED", pod("x", 6))
    run = await in_list_mode([page(5, "a")], [[odd, event("ADDED", "b", 7)]]).to_the_end()
    assert run.names == ["a", "b"]
    assert "Unknown watch event" in caplog.text


async def test_the_last_state_of_an_object_is_told_when_it_goes() -> None:
    run = in_list_mode([page(5, "a")], [[event("DELETED", "a", 9)]])
    last: list[str] = []
    run.store.add_handler(
        EventHandler(on_delete=lambda old: last.append(old.metadata.resource_version))
    )
    await run.to_the_end()
    assert last == ["9"]


async def test_a_handler_that_fails_stops_nothing(caplog: pytest.LogCaptureFixture) -> None:
    def fail(*_: Pod) -> None:
        raise RuntimeError("a bug")

    run = in_list_mode([page(5, "a", "b"), page(9, "b")], [[event("ADDED", "c", 6), GONE]])
    run.store.add_handler(EventHandler(on_add=fail, on_update=fail, on_delete=fail))
    told: list[str] = []
    run.store.add_handler(EventHandler(on_add=lambda new: told.append(new.name)))
    await run.to_the_end()
    assert told == ["a", "b", "c"]
    assert run.names == ["b"]
    assert "a bug" in caplog.text


async def test_a_bug_of_ours_does_not_end_the_watching(caplog: pytest.LogCaptureFixture) -> None:
    run = await in_list_mode([page(5, "a"), page(6, "a", "b")], [RuntimeError("ours")]).to_the_end()
    assert run.names == ["a", "b"]
    assert "Reflector failed" in caplog.text


# Silent watches, on a loop of virtual time.


def after(seconds: float, **script: Any) -> Run:
    """Run a reflector for some virtual seconds."""

    async def main() -> Run:
        run = Run(**script)
        task = asyncio.create_task(run.reflector.run())
        await asyncio.sleep(seconds)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        return run

    return run_virtually(main())


def test_a_silent_watch_is_resumed_at_its_last_version() -> None:
    watches = [[event("ADDED", "b", 6), Silence()], [event("ADDED", "c", 7)]]
    run = after(31.0, lists=[page(5, "a")], watches=watches, watch_list=False)
    assert run.source.versions("watch") == ["5", "6", "7"]
    assert run.source.versions("list") == ["0"]
    assert run.told == ["+a", "+b", "+c"]
    assert run.clock.slept == [] and run.reflector.failure is None


def test_a_silent_watch_that_began_with_the_state_is_resumed_without_it() -> None:
    run = after(31.0, watches=[[FIRST, Silence()], [Silence()]])
    (_, first), (_, second) = run.source.asked
    assert first.send_initial_events and not second.send_initial_events
    assert second.resource_version == "5"
    assert run.told == ["+b", "+a"]


def test_an_incomplete_state_is_waited_for() -> None:
    run = after(100.0, watches=[[FIRST[0], Silence()]])
    assert len(run.source.asked) == 1


def test_a_resumed_watch_whose_version_is_gone_means_a_new_list() -> None:
    lists = [page(5, "a"), page(9, "b")]
    run = after(31.0, lists=lists, watches=[[Silence()], [GONE]], watch_list=False)
    assert run.source.versions("list") == ["0", "5"]
    assert run.told == ["+a", "+b", "-a"]
    assert len(run.clock.slept) == 1


def test_a_watch_with_bookmarks_is_not_resumed() -> None:
    steps = [step for version in range(6, 20) for step in (Silence(20.0), bookmark(version))]
    run = after(280.0, lists=[page(5, "a")], watches=[[*steps, Silence()]], watch_list=False)
    assert run.source.versions("watch") == ["5"]


# Whether the store may lack changes.


async def test_changes_may_be_missing_from_the_end_of_a_watch_until_the_next() -> None:
    watches = [[Lasting(100), bookmark(6), Lasting(20), CUT], REFUSED]
    run = await in_list_mode([page(5, "a")], watches).to_the_end()
    # Nothing was heard since the connection was cut.
    assert run.reflector.lost_since == 120.0
    run = in_list_mode([page(5, "a")], [*watches, [bookmark(7), Silence()]])
    task = asyncio.create_task(run.reflector.run())
    async with asyncio.timeout(PATIENCE):
        while run.reflector.lost_since is None:
            await asyncio.sleep(0)
        while run.reflector.lost_since is not None:
            await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)


def test_changes_may_be_missing_since_a_silent_watch_was_heard_last() -> None:
    steps = [Silence(7.0), bookmark(6), Silence()]
    run = after(60.0, lists=[page(5, "a")], watches=[steps], watch_list=False)
    # The clock of the reflector stands still at 0 in this test.
    assert run.reflector.lost_since == -30.0


# The requests that are sent.


async def test_the_selection_goes_with_every_request() -> None:
    chosen = Selection(field_selector="status.phase!=Failed", label_selector="a=b")
    run = await Run(
        watches=[UNSUPPORTED, [Lasting(5)]], lists=[page(5, "a")], selection=chosen
    ).to_the_end()
    for _, options in run.source.asked:
        assert (options.field_selector, options.label_selector) == ("status.phase!=Failed", "a=b")


async def test_watches_end_at_different_times() -> None:
    run = await in_list_mode(
        [page(5, "a")], [[Lasting(5)]] * 50, random=random.Random(1)
    ).to_the_end()
    times = [options.timeout_seconds for verb, options in run.source.asked if verb == "watch"]
    assert all(300 <= seconds <= 600 for seconds in times)
    assert len(set(times)) > 20


async def test_the_collector_rests_while_the_first_state_comes() -> None:
    run = Run(watches=[[FIRST[0], FIRST[1], FIRST[2], event("ADDED", "c", 6)], [Lasting(5)]])
    seen: list[tuple[str, bool]] = []
    run.store.add_handler(EventHandler(on_add=lambda new: seen.append((new.name, gc.isenabled()))))
    await run.to_the_end()
    assert seen == [("b", False), ("a", False), ("c", True)]
    assert gc.isenabled()
