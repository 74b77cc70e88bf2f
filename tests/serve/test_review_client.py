"""Reviews: what is asked, kept, and asked again."""

from __future__ import annotations

import pytest

from mooring.errors import ApiError
from mooring.observe.clock import VirtualClock
from mooring.serve.delegated_authorization import DelegatingAuthorizer
from mooring.serve.review_client import Access, AccessReviews
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
