from __future__ import annotations

import pytest

from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock
from mooring.serve.delegated_authorization import AllowedPaths, DelegatingAuthorizer
from mooring.serve.review_client import Access, AccessReviews
from mooring.serve.users import ANONYMOUS, ReviewedUser
from tests.serve.fake_api import FakeApi

ADMIN = ReviewedUser("root", groups=("system:masters",))
JANE = ReviewedUser("jane", uid="7", groups=("devs",), extra={"scopes": ("a", "b")})


@pytest.mark.parametrize(
    ("paths", "path", "expected"),
    [
        (("/healthz",), "/healthz", True),
        (("healthz",), "/healthz", True),
        (("/healthz",), "/healthz/ping", False),
        (("/healthz*",), "/healthz/ping", True),
        (("/healthz/*",), "/healthz", False),
        (("*",), "/anything", True),
        (("/",), "/", True),
        (("/",), "/x", False),
        ((), "/healthz", False),
    ],
)
def test_open_paths(paths: tuple[str, ...], path: str, expected: bool) -> None:
    assert (path in AllowedPaths(paths)) is expected


def test_a_star_stands_at_the_end() -> None:
    with pytest.raises(ConfigError) as caught:
        AllowedPaths(("/a*b",))
    assert str(caught.value) == 'only trailing * allowed in "a*b"'


async def test_administrators_and_open_paths_need_no_review() -> None:
    api = FakeApi()
    authorizer = DelegatingAuthorizer(("/healthz",), AccessReviews(api, VirtualClock(), 10, 10))
    assert (await authorizer.access(ADMIN, "get", "/metrics")).allowed
    assert (await authorizer.access(ANONYMOUS, "get", "/healthz")).allowed
    assert api.asked == []


async def test_without_reviews_everything_else_is_closed() -> None:
    authorizer = DelegatingAuthorizer(("/healthz",), None)
    assert await authorizer.access(JANE, "get", "/metrics") == Access()
