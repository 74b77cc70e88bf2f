from __future__ import annotations

import pytest

from mooring.errors import ConfigError
from mooring.observe.clock import VirtualClock
from mooring.serve.delegated_authorization import (
    AllowedPaths,
    DelegatingAuthorizer,
    ReviewedReader,
)
from mooring.serve.review_client import Access, AccessReviews, ResourceAttributes
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


POD = ResourceAttributes(verb="get", resource="pods", namespace="shop", name="web")


async def test_rights_to_resources_are_reviewed() -> None:
    api = FakeApi()
    authorizer = DelegatingAuthorizer(("/explain/*",), AccessReviews(api, VirtualClock(), 10, 10))
    assert (await authorizer.resource_access(ADMIN, POD)).allowed
    api.answers = [{"status": {"allowed": True}}]
    assert (await authorizer.resource_access(JANE, POD)).allowed
    assert (await authorizer.resource_access(JANE, POD)).allowed, "from the cache"
    assert [body["spec"] for _, body in api.asked] == [
        {
            "user": "jane",
            "uid": "7",
            "groups": ["devs"],
            "extra": {"scopes": ["a", "b"]},
            "resourceAttributes": {
                "verb": "get",
                "resource": "pods",
                "namespace": "shop",
                "name": "web",
            },
        }
    ]
    assert await DelegatingAuthorizer(("*",), None).resource_access(JANE, POD) == Access()


async def test_a_reader_is_asked_about_as_the_api_server_knows_resources() -> None:
    api = FakeApi()
    authorizer = DelegatingAuthorizer((), AccessReviews(api, VirtualClock(), 0, 0))
    reader = ReviewedReader(JANE, authorizer)
    denied = {"status": {"allowed": True, "denied": True}}
    api.answers = [{"status": {"allowed": True}}, denied, {"status": {}}, {"status": {}}]
    assert await reader.may_get_path("/explain/v1/queue")
    assert not await reader.may_get_pod("shop", "web"), "one authorizer has denied it"
    assert not await reader.may_get_pod("shop", "")
    assert not await reader.may_list_nodes()
    assert [body["spec"].get("resourceAttributes") for _, body in api.asked] == [
        None,
        {"verb": "get", "resource": "pods", "namespace": "shop", "name": "web"},
        {"verb": "get", "resource": "pods", "namespace": "shop"},
        {"verb": "list", "resource": "nodes"},
    ]
    assert reader.name == "jane"
