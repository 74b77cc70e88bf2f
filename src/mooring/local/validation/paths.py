"""Paths in a container's file system."""

# kubernetes: pkg/apis/core/validation/validation.go

from __future__ import annotations

from mooring.local.validation.problems import Problem, invalid

BACKSTEPS = "must not contain '..'"
FILE_MODE = "must be a number between 0 and 0777 (octal), both inclusive"


def no_backsteps(path: str, field: str) -> list[Problem]:
    """Refuse a path that goes up."""
    return [invalid(field, path, BACKSTEPS)] if ".." in path.split("/") else []


def descending_path(path: str, field: str) -> list[Problem]:
    """Refuse a path that is absolute or goes up."""
    problems = []
    if path.startswith("/"):
        problems.append(invalid(field, path, "must be a relative path"))
    return problems + no_backsteps(path, field)


def local_path(path: str, field: str) -> list[Problem]:
    """Refuse a path that is not below, or is reserved."""
    problems = descending_path(path, field)
    if path.startswith("..") and not path.startswith("../"):
        problems.append(invalid(field, path, "must not start with '..'"))
    return problems


def check_mode(mode: int | None, field: str) -> list[Problem]:
    """Refuse what is no file mode."""
    if mode is not None and not 0 <= mode <= 0o777:
        return [invalid(field, mode, FILE_MODE)]
    return []
