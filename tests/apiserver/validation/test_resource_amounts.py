from __future__ import annotations

from collections.abc import Callable

import pytest

from mooring.apiserver.validation.resource_amounts import (
    check_requirements,
    container_resource_name_problems,
    is_standard,
    overcommit_allowed,
    pod_resource_name_problems,
    quantity_problems,
    resource_name_problems,
)
from tests.apiserver.validation.objects import Object, Problems, texts

NAMES: dict[str, tuple[Callable[[str, str], Problems], str, list[str]]] = {
    "a standard resource": (resource_name_problems, "limits.cpu", []),
    "a resource of a vendor": (resource_name_problems, "acme.io/gpu", []),
    "a resource that is not standard": (
        resource_name_problems,
        "gpu",
        ['f: Invalid value: "gpu": must be a standard resource type or fully qualified'],
    ),
    "a name that is none": (
        resource_name_problems,
        "a b",
        ['f: Invalid value: "a b": <qualified name>'],
    ),
    "a container's memory": (container_resource_name_problems, "memory", []),
    "a container's huge pages": (container_resource_name_problems, "hugepages-2Mi", []),
    "a container's pods": (
        container_resource_name_problems,
        "pods",
        ['f: Invalid value: "pods": must be a standard resource for containers'],
    ),
    "a container's own kind of processor": (
        container_resource_name_problems,
        "gpu",
        [
            'f: Invalid value: "gpu": must be a standard resource type or fully qualified',
            'f: Invalid value: "gpu": must be a standard resource for containers',
        ],
    ),
    "a container's device": (container_resource_name_problems, "acme.io/gpu", []),
    "a device of requests": (
        container_resource_name_problems,
        "requests.acme.io/gpu",
        [
            'f: Invalid value: "requests.acme.io/gpu": doesn\'t follow extended resource '
            "name standard"
        ],
    ),
    "a pod's processors": (pod_resource_name_problems, "cpu", []),
    "a pod's device": (
        pod_resource_name_problems,
        "acme.io/gpu",
        ['f: Unsupported value: "acme.io/gpu": supported values: "cpu", "hugepages-", "memory"'],
    ),
    "a pod's bad name": (
        pod_resource_name_problems,
        "a b",
        ['f: Invalid value: "a b": <qualified name>'],
    ),
}


@pytest.mark.parametrize(("check", "name", "expected"), NAMES.values(), ids=NAMES)
def test_names(check: Callable[[str, str], Problems], name: str, expected: list[str]) -> None:
    assert texts(check(name, "f")) == expected


AMOUNTS = {
    "part of a processor": ("cpu", "0.5", []),
    "less than nothing": (
        "cpu",
        "-1",
        ['f: Invalid value: "-1": must be greater than or equal to 0'],
    ),
    "part of a pod": ("pods", "1.5", ['f: Invalid value: "1.5": must be an integer']),
    "part of a device": ("acme.io/gpu", "500m", ['f: Invalid value: "500m": must be an integer']),
    "thousand thousandths of a device": ("acme.io/gpu", "1000m", []),
}


@pytest.mark.parametrize(("name", "amount", "expected"), AMOUNTS.values(), ids=AMOUNTS)
def test_amounts(name: str, amount: str, expected: list[str]) -> None:
    assert texts(quantity_problems(name, amount, "f")) == expected


@pytest.mark.parametrize(
    ("name", "standard", "overcommitted"),
    [
        ("cpu", True, True),
        ("hugepages-1Gi", True, False),
        ("requests.hugepages-1Gi", True, True),
        ("acme.io/gpu", False, False),
        ("gpu", False, True),
    ],
)
def test_kinds_of_resources(name: str, standard: bool, overcommitted: bool) -> None:
    assert (is_standard(name), overcommit_allowed(name)) == (standard, overcommitted)


REQUIREMENTS: dict[str, tuple[Object, list[str]]] = {
    "requests below limits": ({"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}, []),
    "requests above limits": (
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
        ['f.requests: Invalid value: "2": must be less than or equal to cpu limit of 1'],
    ),
    "a device without a limit": (
        {"requests": {"acme.io/gpu": "1"}},
        ["f.limits: Required value: Limit must be set for non overcommitable resources"],
    ),
    "a device's limit that differs": (
        {"requests": {"acme.io/gpu": "1"}, "limits": {"acme.io/gpu": "2"}},
        ['f.requests: Invalid value: "1": must be equal to acme.io/gpu limit of 2'],
    ),
    "huge pages alone": (
        {"limits": {"hugepages-2Mi": "4Mi"}},
        ["f: Forbidden: HugePages require cpu or memory"],
    ),
    "part of a huge page": (
        {"limits": {"cpu": "1", "hugepages-2Mi": "3Mi"}},
        [
            'f.limits[hugepages-2Mi]: Invalid value: "3Mi": 3Mi is not positive integer '
            "multiple of hugepages-2Mi"
        ],
    ),
    "huge pages without a size": (
        {"limits": {"cpu": "1", "hugepages-big": "3Mi"}},
        [
            'f.limits[hugepages-big]: Invalid value: "3Mi": resource name: hugepages-big '
            "is an invalid hugepage name"
        ],
    ),
    "claims of the pod": ({"claims": [{"name": "a"}, {"name": "b", "request": "r"}]}, []),
    "claims without a name, of no pod, twice": (
        {"claims": [{"name": ""}, {"name": "x"}, {"name": "a"}, {"name": "a"}]},
        [
            "f.claims[0]: Required value",
            'f.claims[1]: Not found: "x": must be one of the names in '
            "pod.spec.resourceClaims: a, b",
            'f.claims[3]: Duplicate value: "a"',
        ],
    ),
    "requests of a claim, with a bad name, twice": (
        {"claims": [{"name": "a", "request": "R"}, {"name": "a", "request": "R"}]},
        [
            'f.claims[0].request: Invalid value: "R": <label>',
            'f.claims[1].request: Invalid value: "R": <label>',
            'f.claims[1]: Duplicate value: "a/R"',
        ],
    ),
    "a request of a claim that is used whole": (
        {"claims": [{"name": "a"}, {"name": "a", "request": "r"}]},
        ['f.claims[1]: Duplicate value: "a"'],
    ),
}


@pytest.mark.parametrize(("resources", "expected"), REQUIREMENTS.values(), ids=REQUIREMENTS)
def test_requirements(resources: Object, expected: list[str]) -> None:
    assert texts(check_requirements(resources, "f", frozenset({"a", "b"}))) == expected


def test_a_pod_without_claims() -> None:
    assert texts(check_requirements({"claims": [{"name": "a"}]}, "f")) == [
        'f.claims[0]: Not found: "a": must be one of the names in pod.spec.resourceClaims which is '
        "empty"
    ]
