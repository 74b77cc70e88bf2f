"""Reviews: what is asked, kept, and asked again."""

from __future__ import annotations

import asyncio

import pytest

from mooring.errors import ApiError
from mooring.observe.clock import VirtualClock
from mooring.serve.delegated_authorization import DelegatingAuthorizer
from mooring.serve.review_client import Access, AccessReviews, ExpiringCache, TokenReviews
from mooring.serve.users import ReviewedUser
from tests.serve.fake_api import FakeApi

JANE = ReviewedUser("jane", uid="7", groups=("devs",), extra={"scopes": ("a", "b")})


async def test_others_are_reviewed_and_answers_kept_for_a_while() -> None:
    clock = VirtualClock()
    api = FakeApi()
    api.answers = [{"status": {"allowed": True}}, {"status": {"allowed": False, "reason": "no"}}]
    authorizer = DelegatingAuthorizer((), AccessReviews(api, clock, 10, 5))
    assert (await authorizer.access(JANE, "get", "/metrics")).allowed
    clock.advance(9)
    assert (await authorizer.access(JANE, "get", "/metrics")).allowed
    assert len(api.asked) == 1
    target, body = api.asked[0]
    assert target == "/apis/authorization.k8s.io/v1/subjectaccessreviews"
    assert body["spec"] == {
        "user": "jane",
        "uid": "7",
        "groups": ["devs"],
        "extra": {"scopes": ["a", "b"]},
        "nonResourceAttributes": {"path": "/metrics", "verb": "get"},
    }
    clock.advance(1)
    assert await authorizer.access(JANE, "get", "/metrics") == Access(reason="no")
    clock.advance(4)
    await authorizer.access(JANE, "get", "/metrics")
    assert len(api.asked) == 2
    clock.advance(1)
    api.answers = [{"status": {"allowed": True}}]
    assert (await authorizer.access(JANE, "get", "/metrics")).allowed


async def test_another_verb_or_path_is_another_question() -> None:
    api = FakeApi()
    authorizer = DelegatingAuthorizer((), AccessReviews(api, VirtualClock(), 10, 10))
    for verb, path in (("get", "/a"), ("post", "/a"), ("get", "/b"), ("get", "/a")):
        api.answers = [{"status": {"allowed": True}}]
        await authorizer.access(JANE, verb, path)
    assert len(api.asked) == 3


async def test_a_server_in_trouble_is_asked_again() -> None:
    clock = VirtualClock()
    api = FakeApi()
    api.answers = [ApiError(500), ApiError(429), {"status": {"allowed": True}}]
    authorizer = DelegatingAuthorizer((), AccessReviews(api, clock, 10, 10))
    assert (await authorizer.access(JANE, "get", "/metrics")).allowed
    assert 0.5 + 0.75 <= clock.now() <= 1.2 * (0.5 + 0.75)


async def test_a_server_that_stays_in_trouble_or_refuses_is_an_error() -> None:
    api = FakeApi()
    reviews = AccessReviews(api, VirtualClock(), 10, 10)
    api.answers = [ApiError(500) for _ in range(9)]
    with pytest.raises(ApiError):
        await reviews.access(JANE, "get", "/metrics")
    assert len(api.asked) == 5
    api.answers = [ApiError(403, "not you")]
    with pytest.raises(ApiError, match="not you"):
        await reviews.access(JANE, "get", "/metrics")
    assert len(api.asked) == 6


async def test_garbage_is_an_error() -> None:
    api = FakeApi()
    api.answers = [["garbage"]]
    with pytest.raises(ApiError, match="cannot be read"):
        await AccessReviews(api, VirtualClock(), 10, 10).access(JANE, "get", "/metrics")


TOKEN = {"status": {"authenticated": True, "user": {"username": "ada", "groups": ["devs"]}}}


async def test_a_token_is_reviewed_once_while_it_is_kept() -> None:
    api, clock = FakeApi(), VirtualClock()
    reviews = TokenReviews(api, clock, 10)
    api.answers = [TOKEN, {"status": {"authenticated": False}}]
    assert await reviews.user("t") == ReviewedUser("ada", groups=("devs",))
    clock.advance(9)
    assert await reviews.user("t") == ReviewedUser("ada", groups=("devs",))
    assert await reviews.user("other") is None
    assert [body["spec"]["token"] for _, body in api.asked] == ["t", "other"]


async def test_a_review_that_reports_an_error_is_no_answer() -> None:
    api = FakeApi()
    reviews = TokenReviews(api, VirtualClock(), 10)
    api.answers = [{"status": {"error": "unknown issuer"}}, TOKEN]
    with pytest.raises(ApiError, match="unknown issuer"):
        await reviews.user("t")
    assert await reviews.user("t") is not None


async def test_one_who_stops_waiting_does_not_stop_the_others() -> None:
    api = FakeApi()
    reviews = TokenReviews(api, VirtualClock(), 10)
    api.answers = [TOKEN]
    first = asyncio.create_task(reviews.user("t"))
    second = asyncio.create_task(reviews.user("t"))
    await asyncio.sleep(0)
    first.cancel()
    assert await second == ReviewedUser("ada", groups=("devs",))
    assert len(api.asked) == 1


def test_a_cache_forgets_what_is_old_and_what_is_least_used() -> None:
    clock = VirtualClock()
    cache: ExpiringCache[str, str | None] = ExpiringCache(clock, size=2)
    cache.put("a", None, 10)
    cache.put("b", "2", 5)
    assert cache.get("a") == (None,)
    cache.put("c", "3", 10)
    assert cache.get("b") is None, "the least recently used"
    cache.put("d", "4", 0)
    assert cache.get("d") is None, "kept for no time"
    clock.advance(10)
    assert cache.get("a") is None
    assert cache.get("c") is None
