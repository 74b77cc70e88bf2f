"""Decoded, defaulted objects of built-in kinds, and what is wrong with them."""

from __future__ import annotations

import copy
import re
from typing import Any

from mooring.api.field_errors import FieldError
from mooring.api.names import label_key_problems, label_value_problems, subdomain_problems
from mooring.apiserver.defaults import set_defaults
from mooring.apiserver.schema.decoding import decode_object
from mooring.apiserver.validation import check_create, check_update, formats
from mooring.controlplane.type_table import types

Object = dict[str, Any]
Problems = list[FieldError]

#: A character that is repeated to make a text too long.
_REPEATED = re.compile(r"(.)\1{40,}")


def made(version: str, kind: str, **more: Any) -> Object:
    """Return an object as the server checks it: decoded, with defaults."""
    metadata = {"name": "x", "resourceVersion": "1", "uid": "u"} | more.pop("metadata", {})
    found = types().find(version, kind)
    assert found is not None
    obj = decode_object({"metadata": metadata, **more}, found, kind, version).object
    if any(one.kind == kind and one.namespaced for one in types().resources(version)):
        obj["metadata"].setdefault("namespace", "default")
    set_defaults(version, kind, obj)
    return obj


def pod(**spec: Any) -> Object:
    """Return a pod with one container unless the spec gives others."""
    return made("v1", "Pod", spec={"containers": [container()], **spec})


def container(**more: Any) -> Object:
    """Return the manifest of a container."""
    return {"name": "c", "image": "i", **more}


def workload(kind: str, version: str = "apps/v1", **spec: Any) -> Object:
    """Return a workload whose selector matches the labels of its pods."""
    template = {"metadata": {"labels": {"a": "b"}}, "spec": {"containers": [container()]}}
    defaults = {"selector": {"matchLabels": {"a": "b"}}, "template": template}
    return made(version, kind, spec=defaults | spec)


def template(labels: dict[str, str] | None = None, **spec: Any) -> Object:
    """Return the manifest of a pod template."""
    return {
        "metadata": {"labels": {"a": "b"} if labels is None else labels},
        "spec": {"containers": [container()], **spec},
    }


#: The explanations of formats, which are long, and the names that stand for them in tests.
_FORMATS = {
    subdomain_problems("A")[0]: "<subdomain>",
    label_key_problems("a b")[0]: "<qualified name>",
    label_value_problems("a b")[0]: "<label value>",
    formats.WILDCARD_SUBDOMAIN: "<wildcard subdomain>",
    formats.LABEL: "<label>",
    formats.LABEL_1035: "<DNS-1035 label>",
    formats.CONFIG_KEY: "<config key>",
    formats.HTTP_HEADER: "<HTTP header>",
    formats.PERCENT: "<percentage>",
    formats.RELAXED_SUBDOMAIN: "<relaxed subdomain>",
}


def texts(problems: Problems) -> list[str]:
    """Return problems as messages, with names for explanations of formats, and long values cut."""
    return [f"{one.path}: {_brief(one.message)}" for one in problems]


def _brief(message: str) -> str:
    for explanation, name in _FORMATS.items():
        message = message.replace(explanation, name)
    return _REPEATED.sub(r"\1…", message)


def refusals(obj: Object) -> list[str]:
    """Return what is wrong with a new object."""
    return texts(check_create(obj["apiVersion"], obj["kind"], obj))


def refused(version: str, kind: str, **fields: Any) -> list[str]:
    """Return what is wrong with a new object of these fields."""
    return refusals(made(version, kind, **fields))


def merged(old: Any, change: Any) -> Any:
    """Return a value with a merge patch applied: null removes a field."""
    if not isinstance(change, dict) or not isinstance(old, dict):
        return change
    new = dict(old)
    for key, value in change.items():
        if value is None:
            new.pop(key, None)
        else:
            new[key] = merged(old.get(key), value)
    return new


def update_refusals(old: Object, change: Object, subresource: str = "") -> list[str]:
    """Return what is wrong with a change of an object."""
    new = merged(copy.deepcopy(old), copy.deepcopy(change))
    return texts(check_update(old["apiVersion"], old["kind"], new, old, subresource))
