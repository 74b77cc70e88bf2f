"""Objects that are refused; the side-by-side test compares many more with a real server."""

from __future__ import annotations

import copy
from typing import Any

import pytest

from mooring.api.field_errors import FieldError
from mooring.apiserver.defaults import set_defaults
from mooring.apiserver.schema.decoding import decode_object
from mooring.apiserver.schema.table import types
from mooring.apiserver.validation import check_create, check_update


def made(version: str, kind: str, **more: Any) -> dict[str, Any]:
    metadata = {"name": "x", "resourceVersion": "1", "uid": "u"} | more.pop("metadata", {})
    found = types().find(version, kind)
    assert found is not None
    obj = decode_object({"metadata": metadata, **more}, found, kind, version).object
    if any(one.kind == kind and one.namespaced for one in types().resources(version)):
        obj["metadata"].setdefault("namespace", "default")
    set_defaults(version, kind, obj)
    return obj


def pod(**spec: Any) -> dict[str, Any]:
    return made("v1", "Pod", spec={"containers": [{"name": "c", "image": "i"}], **spec})


def texts(problems: list[FieldError]) -> list[str]:
    return [f"{problem.path}: {problem.message}" for problem in problems]


@pytest.mark.parametrize(
    ("obj", "expected"),
    [
        (pod(), []),
        (pod(containers=[]), ["spec.containers: Required value"]),
        (
            pod(restartPolicy="Sometimes"),
            [
                'spec.restartPolicy: Unsupported value: "Sometimes": supported values: "Always", '
                '"OnFailure", "Never"'
            ],
        ),
        (
            pod(nodeName="n", schedulingGates=[{"name": "g"}]),
            ["spec.nodeName: Forbidden: cannot be set until all schedulingGates have been cleared"],
        ),
        (
            pod(
                containers=[
                    {"name": "c", "image": "i", "resources": {"requests": {"cpu": "-1"}}},
                    {"name": "c", "image": "i"},
                ]
            ),
            [
                'spec.containers[0].resources.requests[cpu]: Invalid value: "-1": must be greater '
                "than or equal to 0",
                'spec.containers[1].name: Duplicate value: "c"',
            ],
        ),
        (
            made("v1", "Node", spec={"taints": [{"key": "k", "effect": "X"}]}),
            [
                'metadata.taints[0].effect: Unsupported value: "X": supported values: '
                '"NoSchedule", "PreferNoSchedule", "NoExecute"'
            ],
        ),
        (
            made("v1", "Namespace", metadata={"name": "a.b"}),
            ['metadata.name: Invalid value: "a.b": must not contain dots'],
        ),
        (
            made("scheduling.k8s.io/v1", "PriorityClass", value=2_000_000_000),
            ["value: Forbidden: maximum allowed value of a user defined priority is 1000000000"],
        ),
    ],
    ids=lambda value: value["kind"] if isinstance(value, dict) else "",
)
def test_new_objects(obj: dict[str, Any], expected: list[str]) -> None:
    assert texts(check_create(obj["apiVersion"], obj["kind"], obj)) == expected


def changed(old: dict[str, Any], **spec: Any) -> dict[str, Any]:
    new = copy.deepcopy(old)
    new["spec"] |= spec
    return new


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        ({"containers": [{"name": "c", "image": "j"}]}, ""),
        ({"tolerations": [{"key": "k", "operator": "Exists"}]}, ""),
        ({"nodeName": "n"}, "pod updates may not change fields other than"),
        ({"schedulerName": "other"}, "pod updates may not change fields other than"),
        ({"containers": []}, "Required value"),
        ({"schedulingGates": [{"name": "g"}]}, "only deletion is allowed"),
        ({"activeDeadlineSeconds": 5}, ""),
    ],
    ids=[
        "the image may change",
        "tolerations may be added",
        "the node is bound, not set",
        "the scheduler stays",
        "containers stay",
        "gates only go",
        "a deadline may be set",
    ],
)
def test_changes_of_pods(spec: dict[str, Any], expected: str) -> None:
    old = pod()
    new = changed(old, **spec)
    for container in new["spec"].get("containers") or ():
        for name, value in old["spec"]["containers"][0].items():
            container.setdefault(name, value)
    found = " ".join(texts(check_update("v1", "Pod", new, old)))
    assert (expected in found) if expected else not found


def test_a_gated_pod_may_ask_for_more_of_nodes_and_not_for_less() -> None:
    old = pod(schedulingGates=[{"name": "g"}], nodeSelector={"a": "b"})
    more = changed(old, nodeSelector={"a": "b", "c": "d"})
    assert check_update("v1", "Pod", more, old) == []
    less = changed(old, nodeSelector={"c": "d"})
    assert "only additions" in texts(check_update("v1", "Pod", less, old))[0]


def test_a_bound_pod_is_not_nominated() -> None:
    old = pod(nodeName="n")
    new = copy.deepcopy(old)
    new["status"]["nominatedNodeName"] = "m"
    assert texts(check_update("v1", "Pod", new, old, "status")) == [
        "status.nominatedNodeName: Forbidden: may not be set on pods that are already bound to a "
        "node"
    ]


def test_the_selector_of_a_workload_stays() -> None:
    template = {
        "metadata": {"labels": {"a": "b", "c": "d"}},
        "spec": {"containers": [{"name": "c", "image": "i"}]},
    }
    old = made(
        "apps/v1",
        "Deployment",
        spec={"selector": {"matchLabels": {"a": "b"}}, "template": template},
    )
    new = changed(old, selector={"matchLabels": {"c": "d"}})
    assert texts(check_update("apps/v1", "Deployment", new, old)) == [
        'spec.selector: Invalid value: {"matchLabels":{"c":"d"}}: field is immutable'
    ]


def test_a_frozen_secret_stays() -> None:
    old = made("v1", "Secret", data={"a": "YQ=="}, immutable=True)
    new = copy.deepcopy(old) | {"data": {"a": "Yg=="}}
    assert texts(check_update("v1", "Secret", new, old)) == [
        "data: Forbidden: field is immutable when `immutable` is set"
    ]


def test_identity_stays_and_no_finalizer_comes_while_it_goes() -> None:
    old = made("v1", "ConfigMap")
    old["metadata"] |= {"deletionTimestamp": "t", "finalizers": ["a/b"]}
    new = copy.deepcopy(old)
    new["metadata"] |= {"uid": "other", "finalizers": ["a/b", "a/c"]}
    assert texts(check_update("v1", "ConfigMap", new, old)) == [
        "metadata.finalizers: Forbidden: no new finalizers can be added if the object is being "
        'deleted, found new finalizers []string{"a/c"}',
        'metadata.uid: Invalid value: "other": field is immutable',
    ]
