"""Checks of the options of writes: dryRun, fieldManager, fieldValidation, force."""

# apimachinery: pkg/apis/meta/v1/validation/validation.go

from __future__ import annotations

from collections.abc import Sequence

from mooring.api.go_format import go_json
from mooring.apiserver.refusals import invalid

_GROUP = "meta.k8s.io"
_MANAGER_MAX = 128
_DIRECTIVES = ("", "Ignore", "Strict", "Warn")

Problem = tuple[str, str, str]


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
    problems: list[Problem] = []
    if kind == "PatchOptions":
        if applying and not field_manager:
            why = "Required value: is required for apply patch"
            problems.append(("FieldValueRequired", "fieldManager", why))
        elif not applying and force is not None:
            why = "Forbidden: may not be specified for non-apply patch"
            problems.append(("FieldValueForbidden", "force", why))
    problems += _field_manager(field_manager)
    problems += dry_run_problems(dry_run)
    if field_validation not in _DIRECTIVES:
        listed = ", ".join(f'"{one}"' for one in _DIRECTIVES)
        problems.append(_unsupported("fieldValidation", field_validation, listed))
    if problems:
        raise invalid(kind, _GROUP, "", problems)


def dry_run_problems(dry_run: Sequence[str]) -> list[Problem]:
    """Return the problems of the dryRun values."""
    if all(one == "All" for one in dry_run):
        return []
    text = f'Unsupported value: {go_json(list(dry_run))}: supported values: "All"'
    return [("FieldValueNotSupported", "dryRun", text)]


def _unsupported(field: str, value: str, listed: str) -> Problem:
    text = f'Unsupported value: "{value}": supported values: {listed}'
    return ("FieldValueNotSupported", field, text)


def _field_manager(name: str) -> list[Problem]:
    if len(name.encode()) > _MANAGER_MAX:
        why = f"Too long: may not be more than {_MANAGER_MAX} bytes"
        return [("FieldValueTooLong", "fieldManager", why)]
    for i, character in enumerate(name):
        if not character.isprintable():
            shown = name.replace("\n", "\\n").replace("\t", "\\t")
            why = f'Invalid value: "{shown}": invalid character U+{ord(character):04X} '
            return [("FieldValueInvalid", "fieldManager", f"{why}(at position {i})")]
    return []
