"""Answers of an API server: its failures as errors, its lists as objects."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec

from mooring.api import CustomResource, KubeObject
from mooring.api.kinds import decode_as, decode_raw
from mooring.errors import ApiError, ObjectError
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

T = TypeVar("T", bound=KubeObject)

#: Seconds waited at most because a server asks for patience; kube-apiserver asks for 1.
MAX_RETRY_AFTER = 60.0
#: How many objects of one list that cannot be read are logged.
_LOGGED = 10


class StatusAnswer(msgspec.Struct, frozen=True):
    """Be a `Status`: what the server says where there is no object to give."""

    message: str = ""
    reason: str = ""
    details: dict[str, Any] | None = None
    code: int = 0


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """Say which state of the cluster a list shows, and how to go on where it is cut."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class ObjectList(msgspec.Struct, Generic[T], frozen=True):
    """Hold a list, or a page of one."""

    metadata: ListMeta = ListMeta()
    items: list[T] = []


class _RawList(msgspec.Struct):
    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")


def api_error(
    status: int, headers: Mapping[str, str], body: bytes, method: str, url: str, hint: str = ""
) -> ApiError:
    """Make an error of an answer that is a failure; the hint is added to what the server says."""
    try:
        said = msgspec.json.decode(body, type=StatusAnswer)
    except (msgspec.MsgspecError, UnicodeError):
        # A proxy, perhaps: the first line of what it says is worth showing.
        lines = body.decode("utf-8", "replace").strip().splitlines()
        said = StatusAnswer(message=lines[0][:200] if lines else "")
    return ApiError(
        status,
        "; ".join(part for part in (said.message, hint) if part),
        reason=said.reason or _phrase(status),
        details=said.details,
        retry_after=_retry_after(headers, said.details),
        method=method,
        url=url,
    )


def error_of_status(said: StatusAnswer, method: str, url: str) -> ApiError:
    """Make an error of a `Status` that came within a watch."""
    return ApiError(
        said.code or 500,
        said.message,
        reason=said.reason,
        details=said.details,
        retry_after=_retry_after({}, said.details),
        method=method,
        url=url,
    )


def _phrase(status: int) -> str:
    try:
        return HTTPStatus(status).phrase.replace(" ", "")
    except ValueError:
        return ""


def _retry_after(headers: Mapping[str, str], details: dict[str, Any] | None) -> float | None:
    # client-go reads the header alone, as whole seconds; on the wire of a watch there is none.
    text = headers.get("Retry-After", "")
    if text.isdecimal():
        return min(float(text), MAX_RETRY_AFTER)
    seconds = (details or {}).get("retryAfterSeconds")
    if not isinstance(seconds, int) or seconds <= 0 or headers:
        return None
    return float(min(seconds, MAX_RETRY_AFTER))


@lru_cache(maxsize=256)
def _list_decoder(struct: type[T]) -> msgspec.json.Decoder[ObjectList[T]]:
    return msgspec.json.Decoder(ObjectList[struct])  # type: ignore[valid-type]


def decode_object(body: bytes, struct: type[T]) -> T:
    """Make an object of an answer."""
    if struct is CustomResource:
        found = decode_raw(body)
        assert isinstance(found, struct)
        return found
    return decode_as(body, struct)


def decode_list(body: bytes, struct: type[T]) -> ObjectList[T]:
    """Make objects of a list.

    One that cannot be read is left out and logged, so that it does not hide the others.
    """
    if struct is not CustomResource:
        try:
            return _list_decoder(struct).decode(body)
        except (msgspec.ValidationError, UnicodeError):
            # A null or a broken object; which one shows when they are read one by one.
            pass
        except msgspec.DecodeError as error:
            raise ObjectError(f"not valid JSON: {error}") from None
    try:
        raw = msgspec.json.decode(body, type=_RawList)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ObjectError(f"not a list of objects: {error}") from None
    kind = raw.kind.removesuffix("List")
    items: list[T] = []
    broken = 0
    for item in raw.items or ():
        try:
            items.append(_decode_item(bytes(item), struct, raw.api_version, kind))
        except ObjectError as error:
            broken += 1
            if broken <= _LOGGED:
                log_error(log, error, "Cannot read an object of a list, going on without it")
    if broken > _LOGGED:
        log_error(log, None, "Cannot read more objects of a list", count=broken - _LOGGED)
    return ObjectList(raw.metadata, items)


def _decode_item(item: bytes, struct: type[T], api_version: str, kind: str) -> T:
    if struct is not CustomResource:
        return decode_as(item, struct)
    raw = decode_as_map(item)
    # Items of a list may leave their type to the list.
    found = decode_raw({"apiVersion": api_version, "kind": kind, **raw})
    assert isinstance(found, struct)
    return found


def decode_as_map(data: bytes) -> dict[str, Any]:
    """Read a JSON object."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ObjectError(f"not an object: {error}") from None
