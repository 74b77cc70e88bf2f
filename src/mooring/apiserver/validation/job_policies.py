"""The failure and success policies of jobs."""

# kubernetes: pkg/apis/batch/validation/validation.go (validatePodFailurePolicy,
# validateSuccessPolicy)

from __future__ import annotations

from collections.abc import Sequence

from mooring.api.field_errors import (
    OMITTED,
    FieldError,
    duplicate,
    each,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from mooring.api.go_format import go_quote_all
from mooring.api.go_numbers import parse_int64
from mooring.apiserver.validation.field_problems import Object, non_negative, repeated
from mooring.apiserver.validation.formats import label_key_problems

_ACTIONS = ("Count", "FailIndex", "FailJob", "Ignore")
_OPERATORS = ("In", "NotIn")
_STATUSES = ("False", "True", "Unknown")
_RULES = 20
_EXIT_CODES = 255
_INDEXES_LENGTH = 64 * 1024
NOT_A_CONTAINER = "must be one of the container or initContainer names in the pod template"
BOTH = "specifying both OnExitCodes and OnPodConditions is not supported"
NEITHER = "specifying one of OnExitCodes and OnPodConditions is required"
_ONE_VALUE = "at least one value is required"
NO_RULES = "at least one rules must be specified when the successPolicy is specified"
NO_CRITERION = "at least one of succeededCount or succeededIndexes must be specified"


def _listed(values: Sequence[str]) -> str:
    return f"valid values: {go_quote_all(values)}"


def _choice(given: str, known: Sequence[str], path: str) -> list[FieldError]:
    if not given:
        return [required(path, _listed(known))]
    return [] if given in known else [not_supported(path, given, known)]


def check_failure_policy(spec: Object, path: str) -> list[FieldError]:
    """Check the pod failure policy of a job."""
    rules = spec["podFailurePolicy"].get("rules") or ()
    problems: list[FieldError] = []
    if len(rules) > _RULES:
        problems.append(too_many(f"{path}.rules", len(rules), _RULES))
    pod = spec["template"]["spec"]
    containers = (*(pod.get("containers") or ()), *(pod.get("initContainers") or ()))
    names = {container["name"] for container in containers}
    for i, rule in enumerate(rules):
        problems += _failure_rule(spec, rule, f"{path}.rules[{i}]", names)
    return problems


def _failure_rule(spec: Object, rule: Object, path: str, names: set[str]) -> list[FieldError]:
    action = rule.get("action") or ""
    problems = _choice(action, _ACTIONS, f"{path}.action")
    if action == "FailIndex" and spec.get("backoffLimitPerIndex") is None:
        why = "requires the backoffLimitPerIndex to be set"
        problems.append(invalid(f"{path}.action", action, why))
    codes, conditions = rule.get("onExitCodes"), rule.get("onPodConditions") or ()
    if codes is not None:
        problems += _exit_codes(codes, f"{path}.onExitCodes", names)
    if len(conditions) > _RULES:
        problems.append(too_many(f"{path}.onPodConditions", len(conditions), _RULES))
    for i, condition in enumerate(conditions):
        where, kind = f"{path}.onPodConditions[{i}]", condition.get("type") or ""
        problems += each(f"{where}.type", kind, label_key_problems(kind))
        problems += _choice(condition.get("status") or "", _STATUSES, f"{where}.status")
    if codes is not None and conditions:
        problems.append(invalid(path, OMITTED, BOTH))
    if codes is None and not conditions:
        problems.append(invalid(path, OMITTED, NEITHER))
    return problems


def _exit_codes(codes: Object, path: str, names: set[str]) -> list[FieldError]:
    operator, container = codes.get("operator") or "", codes.get("containerName")
    problems = _choice(operator, _OPERATORS, f"{path}.operator")
    if container is not None and container not in names:
        problems.append(invalid(f"{path}.containerName", container, NOT_A_CONTAINER))
    values = codes.get("values") or []
    if not values:
        problems.append(invalid(f"{path}.values", codes.get("values"), _ONE_VALUE))
    elif len(values) > _EXIT_CODES:
        problems.append(too_many(f"{path}.values", len(values), _EXIT_CODES))
    again = set(repeated(values))
    for i, value in enumerate(values):
        where = f"{path}.values[{i}]"
        if operator == "In" and value == 0:
            problems.append(invalid(where, value, "must not be 0 for the In operator"))
        if i in again:
            problems.append(duplicate(where, value))
    if values != sorted(values):
        problems.append(invalid(f"{path}.values", values, "must be ordered"))
    return problems


def check_success_policy(spec: Object, path: str) -> list[FieldError]:
    """Check the success policy, by which an indexed job succeeds before all its indexes do."""
    policy = spec["successPolicy"]
    if spec.get("completionMode") != "Indexed":
        return [invalid(path, policy, "requires indexed completion mode")]
    rules = policy.get("rules") or ()
    problems: list[FieldError] = []
    if not rules:
        problems.append(required(f"{path}.rules", NO_RULES))
    if len(rules) > _RULES:
        problems.append(too_many(f"{path}.rules", len(rules), _RULES))
    for i, rule in enumerate(rules):
        problems += _success_rule(rule, f"{path}.rules[{i}]", spec.get("completions") or 0)
    return problems


def _success_rule(rule: Object, path: str, completions: int) -> list[FieldError]:
    count, indexes = rule.get("succeededCount"), rule.get("succeededIndexes")
    problems: list[FieldError] = []
    if count is None and indexes is None:
        problems.append(required(path, NO_CRITERION))
    total = 0
    if indexes is not None:
        where = f"{path}.succeededIndexes"
        if len(indexes) > _INDEXES_LENGTH:
            problems.append(too_long(where, _INDEXES_LENGTH))
        try:
            total = _count_indexes(indexes, completions)
        except ValueError as error:
            why = f"error parsing succeededIndexes: {error}"
            problems.append(invalid(where, indexes, why))
    if count is None:
        return problems
    where = f"{path}.succeededCount"
    problems += non_negative(where, count)
    if count > completions:
        why = f"must be less than or equal to {completions} (the number of specified completions)"
        problems.append(invalid(where, count, why))
    if indexes is not None and count > total:
        why = (
            f"must be less than or equal to {total} (the number of indexes in the specified "
            "succeededIndexes field)"
        )
        problems.append(invalid(where, count, why))
    return problems


def _count_indexes(text: str, completions: int) -> int:
    """Return how many indexes a text such as 0,2-4 names; raise ValueError if it is invalid."""
    if not text:
        return 0
    total, last = 0, -1
    for part in text.split(","):
        limits = part.split("-")
        if len(limits) > 2:
            raise ValueError(
                f'the fragment "{part}" violates the requirement that an index interval can have '
                "at most two parts separated by '-'"
            )
        numbers = [_index(limit, completions) for limit in limits]
        if len(numbers) == 2 and numbers[0] >= numbers[1]:
            raise _falling(*numbers)
        if total and last >= numbers[0]:
            raise _falling(last, numbers[0])
        total += numbers[-1] - numbers[0] + 1
        last = numbers[-1]
    return total


def _index(text: str, completions: int) -> int:
    number = parse_int64(text)
    if number is None:
        raise ValueError(f'cannot convert string to integer for index: "{text}"')
    if number >= completions:
        raise ValueError(f'too large index: "{text}"')
    return number


def _falling(previous: int, current: int) -> ValueError:
    return ValueError(f"non-increasing order, previous: {previous}, current: {current}")
