"""Objects that are accepted with a warning."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.validation.warnings import custom_warnings, kind_warning, warnings
from tests.apiserver.validation.objects import made, pod

CONTAINER = {"name": "c", "image": "i"}


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod(), []),
        (
            made("v1", "Pod", metadata={"name": "a.b"}, spec={"containers": [CONTAINER]}),
            [
                "metadata.name: this is used in the Pod's hostname, which can result in surprising "
                "behavior; a DNS label is recommended: [must not contain dots]"
            ],
        ),
        (
            pod(nodeSelector={"beta.kubernetes.io/os": "linux"}),
            [
                "spec.nodeSelector[beta.kubernetes.io/os]: deprecated since v1.14; use "
                '"kubernetes.io/os" instead'
            ],
        ),
        (
            pod(
                containers=[{**CONTAINER, "ports": [{"containerPort": 80}, {"containerPort": 80}]}]
            ),
            [
                "spec.containers[0].ports[1]: duplicate port definition with "
                "spec.containers[0].ports[0]"
            ],
        ),
        (
            pod(
                containers=[
                    {
                        **CONTAINER,
                        "env": [
                            {"name": "A", "value": "1"},
                            {"name": "A", "value": "$(A)2"},
                            {"name": "A", "value": "3"},
                        ],
                    }
                ]
            ),
            [
                'spec.containers[0].env[2]: hides previous definition of "A", which may be dropped '
                "when using apply"
            ],
        ),
        (
            made("v1", "Service", spec={"externalName": "a.b", "ports": [{"port": 80}]}),
            ['spec.externalName is ignored when spec.type is not "ExternalName"'],
        ),
    ],
)
def test_new_objects(obj: dict[str, Any], expected: list[str]) -> None:
    assert warnings(obj["apiVersion"], obj["kind"], obj) == expected


def test_a_template_is_warned_about_when_it_changes() -> None:
    template = {"spec": {"nodeSelector": {"beta.kubernetes.io/os": "x"}, "containers": [CONTAINER]}}
    old = made("apps/v1", "Deployment", spec={"template": {"spec": {"containers": [CONTAINER]}}})
    new = made("apps/v1", "Deployment", spec={"template": template})
    assert len(warnings("apps/v1", "Deployment", new, old)) == 1
    assert warnings("apps/v1", "Deployment", new, new) == []


def test_some_kinds_are_deprecated() -> None:
    assert kind_warning("v1", "Pod") is None
    assert "EndpointSlice" in str(kind_warning("v1", "Endpoints"))


def test_finalizers_of_custom_resources_should_have_a_domain() -> None:
    obj = {"metadata": {"finalizers": ["x", "a.b", "a.b/c", "orphan"]}}
    assert custom_warnings(obj) == [
        'metadata.finalizers: "a.b": prefer a domain-qualified finalizer name including a path (/) '
        "to avoid accidental conflicts with other finalizer writers",
        'metadata.finalizers: "x": prefer a domain-qualified finalizer name to avoid accidental '
        "conflicts with other finalizer writers",
    ]
    assert custom_warnings(obj, obj) == []
