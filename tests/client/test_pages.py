"""Lists that are read page by page."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import msgspec
import pytest

from mooring.client.pages import PAGE, read_pages
from mooring.client.transport import MAX_LIST
from mooring.errors import ApiError


class Server:
    """A client whose pages, or errors, a test has chosen."""

    def __init__(self, *answers: dict[str, Any] | ApiError) -> None:
        self.answers = list(answers)
        self.queries: list[dict[str, list[str]]] = []

    async def request(self, method: str, target: str, *, max_bytes: int) -> bytes:
        assert (method, max_bytes) == ("GET", MAX_LIST)
        self.queries.append(parse_qs(urlsplit(target).query))
        answer = self.answers.pop(0)
        if isinstance(answer, ApiError):
            raise answer
        return msgspec.json.encode(answer)

    async def read(self) -> list[int]:
        client: Any = self
        return [one async for one in read_pages(client, "/api/v1/pods", int)]


def page(items: list[int] | None, token: str = "") -> dict[str, Any]:
    return {"metadata": {"continue": token}, "items": items}


async def test_all_pages_are_read() -> None:
    server = Server(page([1, 2], "a"), page(None, "b"), page([3]))
    assert await server.read() == [1, 2, 3]
    size = str(PAGE)
    assert server.queries == [
        {"limit": [size]},
        {"limit": [size], "continue": ["a"]},
        {"limit": [size], "continue": ["b"]},
    ]


async def test_a_list_whose_token_expires_is_read_whole() -> None:
    server = Server(page([1], "a"), ApiError(410, "too old", reason="Expired"), page([1, 2]))
    assert await server.read() == [1, 1, 2]
    assert server.queries[-1] == {}


@pytest.mark.parametrize("code", [403, 0])
async def test_other_failures_are_the_callers(code: int) -> None:
    with pytest.raises(ApiError, match="no"):
        await Server(page([1], "a"), ApiError(code, "no")).read()


async def test_a_list_that_is_always_too_old_is_an_error() -> None:
    old = ApiError(410, "too old", reason="Expired")
    with pytest.raises(ApiError, match="too old"):
        await Server(old, old).read()


async def test_a_list_whose_tokens_keep_expiring_fails() -> None:
    gone = ApiError(410, "too old", reason="Expired")
    server = Server(*[page([1], "a"), gone] * 2, page([1]))
    with pytest.raises(ApiError, match="too old"):
        await server.read()
