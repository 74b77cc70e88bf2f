from __future__ import annotations

from typing import Any

import pytest

from tests.apiserver.validation.objects import Object, made, refused, update_refusals


def _selected(name: str, operator: str = "Exists", *values: str) -> Object:
    return {"scopeName": name, "operator": operator, "values": list(values)}


QUOTAS: dict[str, tuple[Object, list[str]]] = {
    "a quota": ({"hard": {"pods": "1", "count/jobs.batch": "2", "requests.cpu": "1500m"}}, []),
    "an unknown resource": (
        {"hard": {"gpu": "1"}},
        [
            'spec.hard[gpu]: Invalid value: "gpu": must be a standard resource type or '
            "fully qualified",
            'spec.hard[gpu]: Invalid value: "gpu": must be a standard resource for quota',
        ],
    ),
    "part of a pod, less than nothing": (
        {"hard": {"pods": "1.5", "cpu": "-1"}},
        [
            'spec.hard[pods]: Invalid value: "1500m": must be an integer',
            'spec.hard[cpu]: Invalid value: "-1": must be greater than or equal to 0',
        ],
    ),
    "part of a counted object": (
        {"hard": {"count/jobs.batch": "1.5"}},
        ['spec.hard[count/jobs.batch]: Invalid value: "1500m": must be an integer'],
    ),
    "an unknown scope": (
        {"hard": {"pods": "1"}, "scopes": ["Sometimes"]},
        ['spec.scopes: Invalid value: ["Sometimes"]: unsupported scope'],
    ),
    "scopes that conflict": (
        {"hard": {"pods": "1"}, "scopes": ["BestEffort", "NotBestEffort", "Terminating"]},
        [
            'spec.scopes: Invalid value: ["BestEffort","NotBestEffort","Terminating"]: '
            "conflicting scopes"
        ],
    ),
    "a scope of pods on services": (
        {"hard": {"services": "1"}, "scopes": ["Terminating"]},
        ['spec.scopes: Invalid value: ["Terminating"]: unsupported scope applied to resource'],
    ),
    "a scope of pods without requests on processors": (
        {"hard": {"cpu": "1"}, "scopes": ["BestEffort"]},
        ['spec.scopes: Invalid value: ["BestEffort"]: unsupported scope applied to resource'],
    ),
    "a scope of claims": (
        {
            "hard": {"requests.storage": "1Gi", "pods": "1"},
            "scopeSelector": {
                "matchExpressions": [_selected("VolumeAttributesClass", "In", "gold")]
            },
        },
        [
            "spec.scopeSelector.matchExpressions: Invalid value: "
            '{"matchExpressions":[{"scopeName":"VolumeAttributesClass","operator":"In","values":['
            '"gold"]}]}: '
            "unsupported scope applied to resource"
        ],
    ),
    "an unknown scope of a selector": (
        {"scopeSelector": {"matchExpressions": [_selected("Sometimes", "Is")]}},
        [
            'spec.scopeSelector.matchExpressions.scopeName: Invalid value: "Sometimes": '
            "unsupported scope",
            'spec.scopeSelector.matchExpressions.operator: Invalid value: "Is": not a '
            "valid selector operator",
        ],
    ),
    "a plain scope with values": (
        {"scopeSelector": {"matchExpressions": [_selected("BestEffort", "In", "a")]}},
        [
            'spec.scopeSelector.matchExpressions.operator: Invalid value: "In": must be '
            "'Exists' when scope is any of ResourceQuotaScopeTerminating, "
            "ResourceQuotaScopeNotTerminating, ResourceQuotaScopeBestEffort, "
            "ResourceQuotaScopeNotBestEffort or "
            "ResourceQuotaScopeCrossNamespacePodAffinity"
        ],
    ),
    "no values, and values to exist": (
        {
            "scopeSelector": {
                "matchExpressions": [
                    _selected("PriorityClass", "In"),
                    _selected("PriorityClass", "Exists", "a"),
                ]
            }
        },
        [
            "spec.scopeSelector.matchExpressions.values: Required value: must be at "
            "least one value when `operator` is 'In' or 'NotIn' for scope selector",
            'spec.scopeSelector.matchExpressions.values: Invalid value: ["a"]: must be '
            "no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector",
        ],
    ),
    "scopes of a selector that conflict": (
        {
            "scopeSelector": {
                "matchExpressions": [_selected("Terminating"), _selected("NotTerminating")]
            }
        },
        ["spec.scopeSelector.matchExpressions: Invalid value: null: conflicting scopes"],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), QUOTAS.values(), ids=QUOTAS)
def test_quotas(spec: Object, expected: list[str]) -> None:
    assert refused("v1", "ResourceQuota", spec=spec) == expected


def test_amounts_of_a_quota_may_change_and_scopes_not() -> None:
    old = made("v1", "ResourceQuota", spec={"hard": {"pods": "1"}, "scopes": ["Terminating"]})
    assert update_refusals(old, {"spec": {"hard": {"pods": "2"}}}) == []
    assert update_refusals(old, {"spec": {"scopes": ["BestEffort"]}}) == [
        'spec.scopes: Invalid value: ["BestEffort"]: field is immutable'
    ]


