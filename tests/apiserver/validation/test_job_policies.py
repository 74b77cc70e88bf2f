from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, refused, template

_CONDITION = {"type": "DisruptionTarget", "status": "True"}


def _rule(**more: Any) -> Object:
    return {"action": "Ignore", "onPodConditions": [_CONDITION], **more}


def _codes(**more: Any) -> Object:
    return {"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1], **more}}


FAILURES: dict[str, tuple[list[Object], list[str]]] = {
    "a rule of each kind": ([_rule(), _codes(containerName="c")], []),
    "no action": (
        [_rule(action="")],
        [
            "spec.podFailurePolicy.rules[0].action: Required value: valid values: "
            '["Count" "FailIndex" "FailJob" "Ignore"]'
        ],
    ),
    "an unknown action": (
        [_rule(action="Stop")],
        [
            'spec.podFailurePolicy.rules[0].action: Unsupported value: "Stop": supported '
            'values: "Count", "FailIndex", "FailJob", "Ignore"'
        ],
    ),
    "failed indexes without their limit": (
        [_rule(action="FailIndex")],
        [
            'spec.podFailurePolicy.rules[0].action: Invalid value: "FailIndex": requires '
            "the backoffLimitPerIndex to be set"
        ],
    ),
    "both criteria": (
        [_rule(onExitCodes={"operator": "In", "values": [1]})],
        [
            "spec.podFailurePolicy.rules[0]: Invalid value: specifying both OnExitCodes "
            "and OnPodConditions is not supported"
        ],
    ),
    "no criterion": (
        [{"action": "Ignore"}],
        [
            "spec.podFailurePolicy.rules[0]: Invalid value: specifying one of "
            "OnExitCodes and OnPodConditions is required"
        ],
    ),
    "bad conditions": (
        [_rule(onPodConditions=[{"type": "a b", "status": "Maybe"}])],
        [
            'spec.podFailurePolicy.rules[0].onPodConditions[0].type: Invalid value: "a '
            'b": <qualified name>',
            "spec.podFailurePolicy.rules[0].onPodConditions[0].status: Unsupported "
            'value: "Maybe": supported values: "False", "True", "Unknown"',
        ],
    ),
    "too many conditions": (
        [_rule(onPodConditions=[_CONDITION] * 21)],
        [
            "spec.podFailurePolicy.rules[0].onPodConditions: Too many: 21: must have at "
            "most 20 items"
        ],
    ),
    "too many rules": (
        [_rule()] * 21,
        ["spec.podFailurePolicy.rules: Too many: 21: must have at most 20 items"],
    ),
    "no operator": (
        [_codes(operator="")],
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.operator: Required value: valid "
            'values: ["In" "NotIn"]'
        ],
    ),
    "an unknown operator": (
        [_codes(operator="Is")],
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.operator: Unsupported value: "
            '"Is": supported values: "In", "NotIn"'
        ],
    ),
    "an unknown container": (
        [_codes(containerName="x")],
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.containerName: Invalid value: "
            '"x": must be one of the container or initContainer names in the pod template'
        ],
    ),
    "no exit codes": (
        [_codes(values=None)],
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: null: at "
            "least one value is required"
        ],
    ),
    "success among failures": (
        [_codes(values=[0, 1])],
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.values[0]: Invalid value: 0: "
            "must not be 0 for the In operator"
        ],
    ),
    "success outside of the others": ([_codes(operator="NotIn", values=[0, 1])], []),
    "exit codes twice": (
        [_codes(values=[1, 1])],
        ["spec.podFailurePolicy.rules[0].onExitCodes.values[1]: Duplicate value: 1"],
    ),
    "exit codes in disorder": (
        [_codes(values=[2, 1])],
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Invalid value: [2,1]: "
            "must be ordered"
        ],
    ),
    "too many exit codes": (
        [_codes(values=list(range(1, 257)))],
        [
            "spec.podFailurePolicy.rules[0].onExitCodes.values: Too many: 256: must have "
            "at most 255 items"
        ],
    ),
}


