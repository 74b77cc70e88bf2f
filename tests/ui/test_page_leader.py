"""The leader's answers for the page."""

from __future__ import annotations

import time
from typing import Any

import pytest

from mooring.errors import ObjectError
from mooring.leader.scheduler_questions import UnansweredError
from mooring.ui import leader_link
from mooring.ui.leader_link import LeaderBusyError
from mooring.ui.page_leader import PageLeader
from tests.client.fakes import answer
from tests.ui.scripted_leader import (
    EMPTY_QUEUE,
    WHO,
    LinkedPage,
    ScriptedLeader,
    linked,
    ours,
)
from tests.ui.test_rule_differences import explained, own_profile

PODS = "/explain/v1/namespaces/shop/pods/"
PLACE = {"namespace": "shop", "name": "web", "uid": "u", "place": "active", "position": 3}


def leader_of(page: LinkedPage) -> PageLeader:
    return PageLeader(page.link, {"default-scheduler": own_profile()}, page.clock)


def pod(**more: Any) -> dict[str, Any]:
    return {**explained(["Mine"]), "version": 2, "queue": PLACE, "victims": ["another pod"], **more}


async def test_an_attempt_is_shown_as_the_leader_reports_it() -> None:
    server = ScriptedLeader()
    server.answers[f"{PODS}web?attempt=2"] = answer(200, pod())
    async with linked(server) as page:
        found = await leader_of(page).explain("shop", "web", 2)
    # The page does not restore what the leader hides.
    assert found == {
        **pod(),
        "answeredBy": WHO,
        "ruleDifferences": ["only the leader has the filter Mine"],
        "queueText": "active, position 3",
    }


async def test_a_pod_that_does_not_wait_has_no_place() -> None:
    server = ScriptedLeader()
    server.answers[PODS] = answer(200, pod(queue=None))
    async with linked(server) as page:
        found = await leader_of(page).explain("shop", "web", None)
    assert isinstance(found, dict)
    assert found["queueText"] == ""


@pytest.mark.parametrize(
    ("response", "reason"),
    [
        pytest.param(
            ours(404, "NotFound", "pod shop/web is not known", "pods"),
            "pod shop/web is not known",
            id="a pod that it does not know",
        ),
        pytest.param(
            ours(404, "NotFound", "no profile serves it", "profiles"),
            f"{WHO}: no profile serves it",
            id="a pod of another scheduler",
        ),
        pytest.param(
            ours(403, "Forbidden", "forbidden"),
            f"{WHO}: forbidden; get pods or get /explain/* is needed",
            id="no right to get the pod",
        ),
    ],
)
async def test_why_the_leader_gives_no_answer(response: Any, reason: str) -> None:
    server = ScriptedLeader()
    server.answers[PODS] = response
    async with linked(server) as page:
        leader = leader_of(page)
        assert await leader.explain("shop", "web", None) == reason
        await page.clock.move(leader_link.QUESTION_SECONDS)
        # No other answer replaces that about an attempt which the user chose.
        with pytest.raises((ObjectError, UnansweredError)) as raised:
            await leader.explain("shop", "web", 3)
        assert str(raised.value) == reason


async def test_a_busy_leader_is_not_replaced() -> None:
    server = ScriptedLeader()
    server.answers[PODS] = ours(429, "TooManyRequests", "too many", Retry_After="3")
    async with linked(server) as page:
        with pytest.raises(LeaderBusyError) as raised:
            await leader_of(page).explain("shop", "web", None)
        assert raised.value.seconds == 3.0


async def test_a_leader_of_another_version_is_not_shown() -> None:
    server = ScriptedLeader()
    server.answers[PODS] = answer(200, pod(version=3))
    async with linked(server) as page:
        with pytest.raises(ObjectError) as raised:
            await leader_of(page).explain("shop", "web", None)
    assert str(raised.value) == (
        f"{WHO} answers in format 3, and this page reads 2: use the version of Mooring that leads"
    )


async def test_places_in_the_queue_are_texts() -> None:
    server = ScriptedLeader()
    server.answers["/explain/v1/queue"] = answer(200, {**EMPTY_QUEUE, "items": [PLACE]})
    async with linked(server) as page:
        leader = leader_of(page)
        assert leader.state.state == leader_link.LIVE
        assert await leader.places() == ({"shop/web": "active, position 3"}, "")


async def test_places_that_are_not_known_have_a_reason() -> None:
    server = ScriptedLeader()
    server.answers["/explain/v1/queue"] = ours(429, "TooManyRequests", "too many", Retry_After="3")
    async with linked(server) as page:
        busy = "the leader answers too many questions already; asked again in 3 s"
        assert await leader_of(page).places() == ({}, busy)


async def test_a_slow_leader_does_not_hold_up_the_list(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leader_link, "PATIENCE", 0.05)
    server = ScriptedLeader()
    server.answers[PODS] = answer(200, pod())
    async with linked(server) as page:
        leader = leader_of(page)
        await leader.explain("shop", "web", None)
        # The next question must wait, because the clock stands still.
        begun = time.monotonic()
        places, problem = await leader.places()
        assert (places, problem) == ({}, "the leader did not say within 3 s where pods wait")
        assert time.monotonic() - begun < 2.0