def test_the_status_of_a_quota() -> None:
    old = made("v1", "ResourceQuota", spec={"hard": {"pods": "1"}})
    status = {"hard": {"pods": "1"}, "used": {"pods": "-1", "gpu": "1"}}
    assert update_refusals(old, {"status": status}, "status") == [
        'status.used[pods]: Invalid value: "-1": must be greater than or equal to 0',
        'status.used[gpu]: Invalid value: "gpu": must be a standard resource type or '
        "fully qualified",
        'status.used[gpu]: Invalid value: "gpu": must be a standard resource for quota',
    ]


def _limit(kind: str = "Container", **more: Any) -> Object:
    return {"type": kind, **more}


LIMITS: dict[str, tuple[list[Object], list[str]]] = {
    "limits": (
        [
            _limit(
                min={"cpu": "1"},
                max={"cpu": "4"},
                default={"cpu": "2"},
                maxLimitRequestRatio={"cpu": "2"},
            )
        ],
        [],
    ),
    "a bad type, an unknown type, a type twice": (
        [_limit("a b"), _limit("Node"), _limit("Node"), _limit("acme.io/box")],
        [
            'spec.limits[0].type: Invalid value: "a b": <qualified name>',
            'spec.limits[1].type: Invalid value: "Node": must be a standard limit type '
            "or fully qualified",
            'spec.limits[2].type: Invalid value: "Node": must be a standard limit type '
            "or fully qualified",
            'spec.limits[2].type: Duplicate value: "Node"',
        ],
    ),
    "defaults of pods": (
        [_limit("Pod", default={"cpu": "1"}, defaultRequest={"cpu": "1"})],
        [
            "spec.limits[0].default: Forbidden: may not be specified when `type` is 'Pod'",
            "spec.limits[0].defaultRequest: Forbidden: may not be specified when `type` is 'Pod'",
        ],
    ),
    "a resource that containers do not have": (
        [_limit(max={"pods": "1"})],
        [
            'spec.limits[0].max[pods]: Invalid value: "pods": must be a standard '
            "resource for containers",
            'spec.limits[0].default[pods]: Invalid value: "pods": must be a standard '
            "resource for containers",
            'spec.limits[0].defaultRequest[pods]: Invalid value: "pods": must be a '
            "standard resource for containers",
        ],
    ),
    "no size of claims": (
        [_limit("PersistentVolumeClaim", max={"cpu": "1"})],
        [
            "spec.limits[0].limits: Required value: either minimum or maximum storage "
            "value is required, but neither was provided"
        ],
    ),
    "a minimum above the maximum": (
        [_limit(min={"cpu": "2"}, max={"cpu": "1"})],
        [
            'spec.limits[0].min[cpu]: Invalid value: "2": min value 2 is greater than max value 1',
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is '
            "greater than default request value 1",
            'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater '
            "than default value 1",
        ],
    ),
    "a request below the minimum": (
        [_limit(min={"cpu": "2"}, defaultRequest={"cpu": "1"})],
        [
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is '
            "greater than default request value 1"
        ],
    ),
    "a request above the default and the maximum": (
        [_limit(max={"cpu": "1"}, default={"cpu": "1"}, defaultRequest={"cpu": "2"})],
        [
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request '
            "value 2 is greater than max value 1",
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request '
            "value 2 is greater than default limit value 1",
        ],
    ),
    "a default outside of the limits": (
        [_limit(min={"cpu": "2"}, max={"cpu": "3"}, default={"cpu": "1", "memory": "1"})],
        [
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "1": min value 2 is '
            "greater than default request value 1",
            'spec.limits[0].default[cpu]: Invalid value: "2": min value 2 is greater '
            "than default value 1",
        ],
    ),
    "a default above the maximum": (
        [_limit(max={"cpu": "1"}, default={"cpu": "2"})],
        [
            'spec.limits[0].defaultRequest[cpu]: Invalid value: "2": default request '
            "value 2 is greater than max value 1",
            'spec.limits[0].default[cpu]: Invalid value: "1": default value 2 is greater '
            "than max value 1",
        ],
    ),
    "a ratio below one": (
        [_limit(maxLimitRequestRatio={"cpu": "500m"})],
        [
            'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "500m": ratio 500m '
            "is less than 1"
        ],
    ),
    "a ratio that the limits do not allow": (
        [_limit(min={"cpu": "1"}, max={"cpu": "2"}, maxLimitRequestRatio={"cpu": "3"})],
        [
            'spec.limits[0].maxLimitRequestRatio[cpu]: Invalid value: "3": ratio 3 is '
            "greater than max/min = 2.000000"
        ],
    ),
}


@pytest.mark.parametrize(("limits", "expected"), LIMITS.values(), ids=LIMITS)
def test_limit_ranges(limits: list[Object], expected: list[str]) -> None:
    assert refused("v1", "LimitRange", spec={"limits": limits}) == expected
