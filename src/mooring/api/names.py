"""What Kubernetes accepts as a name, and why it refuses a text."""

# apimachinery: pkg/api/validate/content

from __future__ import annotations

import re
from functools import lru_cache

#: The resource of which every pod counts one.
PODS = "pods"

_NAME = re.compile(r"([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]", re.ASCII)
_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_SUBDOMAIN = re.compile(rf"{_LABEL}(\.{_LABEL})*", re.ASCII)

_NAME_MAX = 63
_SUBDOMAIN_MAX = 253

_EMPTY = "must be non-empty"
_NAME_PROBLEM = (
    "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an "
    "alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')"
)
_KEY_PROBLEM = (
    "a valid label key must consist of alphanumeric characters, '-', '_' or '.', and must start "
    "and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', "
    "regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]') with an optional "
    "DNS subdomain prefix and '/' (e.g. 'example.com/MyName')"
)
_VALUE_PROBLEM = (
    "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', "
    "and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or "
    "'12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')"
)
_SUBDOMAIN_PROBLEM = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or "
    "'.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used "
    "for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def _too_long(limit: int, unit: str = "bytes") -> str:
    return f"must be no more than {limit} {unit}"


def subdomain_problems(text: str, unit: str = "characters") -> list[str]:
    """Return why a text is not a valid DNS subdomain; empty if it is.

    The limit is in bytes, but Kubernetes' message says `unit`: bytes for the prefix of a label
    key, characters elsewhere.
    """
    problems = [_too_long(_SUBDOMAIN_MAX, unit)] if len(text.encode()) > _SUBDOMAIN_MAX else []
    if _SUBDOMAIN.fullmatch(text) is None:
        problems.append(_SUBDOMAIN_PROBLEM)
    return problems


@lru_cache(maxsize=16384)
def label_key_problems(key: str) -> tuple[str, ...]:
    """Return why a text is not a valid label key; empty if it is."""
    parts = key.split("/")
    if len(parts) > 2:
        return (_KEY_PROBLEM,)
    problems: list[str] = []
    if len(parts) == 2:
        if not parts[0]:
            problems.append(f"prefix part {_EMPTY}")
        else:
            problems += [
                f"prefix part {problem}" for problem in subdomain_problems(parts[0], "bytes")
            ]
    name = parts[-1]
    if not name:
        problems.append(f"name part {_EMPTY}")
    elif len(name.encode()) > _NAME_MAX:
        problems.append(f"name part {_too_long(_NAME_MAX)}")
    if _NAME.fullmatch(name) is None:
        problems.append(f"name part {_NAME_PROBLEM}")
    return tuple(problems)


@lru_cache(maxsize=16384)
def label_value_problems(value: str) -> tuple[str, ...]:
    """Return why a text is not a valid label value; empty if it is."""
    problems = [_too_long(_NAME_MAX)] if len(value.encode()) > _NAME_MAX else []
    if value and _NAME.fullmatch(value) is None:
        problems.append(_VALUE_PROBLEM)
    return tuple(problems)


_NATIVE = "kubernetes.io/"
_QUOTA_PREFIX = "requests."
_HUGE_PAGES = "hugepages-"
_ATTACHABLE = "attachable-volumes-"


def is_native_resource(name: str) -> bool:
    """Return whether a resource is Kubernetes' own: without a prefix, or under kubernetes.io."""
    return "/" not in name or _NATIVE in name


@lru_cache(maxsize=4096)
def is_extended_resource(name: str) -> bool:
    """Return whether a resource belongs to a third party, such as `nvidia.com/gpu`."""
    # kubernetes: pkg/apis/core/v1/helper/helpers.go
    if is_native_resource(name) or name.startswith(_QUOTA_PREFIX):
        return False
    return not label_key_problems(_QUOTA_PREFIX + name)


@lru_cache(maxsize=4096)
def is_scalar_resource(name: str) -> bool:
    """Return whether the scheduler counts a resource besides cpu, memory, ephemeral-storage."""
    # kube-scheduler: util/utils.go (IsScalarResourceName)
    return (
        is_extended_resource(name) or name.startswith((_HUGE_PAGES, _ATTACHABLE)) or _NATIVE in name
    )


#: The amounts of a node that the scheduler counts besides scalar resources.
NATIVE_RESOURCES = ("cpu", "memory", "ephemeral-storage")


def is_counted(name: str) -> bool:
    """Return whether the scheduler counts a resource on nodes."""
    return name in NATIVE_RESOURCES or is_scalar_resource(name)
