"""Reading a list page by page, so that no response is too large."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Generic, TypeVar
from urllib.parse import urlencode

import msgspec

from mooring.client.client import Client
from mooring.client.responses import ListMeta
from mooring.client.transport import MAX_LIST
from mooring.errors import ApiError

T = TypeVar("T")

#: kubectl: --chunk-size
PAGE = 500


async def read_pages(client: Client, path: str, kind: type[T]) -> AsyncIterator[T]:
    """Yield the objects of a list; if the continue token expires, the whole list in one response.

    Objects that were yielded before come again then.
    """
    decoder = msgspec.json.Decoder(_Page[kind])  # type: ignore[valid-type]
    query: dict[str, str] = {"limit": str(PAGE)}
    expired = False
    while True:
        target = f"{path}?{urlencode(query)}" if query else path
        try:
            body = await client.request("GET", target, max_bytes=MAX_LIST)
        except ApiError as error:
            if expired or not error.is_gone:
                raise
            query, expired = {}, True
            continue
        page = decoder.decode(body)
        for one in page.items or ():
            yield one
        if not page.metadata.continue_:
            return
        query["continue"] = page.metadata.continue_


class _Page(msgspec.Struct, Generic[T], frozen=True):
    metadata: ListMeta = ListMeta()
    items: list[T] | None = None
