"""Impersonation: requests that a user sends as another user.

A request is tried in each mode until one allows it. The constrained modes need two rights: to
impersonate the user, and to do with that mode what the request does. The mode of old,
`impersonate`, needs the first alone, for each field of the wanted user.
"""

# apiserver: pkg/endpoints/filters/impersonation

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from urllib.parse import unquote

from msgspec.structs import replace

from mooring.api.field_errors import aggregate
from mooring.api.go_format import go_quote
from mooring.apiserver import refusals
from mooring.apiserver.auth.authorization import MASTERS, Attributes, Authorizer
from mooring.apiserver.auth.tokens import NODE_NAME, account_groups
from mooring.apiserver.http import ANONYMOUS, RequestUser
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.validation.file_paths import prefixed_path
from mooring.apiserver.validation.formats import label_problems, subdomain_problems

AUTHENTICATED, UNAUTHENTICATED = "system:authenticated", ANONYMOUS.groups[0]

_USER, _UID, _GROUP, _EXTRA = (
    "impersonate-user",
    "impersonate-uid",
    "impersonate-group",
    "impersonate-extra-",
)
_NODE = "system:node:"
_NODES = "system:nodes"
_REVIEWS = "authentication.k8s.io"

_ASSOCIATED_NODE, _ARBITRARY_NODE = "associated-node", "arbitrary-node"
_ACCOUNT, _USER_INFO, _LEGACY = "serviceaccount", "user-info", ""
#: In the order in which they are tried.
_MODES = (_ASSOCIATED_NODE, _ARBITRARY_NODE, _ACCOUNT, _USER_INFO, _LEGACY)
#: From this many groups or extra values on, a right to all of them is tried first.
_MANY = 4
#: How many users are remembered with the mode that last allowed a request.
_REMEMBERED = 10_000


def wanted_user(headers: Mapping[str, str]) -> RequestUser | None:
    """Return the user that the headers name, None if they name none; refuse a part of one."""
    name = _first(headers, _USER)
    user = RequestUser(
        name,
        tuple(_values(headers, _GROUP)),
        _first(headers, _UID),
        {
            unquote(key.removeprefix(_EXTRA)): tuple(_values(headers, key))
            for key in headers
            if key.startswith(_EXTRA)
        },
    )
    if name:
        return user
    if user.groups or user.uid or user.extra:
        why = f"requested {_go_syntax(user)} without impersonating a user name"
        raise refusals.bad_request(why)
    return None


def _first(headers: Mapping[str, str], name: str) -> str:
    return headers.get(name, "").partition("\n")[0]


def _values(headers: Mapping[str, str], name: str) -> list[str]:
    # The listener joins the values of a repeated header with newlines.
    return headers[name].split("\n") if name in headers else []


def _go_syntax(user: RequestUser) -> str:
    """Return a user as %#v prints Go's `*user.DefaultInfo`."""
    groups = _go_list(user.groups) if user.groups else "[]string(nil)"
    pairs = ", ".join(f"{go_quote(key)}:{_go_list(user.extra[key])}" for key in sorted(user.extra))
    extra = f"map[string][]string{{{pairs}}}" if user.extra else "map[string][]string(nil)"
    fields = f"Name:{go_quote(user.name)}, UID:{go_quote(user.uid)}, Groups:{groups}, Extra:{extra}"
    return f"&user.DefaultInfo{{{fields}}}"


def _go_list(texts: tuple[str, ...]) -> str:
    return f"[]string{{{', '.join(map(go_quote, texts))}}}"


