"""MissingRights: logs each right that a server refuses, with the RBAC rule that would grant it."""

from __future__ import annotations

import logging
from urllib.parse import parse_qs, urlsplit

import msgspec

from mooring.errors import ApiError
from mooring.observe.logs import kv

log = logging.getLogger(__name__)

_VERBS = {"POST": "create", "PUT": "update", "PATCH": "patch", "DELETE": "delete"}
_MESSAGE = (
    "A right is missing; requests are retried without logging this again. Add the rule to a role "
    "of this user"
)


class MissingRight(msgspec.Struct, frozen=True):
    """A request that RBAC refuses."""

    verb: str
    group: str
    #: The plural, with the subresource after a slash.
    resource: str
    #: "" if the rule must hold in all namespaces.
    namespace: str = ""

    @property
    def rule(self) -> str:
        """Return the RBAC rule that grants it, as YAML."""
        group = self.group or '""'
        return f"{{apiGroups: [{group}], resources: [{self.resource}], verbs: [{self.verb}]}}"


def right_of(method: str, target: str) -> MissingRight | None:
    """Return the right that a request needs; None if it is not for a resource.

    >>> right_of("GET", "/api/v1/pods?watch=true").rule
    '{apiGroups: [""], resources: [pods], verbs: [watch]}'
    >>> right_of("POST", "/api/v1/namespaces/default/pods/web/binding").resource
    'pods/binding'
    """
    url = urlsplit(target)
    parts = url.path.strip("/").split("/")
    if parts[0] == "api" and len(parts) > 2:
        group, rest = "", parts[2:]
    elif parts[0] == "apis" and len(parts) > 3:
        group, rest = parts[1], parts[3:]
    else:
        return None
    namespace = ""
    if rest[0] == "namespaces" and len(rest) > 2:
        namespace, rest = rest[1], rest[2:]
    verb = _VERBS.get(method, "get" if len(rest) > 1 else "list")
    if verb == "list" and parse_qs(url.query).get("watch") == ["true"]:
        verb = "watch"
    resource = f"{rest[0]}/{rest[2]}" if len(rest) > 2 else rest[0]
    # A scheduler needs its lease in one namespace, and everything else in all of them.
    return MissingRight(verb, group, resource, namespace if resource == "leases" else "")


class MissingRights:
    """The rights that a server has refused so far, for all clients of a process.

    With `quiet`, an error whose right was refused before is marked as repeated: those who log it
    need not do so again. The threads that share this need no lock: at worst a line comes twice.
    """

    def __init__(self, *, quiet: bool = True) -> None:
        self._quiet = quiet
        self._known: set[MissingRight] = set()

    def note(self, error: ApiError, method: str, target: str) -> None:
        """Log the right that a refused request needs, if it is new."""
        right = right_of(method, target)
        # Admission refuses with 403 too, for example an object over a quota.
        if right is None or f" cannot {right.verb} resource " not in error.message:
            return
        if right in self._known:
            error.repeated = self._quiet
            return
        self._known.add(right)
        role = f"Role in namespace {right.namespace}" if right.namespace else "ClusterRole"
        pairs = kv(verb=right.verb, resource=right.resource, role=role, rule=right.rule)
        log.error(_MESSAGE, extra=pairs)
