"""Responses of an API server: failures as errors, lists as objects."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from functools import lru_cache
from http import HTTPStatus
from typing import Any, Generic, TypeVar

import msgspec

from mooring.api import CustomResource, KubeObject, TypedObject
from mooring.api.kinds import decode_as, decode_raw
from mooring.errors import ApiError, ObjectError, cut_text
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

T = TypeVar("T", bound=KubeObject)

#: The longest wait, in seconds, for a server's Retry-After; kube-apiserver sends 1.
MAX_RETRY_AFTER = 60.0
#: How many undecodable objects of one list are logged.
_LOGGED = 10
#: How many bytes of an unexpected kind are shown.
_LONGEST_KIND = 200


class StatusAnswer(msgspec.Struct, frozen=True):
    """A `Status`: the server's response if there is no object to return."""

    message: str = ""
    reason: str = ""
    details: dict[str, Any] | None = None
    code: int = 0


class ListMeta(msgspec.Struct, frozen=True, rename="camel"):
    """The resource version of a list, and the token for the next page if there is one."""

    resource_version: str = ""
    continue_: str = msgspec.field(default="", name="continue")
    remaining_item_count: int | None = None


class ObjectList(msgspec.Struct, Generic[T], frozen=True):
    """A list, or a page of one."""

    metadata: ListMeta = ListMeta()
    items: list[T] = []
    kind: str = ""


class _RawList(msgspec.Struct):
    metadata: ListMeta = ListMeta()
    items: list[msgspec.Raw] | None = None
    kind: str = ""
    api_version: str = msgspec.field(default="", name="apiVersion")


def api_error(
    status: int, headers: Mapping[str, str], body: bytes, method: str, url: str, hint: str = ""
) -> ApiError:
    """Return the error of a failed request; the hint is added to the server's message."""
    try:
        said = msgspec.json.decode(body, type=StatusAnswer)
    except (msgspec.MsgspecError, UnicodeError):
        # Perhaps a proxy's error page: show its first line.
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
    """Return the error for a `Status` received within a watch."""
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
    # client-go reads only the header, as whole seconds. Within a watch there are no headers.
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
    """Decode the object in a response."""
    if struct is CustomResource:
        found = decode_raw(body)
        assert isinstance(found, struct)
        return found
    return decode_as(body, struct)


def decode_list(body: bytes, struct: type[T]) -> ObjectList[T]:
    """Decode a list.

    An object that cannot be decoded is left out and logged, so that it does not hide the others.
    """
    if struct is not CustomResource:
        try:
            decoded = _list_decoder(struct).decode(body)
            _check_kind(decoded.kind, struct)
            return decoded
        except (msgspec.ValidationError, UnicodeError):
            # A null or a broken object; decoding one by one finds out which.
            pass
        except msgspec.DecodeError as error:
            raise ObjectError(f"not valid JSON: {error}") from None
    try:
        raw = msgspec.json.decode(body, type=_RawList)
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ObjectError(f"not a list of objects: {error}") from None
    _check_kind(raw.kind, struct)
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


def _check_kind(kind: str, struct: type[KubeObject]) -> None:
    """Raise ObjectError if a list is one of another kind."""
    if issubclass(struct, TypedObject) and kind not in ("", "List", f"{struct.kind}List"):
        raise ObjectError(f"expected a {struct.kind}List, got {cut_text(kind, _LONGEST_KIND)}")


def _decode_item(item: bytes, struct: type[T], api_version: str, kind: str) -> T:
    if struct is not CustomResource:
        return decode_as(item, struct)
    raw = decode_as_map(item)
    # Items of a list may omit their type, which the list implies.
    found = decode_raw({"apiVersion": api_version, "kind": kind, **raw})
    assert isinstance(found, struct)
    return found


def decode_as_map(data: bytes) -> dict[str, Any]:
    """Decode a JSON object."""
    try:
        return msgspec.json.decode(data, type=dict[str, Any])
    except (msgspec.MsgspecError, UnicodeError) as error:
        raise ObjectError(f"not an object: {error}") from None
