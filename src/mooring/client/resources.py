"""Resources: the paths of kinds, and the options of lists and watches."""

from __future__ import annotations

from functools import lru_cache
from typing import Any
from urllib.parse import quote, urlencode

import msgspec
from msgspec.structs import replace

from mooring.api import CustomResource, FinishedPod, KubeObject, Pod
from mooring.api.kinds import BY_STRUCT, KINDS
from mooring.errors import ObjectError

#: A pod has one of five phases; field selectors can only rule phases out.
_FINISHED = "status.phase!=Pending,status.phase!=Running,status.phase!=Unknown"


class Resource(msgspec.Struct, frozen=True):
    """A resource of the API: its path, and the Struct that holds its objects."""

    group: str
    version: str
    plural: str
    struct: type[KubeObject]
    #: Whether it has a Struct although a server may not serve it, because a
    #: CustomResourceDefinition or a feature gate defines it; then it has no objects.
    custom: bool = False
    #: Whether a server of a supported release may not serve it; then it has no objects.
    optional: bool = False
    #: The objects that lists and watches of this resource are limited to; "" for all.
    field_selector: str = ""

    @property
    def name(self) -> str:
        """Return "plural.version.group"."""
        return f"{self.plural}.{self.version}.{self.group}"

    def path(self, namespace: str = "", name: str = "", subresource: str = "") -> str:
        """Return the path of a collection, an object or a subresource, percent-encoded."""
        path = f"/apis/{self.group}" if self.group else "/api"
        path += f"/{self.version}"
        if namespace:
            path += f"/namespaces/{quote(namespace, safe='')}"
        path += f"/{self.plural}"
        if name:
            path += f"/{quote(name, safe='')}"
        return f"{path}/{subresource}" if subresource else path


#: A kind in code: its Struct, "plural.version.group" for a resource that has none, or a Resource.
KindLike = type[Any] | str | Resource


def raw_resource(kind: KindLike) -> Resource:
    """Return the resource of a kind, read as CustomResource, which keeps every field."""
    known = find_resource(kind)
    return Resource(known.group, known.version, known.plural, CustomResource)


def find_resource(kind: KindLike) -> Resource:
    """Return the resource of a kind.

    >>> find_resource("podgroups.v1alpha1.scheduling.x-k8s.io").path("team", "a")
    '/apis/scheduling.x-k8s.io/v1alpha1/namespaces/team/podgroups/a'
    """
    if isinstance(kind, Resource):
        return kind
    asked: Any = kind
    return _find(asked)


@lru_cache(maxsize=1024)
def _find(kind: Any) -> Resource:
    if isinstance(kind, str):
        plural, _, rest = kind.partition(".")
        version, _, group = rest.partition(".")
        if not plural or not version:
            raise ObjectError(f'a resource is named "plural.version.group", got "{kind}"')
        for row in KINDS:
            if (row.plural, row.version, row.group) == (plural, version, group):
                return Resource(group, version, plural, row.struct, row.custom, row.optional)
        return Resource(group, version, plural, CustomResource)
    if kind is FinishedPod:
        return replace(_find(Pod), struct=FinishedPod, field_selector=_FINISHED)
    known = BY_STRUCT.get(kind)
    if known is None:
        raise ObjectError(f"{kind.__name__} is not in the table of kinds")
    return Resource(
        known.group, known.version, known.plural, known.struct, known.custom, known.optional
    )


class ListOptions(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True, rename="camel"):
    """The objects that a list or watch covers, and how it is served."""

    label_selector: str = ""
    field_selector: str = ""
    resource_version: str = ""
    resource_version_match: str = ""
    limit: int = 0
    continue_: str = msgspec.field(default="", name="continue")
    timeout_seconds: int = 0
    allow_watch_bookmarks: bool = False
    send_initial_events: bool = False
    watch: bool = False

    def query(self) -> str:
        """Return the query string, with its question mark; empty if there are no options."""
        pairs = {
            key: "true" if value is True else value
            for key, value in msgspec.to_builtins(self).items()
        }
        return f"?{urlencode(pairs)}" if pairs else ""
