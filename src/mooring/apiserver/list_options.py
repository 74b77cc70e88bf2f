"""The query options of lists and watches, read and checked."""

# apimachinery: pkg/apis/meta/internalversion/validation/validation.go

from __future__ import annotations

from mooring.api.field_errors import FieldError, forbidden, invalid, not_supported
from mooring.api.go_numbers import INT64, UINT64, parse_integer
from mooring.apiserver import refusals
from mooring.apiserver.http import ApiRequest

_MATCH = "resourceVersionMatch"
_INITIAL = "sendInitialEvents"
_NOT_OLDER = "NotOlderThan"


def _refuse(problems: list[FieldError]) -> None:
    if problems:
        raise refusals.invalid("ListOptions", "meta.k8s.io", "", problems)


def check_list(request: ApiRequest) -> None:
    """Refuse invalid list options and combinations of them."""
    problems: list[FieldError] = []
    match, version = request.parameter(_MATCH), request.parameter("resourceVersion")
    if match:
        if not version:
            why = f"{_MATCH} is forbidden unless resourceVersion is provided"
            problems.append(forbidden(_MATCH, why))
        if request.parameter("continue"):
            problems.append(forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
        if match not in ("Exact", _NOT_OLDER):
            problems.append(not_supported(_MATCH, match, ("Exact", _NOT_OLDER, "")))
        if match == "Exact" and version == "0":
            why = f'{_MATCH} "exact" is forbidden for resourceVersion "0"'
            problems.append(forbidden(_MATCH, why))
    if request.parameter(_INITIAL):
        problems.append(forbidden(_INITIAL, f"{_INITIAL} is forbidden for list"))
    _refuse(problems)


def check_watch(request: ApiRequest) -> bool | None:
    """Return whether a watch wants initial events, None if unspecified; refuse invalid options."""
    problems: list[FieldError] = []
    match, initial = request.parameter(_MATCH), request.parameter(_INITIAL)
    if initial and match != _NOT_OLDER:
        why = f"{_INITIAL} requires setting {_MATCH} to {_NOT_OLDER}"
        problems.append(forbidden(_MATCH, why))
    if match:
        if not initial:
            why = f"{_MATCH} is forbidden for watch unless {_INITIAL} is provided"
            problems.append(forbidden(_MATCH, why))
        if match != _NOT_OLDER:
            problems.append(not_supported(_MATCH, match, (_NOT_OLDER,)))
        if request.parameter("continue"):
            problems.append(forbidden(_MATCH, f"{_MATCH} is forbidden when continue is provided"))
    _refuse(problems)
    return request.flag(_INITIAL) if initial else None


def version_of(text: str) -> int:
    """Return a resourceVersion as a number, 0 if it is absent.

    Raise ValueError, with kube-apiserver's text, if it is malformed.
    """
    if not text:
        return 0
    try:
        return parse_integer(text, UINT64, "ParseUint")
    except ValueError as error:
        raise ValueError(str(invalid("resourceVersion", text, str(error)))) from None


def whole(request: ApiRequest, name: str) -> int:
    """Return an integer query parameter, 0 if it is absent."""
    text = request.parameter(name)
    if not text:
        return 0
    try:
        return parse_integer(text, INT64)
    except ValueError as error:
        raise refusals.bad_request(str(error)) from None