class Impersonator:
    """The check of impersonated requests. Owned by the API server's event loop."""

    def __init__(self, authorizer: Authorizer) -> None:
        self._authorizer = authorizer
        #: The mode that last allowed a request of a user, whose refusal is the one to report.
        self._last: OrderedDict[str, str] = OrderedDict()

    def impersonated(self, wanted: RequestUser, asked: Attributes) -> RequestUser:
        """Return the user that a request is done as; refuse it if its sender may not."""
        last = self._last.get(asked.user.name)
        modes = _MODES if last is None else (last, *(one for one in _MODES if one != last))
        first: Refusal | None = None
        for mode in modes:
            if mode and not _applies(mode, wanted, asked.user):
                continue
            try:
                user = self._checked(mode, wanted, asked)
            except Refusal as refusal:
                first = first or refusal
                continue
            self._remember(asked.user.name, mode)
            return user
        assert first is not None, "the legacy mode always applies"
        raise first

    def _remember(self, name: str, mode: str) -> None:
        self._last[name] = mode
        self._last.move_to_end(name)
        if len(self._last) > _REMEMBERED:
            self._last.popitem(last=False)

    def _checked(self, mode: str, wanted: RequestUser, asked: Attributes) -> RequestUser:
        """Return the user as impersonated in a mode; refuse what the sender may not."""
        if mode:
            self._authorizer.require(replace(asked, verb=f"impersonate-on:{mode}:{asked.verb}"))
        verb = f"impersonate:{mode}" if mode else "impersonate"
        group = _REVIEWS if mode else ""
        to = Attributes(asked.user, verb, group, "v1", "users", "", "", wanted.name)
        groups = wanted.groups
        if mode and (node := _node(wanted.name)):
            name = "*" if mode == _ASSOCIATED_NODE else node
            to, groups = replace(to, resource="nodes", name=name), (_NODES,)
        namespace, account = split_account(wanted.name)
        if account:
            to = replace(to, resource="serviceaccounts", namespace=namespace, name=account)
            groups = groups or account_groups(namespace)
        self._authorizer.require(to)
        parts = replace(to, namespace="", group=_REVIEWS)
        if wanted.uid:
            self._authorizer.require(replace(parts, resource="uids", name=wanted.uid))
        self._require_groups(mode, wanted.groups, replace(to, namespace="", resource="groups"))
        self._require_extra(mode, wanted.extra, replace(parts, resource="userextras"))
        return _complete(RequestUser(wanted.name, groups, wanted.uid, wanted.extra))

    def _require_groups(self, mode: str, groups: tuple[str, ...], to: Attributes) -> None:
        if mode and "" in groups:
            why = "impersonating the empty string group is not allowed"
            raise self._authorizer.refusal(replace(to, name=""), why)
        if mode and MASTERS in groups:
            why = "impersonating the system:masters group is not allowed"
            raise self._authorizer.refusal(replace(to, name=MASTERS), why)
        if mode and len(groups) >= _MANY and self._authorizer.allows(replace(to, name="*")):
            return
        for group in groups:
            self._authorizer.require(replace(to, name=group))

    def _require_extra(
        self, mode: str, extra: Mapping[str, tuple[str, ...]], to: Attributes
    ) -> None:
        if mode and (why := _extra_problem(extra)):
            raise self._authorizer.refusal(replace(to, name=""), why)
        many = max(len(extra), sum(map(len, extra.values()))) >= _MANY
        if mode and many and self._authorizer.allows(replace(to, subresource="*", name="*")):
            return
        for key, values in extra.items():
            for value in values:
                self._authorizer.require(replace(to, subresource=key, name=value))


def _applies(mode: str, wanted: RequestUser, sender: RequestUser) -> bool:
    """Return whether a constrained mode can impersonate a user."""
    node, account = _node(wanted.name), split_account(wanted.name)[1]
    if mode == _USER_INFO:
        return not node and not account
    if wanted.uid or wanted.groups or wanted.extra:
        return False
    if mode == _ACCOUNT:
        return bool(account)
    if mode == _ARBITRARY_NODE:
        return bool(node)
    is_account = bool(split_account(sender.name)[1])
    return bool(node) and is_account and sender.extra.get(NODE_NAME) == (node,)


def _node(name: str) -> str:
    """Return the node that a user name stands for, "" if it stands for none."""
    node = name.removeprefix(_NODE) if name.startswith(_NODE) else ""
    return "" if subdomain_problems(node) else node


def split_account(name: str) -> tuple[str, str]:
    """Return the namespace and the name of a service account's user, "" and "" for others."""
    parts = name.split(":")
    if parts[:2] != ["system", "serviceaccount"] or len(parts) != 4:
        return "", ""
    if label_problems(parts[2]) or subdomain_problems(parts[3]):
        return "", ""
    return parts[2], parts[3]


def _extra_problem(extra: Mapping[str, tuple[str, ...]]) -> str:
    """Return why extra values cannot be impersonated in a constrained mode, "" if they can."""
    start = "impersonating"
    for key, values in extra.items():
        if not key:
            return f"{start} the empty string key in extra is not allowed"
        if problems := prefixed_path(key, "extra.key"):
            why = aggregate(f"{one.path}: {one.message}" for one in problems)
            return f"{start} an invalid key in extra is not allowed: {why}"
        if key != key.lower():
            return f"{start} a non-lowercase key in extra is not allowed: {go_quote(key)}"
        if not values:
            return f"{start} empty values in extra is not allowed"
        if "" in values:
            return f"{start} the empty string value in extra is not allowed"
    return ""


def _complete(user: RequestUser) -> RequestUser:
    """Return an impersonated user in the group of authenticated or anonymous users."""
    if user.name == ANONYMOUS.name:
        return with_group(user, UNAUTHENTICATED)
    return user if UNAUTHENTICATED in user.groups else with_group(user, AUTHENTICATED)


def with_group(user: RequestUser, group: str) -> RequestUser:
    """Return the user with a group added, unless the user is already in it."""
    if group in user.groups:
        return user
    return replace(user, groups=(*user.groups, group))
