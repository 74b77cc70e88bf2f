"""Checks of the options of writes: dryRun, fieldManager, fieldValidation, force."""

# apimachinery: pkg/apis/meta/v1/validation/validation.go

from __future__ import annotations

from collections.abc import Sequence

from mooring.api.field_errors import (
    FieldError,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from mooring.apiserver import refusals

_GROUP = "meta.k8s.io"
_MANAGER_MAX = 128
_DIRECTIVES = ("", "Ignore", "Strict", "Warn")


def check_options(
    kind: str,
    *,
    dry_run: Sequence[str] = (),
    field_manager: str = "",
    field_validation: str = "",
    force: bool | None = None,
    applying: bool = False,
) -> None:
    """Refuse invalid options; `kind` is CreateOptions, UpdateOptions or PatchOptions."""
    problems: list[FieldError] = []
    if kind == "PatchOptions":
        if applying and not field_manager:
            problems.append(required("fieldManager", "is required for apply patch"))
        elif not applying and force is not None:
            problems.append(forbidden("force", "may not be specified for non-apply patch"))
    problems += _field_manager(field_manager)
    problems += dry_run_problems(dry_run)
    if field_validation not in _DIRECTIVES:
        problems.append(not_supported("fieldValidation", field_validation, _DIRECTIVES))
    if problems:
        raise refusals.invalid(kind, _GROUP, "", problems)


def dry_run_problems(dry_run: Sequence[str]) -> list[FieldError]:
    """Return the problems of the dryRun values."""
    if all(one == "All" for one in dry_run):
        return []
    return [not_supported("dryRun", list(dry_run), ("All",))]


def _field_manager(name: str) -> list[FieldError]:
    if len(name.encode()) > _MANAGER_MAX:
        return [too_long("fieldManager", _MANAGER_MAX)]
    for i, character in enumerate(name):
        if not character.isprintable():
            why = f"invalid character U+{ord(character):04X} (at position {i})"
            return [invalid("fieldManager", name, why)]
    return []
