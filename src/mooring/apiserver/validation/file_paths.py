"""Paths in a container's file system."""

# kubernetes: pkg/apis/core/validation/validation.go

from __future__ import annotations

import re

from mooring.api.field_errors import FieldError, each, invalid, required
from mooring.apiserver.validation.formats import subdomain_problems

BACKSTEPS = "must not contain '..'"
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


PREFIXED = 'must be a domain-prefixed path (such as "acme.io/foo")'
HTTP_PATH = "Invalid path (e.g. regex used for validation is '[A-Za-z0-9/\\-._~%!$&'()*+,;=:]+')"
_HTTP_PATH = re.compile(r"[A-Za-z0-9/\-._~%!$&'()*+,;=:]+", re.ASCII)


def prefixed_path(path: str, field: str) -> list[FieldError]:
    """Check a path that begins with a domain name."""
    # apimachinery: pkg/util/validation/validation.go, IsDomainPrefixedPath
    if not path:
        return [required(field)]
    host, _, rest = path.partition("/")
    if not host or not rest:
        return [invalid(field, path, PREFIXED)]
    problems = each(field, host, subdomain_problems(host))
    if _HTTP_PATH.fullmatch(rest) is None:
        problems.append(invalid(field, rest, HTTP_PATH))
    return problems


def no_backsteps(path: str, field: str) -> list[FieldError]:
    """Refuse a path with a `..` element."""
    return [invalid(field, path, BACKSTEPS)] if ".." in path.split("/") else []


def descending_path(path: str, field: str) -> list[FieldError]:
    """Refuse a path that is absolute or has a `..` element."""
    problems = []
    if path.startswith("/"):
        problems.append(invalid(field, path, "must be a relative path"))
    return problems + no_backsteps(path, field)


def local_path(path: str, field: str) -> list[FieldError]:
    """Refuse a path that is absolute, has a `..` element, or starts with `..`."""
    problems = descending_path(path, field)
    if path.startswith("..") and not path.startswith("../"):
        problems.append(invalid(field, path, "must not start with '..'"))
    return problems


def check_mode(mode: int | None, field: str) -> list[FieldError]:
    """Refuse an invalid file mode."""
    if mode is not None and not 0 <= mode <= 0o777:
        return [invalid(field, mode, FILE_MODE)]
    return []
