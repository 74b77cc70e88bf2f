"""Label and field selectors of a request."""

# kube-apiserver: pkg/registry/core/pod/strategy.go and the other kinds' ToSelectableFields

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.api.field_selectors import FieldRequirement, FieldSelector
from mooring.api.go_format import go_text
from mooring.api.labels import (
    DOES_NOT_EXIST,
    EXISTS,
    IN,
    NOT_IN,
    NOTHING,
    Requirement,
    Selector,
)
from mooring.apiserver.http import ApiRequest
from mooring.apiserver.refusals import bad_request
from mooring.apiserver.resource_store import Stored
from mooring.apiserver.resource_table import Served
from mooring.apiserver.version_conversion import FIELD_LABELS
from mooring.errors import ObjectError

Object = dict[str, Any]

_NAME, _NAMESPACE = "metadata.name", "metadata.namespace"
_REFERENCE = ("kind", "namespace", "name", "uid", "apiVersion", "resourceVersion", "fieldPath")

_LABELS: dict[str, tuple[str, ...]] = {
    "/pods": (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.podIPs",
        "status.nominatedNodeName",
    ),
    "/nodes": ("spec.unschedulable",),
    "/namespaces": ("status.phase",),
    "/secrets": ("type",),
    "/services": ("spec.clusterIP", "spec.type"),
    "/replicationcontrollers": ("status.replicas",),
    "/events": (
        *(f"involvedObject.{part}" for part in _REFERENCE),
        "reason",
        "reportingComponent",
        "source",
        "type",
    ),
    "batch/jobs": ("status.successful",),
    "certificates.k8s.io/certificatesigningrequests": ("spec.signerName",),
    "resource.k8s.io/resourceslices": ("spec.nodeName", "spec.driver"),
}


class RequestSelection:
    """The label and field selectors of a request. `empty` selects everything."""

    __slots__ = ("_fields", "_labels", "empty")

    def __init__(self, labels: Selector, fields: FieldSelector) -> None:
        self._labels = None if labels.empty else labels
        self._fields = None if fields.empty else fields
        self.empty = self._labels is None and self._fields is None

    def matches(self, stored: Stored) -> bool:
        """Return whether an object is selected."""
        if self._labels is not None and not self._labels.matches(stored.labels):
            return False
        return self._fields is None or self._matches_fields(stored)

    def _matches_fields(self, stored: Stored) -> bool:
        assert self._fields is not None
        if stored.fields is None:
            stored.fields = {}
        known = stored.fields
        for one in self._fields.requirements:
            found = known.get(one.path)
            if found is None:
                found = known[one.path] = _read(stored, one.path)
            if (found == one.value) is not one.equal:
                return False
        return True

    def and_name(self, name: str) -> RequestSelection:
        """Return this selection narrowed to one name."""
        fields = self._fields.requirements if self._fields is not None else ()
        one = FieldRequirement(_NAME, name)
        return RequestSelection(self._labels or Selector(), FieldSelector((*fields, one)))

    @property
    def has_fields(self) -> bool:
        """Return whether there is a field selector."""
        return self._fields is not None

    @property
    def name(self) -> str:
        """Return the name that the field selector requires, "" if it requires none."""
        return self._fields.required(_NAME) if self._fields is not None else ""


EVERYTHING = RequestSelection(Selector(), FieldSelector())


def _read(stored: Stored, path: str) -> str:
    if not stored.is_folded or path in _SPECIAL_PATHS:
        return _field(stored.object, path)
    # A list reads the field of thousands of objects, so decode only what leads to it.
    data: msgspec.Raw | bytes | None = stored.data
    for step in path.split("."):
        try:
            data = None if data is None else _parts(data).get(step)
        except msgspec.ValidationError:
            data = None
    return _shown(None if data is None else msgspec.json.decode(data), path)


_parts = msgspec.json.Decoder(dict[str, msgspec.Raw]).decode


def _field(obj: Object, path: str) -> str:
    special = _SPECIAL.get((obj.get("kind"), path))
    if special is not None:
        return special(obj)
    found: Any = obj
    for step in path.split("."):
        found = found.get(step) if isinstance(found, dict) else None
    return _shown(found, path)


def _shown(found: Any, path: str) -> str:
    if found is None:
        return _ABSENT.get(path, "")
    return go_text(found)


def _source(obj: Object) -> str:
    source = (obj.get("source") or {}).get("component") or ""
    return source or str(obj.get("reportingComponent") or "")


def _pod_ips(obj: Object) -> str:
    return ",".join(one.get("ip", "") for one in obj.get("status", {}).get("podIPs") or ())


_ABSENT = {
    "spec.unschedulable": "false",
    "spec.hostNetwork": "false",
    "status.replicas": "0",
    "status.successful": "0",
}
_SPECIAL: dict[tuple[Any, str], Callable[[Object], str]] = {
    ("Event", "source"): _source,
    ("Pod", "status.podIPs"): _pod_ips,
    ("Job", "status.successful"): lambda obj: str(obj.get("status", {}).get("succeeded") or 0),
}
_SPECIAL_PATHS = frozenset(path for _, path in _SPECIAL)


