from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.autoscaler_metrics import check_metric, segment
from tests.apiserver.validation.objects import Object, texts


def _target(kind: str = "AverageValue", **more: Any) -> Object:
    return {"type": kind, **(more or {"averageValue": "1"})}


METRICS: dict[str, tuple[Object, list[str]]] = {
    "a resource": (
        {"type": "Resource", "resource": {"name": "cpu", "target": _target()}},
        [],
    ),
    "no type": (
        {},
        [
            "f.type: Required value: must specify a metric source type",
            'f.type: Unsupported value: "": supported values: "ContainerResource", '
            '"External", "Object", "Pods", "Resource"',
            'f.type: Unsupported value: "": supported values: "ContainerResource", '
            '"External", "Object", "Pods", "Resource"',
        ],
    ),
    "an unknown type": (
        {"type": "Moon"},
        [
            'f.type: Unsupported value: "Moon": supported values: "ContainerResource", '
            '"External", "Object", "Pods", "Resource"',
            'f.type: Unsupported value: "Moon": supported values: "ContainerResource", '
            '"External", "Object", "Pods", "Resource"',
        ],
    ),
    "a type without its source": (
        {"type": "Pods"},
        ["f.pods: Required value: must populate information for the given metric source"],
    ),
    "another source too": (
        {
            "type": "Pods",
            "pods": {"metric": {"name": "m"}, "target": _target()},
            "resource": {"name": "cpu", "target": _target()},
        },
        ["f.resource: Forbidden: must populate the given metric source only"],
    ),
    "a resource without a name and target": (
        {"type": "Resource", "resource": {"name": "", "target": {"type": ""}}},
        [
            "f.resource.name: Required value: must specify a resource name",
            "f.resource.target.type: Required value: must specify a metric target type",
            'f.resource.target.type: Invalid value: "": must be either Utilization, '
            "Value, or AverageValue",
            "f.resource.target.averageUtilization: Required value: must set either a "
            "target raw value or a target utilization",
        ],
    ),
    "a resource with two targets": (
        {
            "type": "Resource",
            "resource": {
                "name": "cpu",
                "target": _target(averageValue="1", averageUtilization=50),
            },
        },
        [
            "f.resource.target.averageValue: Forbidden: may not set both a target raw "
            "value and a target utilization"
        ],
    ),
    "targets that are not positive": (
        {
            "type": "Resource",
            "resource": {"name": "cpu", "target": _target(value="0", averageUtilization=0)},
        },
        [
            'f.resource.target.value: Invalid value: "0": must be positive',
            "f.resource.target.averageUtilization: Invalid value: 0: must be greater than 0",
        ],
    ),
    "a container's resource": (
        {
            "type": "ContainerResource",
            "containerResource": {"name": "cpu", "container": "c", "target": _target()},
        },
        [],
    ),
    "a container's resource without names": (
        {
            "type": "ContainerResource",
            "containerResource": {"name": "", "container": "", "target": _target()},
        },
        [
            "f.containerResource.name: Required value: must specify a resource name",
            "f.containerResource.container: Required value: must specify a container",
        ],
    ),
    "a container's resource with bad names": (
        {
            "type": "ContainerResource",
            "containerResource": {"name": "pods", "container": "C", "target": _target()},
        },
        [
            'f.containerResource.name: Invalid value: "pods": must be a standard '
            "resource for containers",
            'f.containerResource.container: Invalid value: "C": <label>',
        ],
    ),
    "a metric of pods without an average": (
        {"type": "Pods", "pods": {"metric": {"name": ""}, "target": _target(value="1")}},
        [
            "f.pods.metric.name: Required value: must specify a metric name",
            "f.pods.target.averageValue: Required value: must specify a positive target "
            "averageValue",
        ],
    ),
    "a metric of an object": (
        {
            "type": "Object",
            "object": {
                "describedObject": {"apiVersion": "v1", "kind": "Service", "name": "s"},
                "metric": {"name": "m"},
                "target": _target("Value", value="1"),
            },
        },
        [],
    ),
    "a metric of no object": (
        {
            "type": "Object",
            "object": {
                "describedObject": {"kind": "", "name": ""},
                "metric": {"name": "a/b"},
                "target": _target("Value", averageUtilization=1),
            },
        },
        [
            "f.object.describedObject.kind: Required value",
            "f.object.describedObject.name: Required value",
            "f.object.metric.name: Invalid value: \"a/b\": may not contain '/'",
            "f.object.target.averageValue: Required value: must set either a target "
            "value or averageValue",
        ],
    ),
    "an external metric": (
        {"type": "External", "external": {"metric": {"name": "m"}, "target": _target()}},
        [],
    ),
    "an external metric without a target": (
        {
            "type": "External",
            "external": {"metric": {"name": "m"}, "target": _target(averageUtilization=1)},
        },
        [
            "f.external.target.averageValue: Required value: must set either a target "
            "value for metric or a per-pod target"
        ],
    ),
    "an external metric with two targets": (
        {
            "type": "External",
            "external": {"metric": {"name": "m"}, "target": _target(value="1", averageValue="1")},
        },
        [
            "f.external.target.value: Forbidden: may not set both a target value for "
            "metric and a per-pod target"
        ],
    ),
}


@pytest.mark.parametrize(("metric", "expected"), METRICS.values(), ids=METRICS)
def test_metrics(metric: Object, expected: list[str]) -> None:
    assert texts(check_metric(metric, "f")) == expected


def test_a_name_in_a_path() -> None:
    assert segment("a:b", "f") == []
    assert texts(segment("", "f", "say it")) == ["f: Required value: say it"]
    assert texts(segment("..", "f")) == ["f: Invalid value: \"..\": may not be '..'"]