@pytest.mark.parametrize(("rules", "expected"), FAILURES.values(), ids=FAILURES)
def test_failure_policies(rules: list[Object], expected: list[str]) -> None:
    spec = {"template": template(restartPolicy="Never"), "podFailurePolicy": {"rules": rules}}
    assert refused("batch/v1", "Job", spec=spec) == expected


SUCCESSES: dict[str, tuple[list[Object], list[str]]] = {
    "indexes": ([{"succeededIndexes": "0,2-4"}], []),
    "some of the indexes": ([{"succeededIndexes": "0,2-4", "succeededCount": 4}], []),
    "no indexes": ([{"succeededIndexes": ""}], []),
    "no rules": (
        [],
        [
            "spec.successPolicy.rules: Required value: at least one rules must be "
            "specified when the successPolicy is specified"
        ],
    ),
    "too many rules": (
        [{"succeededCount": 1}] * 21,
        ["spec.successPolicy.rules: Too many: 21: must have at most 20 items"],
    ),
    "no criterion": (
        [{}],
        [
            "spec.successPolicy.rules[0]: Required value: at least one of succeededCount "
            "or succeededIndexes must be specified"
        ],
    ),
    "a negative count": (
        [{"succeededCount": -1}],
        [
            "spec.successPolicy.rules[0].succeededCount: Invalid value: -1: must be "
            "greater than or equal to 0"
        ],
    ),
    "more than all": (
        [{"succeededCount": 6}],
        [
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 6: must be less "
            "than or equal to 5 (the number of specified completions)"
        ],
    ),
    "more than the indexes": (
        [{"succeededIndexes": "0-1", "succeededCount": 3}],
        [
            "spec.successPolicy.rules[0].succeededCount: Invalid value: 3: must be less "
            "than or equal to 2 (the number of indexes in the specified succeededIndexes "
            "field)"
        ],
    ),
    "an index that is no number": (
        [{"succeededIndexes": "a"}],
        [
            'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "a": error '
            'parsing succeededIndexes: cannot convert string to integer for index: "a"'
        ],
    ),
    "an index too large": (
        [{"succeededIndexes": "5"}],
        [
            'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "5": error '
            'parsing succeededIndexes: too large index: "5"'
        ],
    ),
    "three ends of a range": (
        [{"succeededIndexes": "0-1-2"}],
        [
            'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "0-1-2": error '
            'parsing succeededIndexes: the fragment "0-1-2" violates the requirement '
            "that an index interval can have at most two parts separated by '-'"
        ],
    ),
    "a range that falls": (
        [{"succeededIndexes": "2-1"}],
        [
            'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "2-1": error '
            "parsing succeededIndexes: non-increasing order, previous: 2, current: 1"
        ],
    ),
    "indexes that fall": (
        [{"succeededIndexes": "2,1"}],
        [
            'spec.successPolicy.rules[0].succeededIndexes: Invalid value: "2,1": error '
            "parsing succeededIndexes: non-increasing order, previous: 2, current: 1"
        ],
    ),
}


@pytest.mark.parametrize(("rules", "expected"), SUCCESSES.values(), ids=SUCCESSES)
def test_success_policies(rules: list[Object], expected: list[str]) -> None:
    spec = {
        "template": template(restartPolicy="Never"),
        "completionMode": "Indexed",
        "completions": 5,
        "successPolicy": {"rules": rules},
    }
    assert refused("batch/v1", "Job", spec=spec) == expected


def test_indexes_are_not_read_without_end() -> None:
    spec = {
        "template": template(restartPolicy="Never"),
        "completionMode": "Indexed",
        "completions": 100_000,
        "successPolicy": {"rules": [{"succeededIndexes": "1" + ",1" * 32768}]},
    }
    long, _ = refused("batch/v1", "Job", spec=spec)
    path = "spec.successPolicy.rules[0].succeededIndexes"
    assert long == f"{path}: Too long: may not be more than 65536 bytes"


def test_only_indexed_jobs_have_a_success_policy() -> None:
    spec = {
        "template": template(restartPolicy="Never"),
        "successPolicy": {"rules": [{"succeededCount": 1}]},
    }
    assert refused("batch/v1", "Job", spec=spec) == [
        'spec.successPolicy: Invalid value: {"rules":[{"succeededCount":1}]}: requires indexed '
        "completion mode"
    ]