#: Apimachinery's words for what the label selector parser expected.
_EXPECTED = {
    "a label key": "identifier",
    "a value": "identifier",
    "',' or the end": "',' or 'end of string'",
    "')'": "',' or ')'",
    "one of in, notin, =, ==, !=, >, <": "in, notin, =, ==, !=, gt, lt",
}


def read(request: ApiRequest, served: Served) -> RequestSelection:
    """Return the selection of a request; refuse malformed selectors."""
    labels, fields = request.parameter("labelSelector"), request.parameter("fieldSelector")
    if not labels and not fields:
        return EVERYTHING
    try:
        selector = Selector.from_text(labels)
    except ObjectError as error:
        raise bad_request(_requirement_error(labels, str(error))) from None
    if why := _value_error(fields):
        raise bad_request(f"invalid field selector: {why}")
    try:
        parsed = FieldSelector.from_text(fields)
    except ObjectError as error:
        found = re.search(r"can't understand ('.*?');", str(error))
        why = f"can't understand {found[1]}" if found else str(error)
        raise bad_request(f"invalid selector: '{fields}'; {why}") from None
    return RequestSelection(selector, _checked(parsed, served))


def _value_error(selector: str) -> str:
    """Return what is wrong with the escapes in a field selector's values, "" if nothing is."""
    # apimachinery: pkg/fields/selector.go, UnescapeValue
    for term in re.findall(r"(?:[^,\\]|\\.?)+", selector):
        _, _, value = term.partition("=")
        value = value.removeprefix("=")
        for escape in re.findall(r"\\.?|=", value):
            if escape == "=":
                return f"unescaped character in value: {ord(escape)}"
            if escape[1:] not in ("\\", ",", "="):
                return f"invalid escape sequence: {escape}"
    return ""


def _requirement_error(selector: str, text: str) -> str:
    """Return apimachinery's message for a malformed label selector."""
    # For an invalid label key or value, the text is apimachinery's already.
    match = re.fullmatch(r"selector .*?: found (.*), expected (.*)", text)
    if match is None:
        return f"unable to parse requirement: {text.replace('key: Invalid', '<nil>: Invalid')}"
    found = "''" if match[1] == "the end" else match[1]
    if match[2] == "a label key or '!'":
        first = found != "''" and selector.lstrip().startswith(found.strip("'"))
        what = "!, identifier, or 'end of string'" if first else "identifier after ','"
        return f"found {found}, expected: {what}"
    expected = _EXPECTED.get(match[2], match[2])
    if expected == "'('":
        return f"unable to parse requirement: found {found} expected: '('"
    prefix = "" if "end of string" in expected else "unable to parse requirement: "
    return f"{prefix}found {found}, expected: {expected}"


def _checked(selector: FieldSelector, served: Served) -> FieldSelector:
    if selector.empty:
        return selector
    known = {_NAME, *_LABELS.get(served.store, ())}
    if served.namespaced or served.store not in _LABELS:
        known.add(_NAMESPACE)
    if served.custom is not None:
        known |= {path.lstrip(".") for path in served.custom.selectable}
    renames = FIELD_LABELS if served.group == "events.k8s.io" else {}
    requirements = []
    for one in selector.requirements:
        head, dot, rest = one.path.partition(".")
        path = f"{renames.get(head, head)}{dot}{rest}"
        if served.store == "/pods" and path == "spec.host":
            path = "spec.nodeName"
        renamed = bool(renames) and head in renames.values()
        if path not in known or renamed or (renames and path == "source"):
            raise bad_request(_unknown(served, one.path))
        requirements.append(type(one)(path, one.value, one.equal))
    return FieldSelector(tuple(requirements))


def _unknown(served: Served, path: str) -> str:
    """Return the message for a field that cannot be selected by; it depends on the kind."""
    if served.store == "batch/jobs":
        return f'field label "{path}" not supported for Job'
    if served.store == "resource.k8s.io/resourceslices":
        kind = f"{served.group_version}, Kind={served.kind}"
        return f"field label not supported for {kind}: {path}"
    if served.custom is not None or served.store in _LABELS:
        return f"field label not supported: {path}"
    return f'"{path}" is not a known field selector: only "{_NAME}", "{_NAMESPACE}"'


def selector_of(selector: Object | None) -> Selector:
    """Return the Selector for an object's LabelSelector.

    A missing or malformed one selects nothing.
    """
    if selector is None:
        return NOTHING
    wanted = [
        Requirement.trusted(key, IN, (text,))
        for key, text in (selector.get("matchLabels") or {}).items()
    ]
    for one in selector.get("matchExpressions") or ():
        if one.get("operator") not in (IN, NOT_IN, EXISTS, DOES_NOT_EXIST):
            return NOTHING
        wanted.append(Requirement.trusted(one["key"], one["operator"], one.get("values") or ()))
    return Selector(wanted)
