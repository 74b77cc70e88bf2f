"""Target: the object or collection that a request to a simulated API server addresses."""

from __future__ import annotations

import re
from typing import Any
from urllib.parse import parse_qsl, unquote

import msgspec

from tests.soak.object_store import Json, Refusal
from tests.soak.watch_stream import Matches

_PATH = re.compile(
    r"(?P<group>/api/v1|/apis/[^/]+/[^/]+)(?:/namespaces/(?P<namespace>[^/]+))?"
    r"/(?P<plural>[^/]+)(?:/(?P<name>[^/]+))?(?:/(?P<subresource>[^/]+))?"
)


class Target(msgspec.Struct, frozen=True):
    """The object or collection that a request addresses, and its query."""

    collection: str
    namespace: str = ""
    name: str = ""
    subresource: str = ""
    query: dict[str, str] = {}

    @classmethod
    def of(cls, target: str) -> Target:
        """Parse the path and query of a request."""
        path, _, query = target.partition("?")
        found = _PATH.fullmatch(path)
        if found is None:
            raise Refusal(404, "NotFound", "the server could not find the requested resource")
        parts = {key: unquote(value or "") for key, value in found.groupdict().items()}
        collection = f"{parts['group']}/{parts['plural']}"
        return cls(
            collection,
            parts["namespace"],
            parts["name"],
            parts["subresource"],
            dict(parse_qsl(query)),
        )


def matcher(selector: str) -> Matches:
    """Parse a field selector; only `!=` is supported, the one form that schedulers use."""
    terms = [term.split("!=") for term in selector.split(",") if term]
    if not terms:
        return lambda obj: True

    def matches(obj: Json) -> bool:
        return all(_field(obj, path) != value for path, value in terms)

    return matches


def _field(obj: Any, path: str) -> Any:
    for name in path.split("."):
        obj = obj.get(name, {})
    return obj
