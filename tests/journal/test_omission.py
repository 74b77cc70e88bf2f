"""What a journal leaves out of objects."""

from __future__ import annotations

import json
from typing import Any

import pytest

from mooring.api import (
    CustomResource,
    DeviceClass,
    PersistentVolume,
    Pod,
    ResourceClaim,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
    decode_as,
)
from mooring.api.kinds import decode_raw
from mooring.api.workloads import ReplicaSet, StatefulSet
from mooring.config.secret_values import LEFT_OUT
from mooring.journal.omission import LAST_APPLIED, OMITTED, encode_object, encode_status

SECRET = "s3cret"
CONTAINER: dict[str, Any] = {
    "name": "c",
    "image": "i",
    "command": [SECRET],
    "args": [SECRET],
    "env": [{"name": "A", "value": SECRET}],
    "envFrom": [{"secretRef": {"name": SECRET}}],
    "livenessProbe": {"exec": {"command": [SECRET]}},
    "readinessProbe": {"exec": {"command": [SECRET]}},
    "startupProbe": {"exec": {"command": [SECRET]}},
    "lifecycle": {"preStop": {"exec": {"command": [SECRET]}}},
    "resources": {"requests": {"cpu": "1"}},
}
SPEC: dict[str, Any] = {
    "nodeName": "n",
    "containers": [CONTAINER],
    "initContainers": [CONTAINER],
    "ephemeralContainers": [CONTAINER],
}
METADATA = {"name": "x", "annotations": {LAST_APPLIED: SECRET, "kept": "yes"}}
LEFT = {"name": "c", "image": "i", "resources": {"requests": {"cpu": "1"}}}


def encoded(obj: Any) -> Any:
    return json.loads(bytes(encode_object(obj)))


def test_everything_that_is_left_out_is_in_the_example() -> None:
    assert CONTAINER.keys() >= OMITTED


def test_of_a_pod_the_rest_is_kept() -> None:
    found = encoded(decode_as({"metadata": METADATA, "spec": SPEC}, Pod))
    assert found["metadata"] == {"name": "x", "annotations": {"kept": "yes"}}
    assert found["spec"] == {
        "nodeName": "n",
        "containers": [LEFT],
        "initContainers": [LEFT],
        "ephemeralContainers": [LEFT],
    }


def test_a_pod_that_has_nothing_of_it_is_encoded_as_it_is() -> None:
    pod = decode_as({"metadata": {"name": "x"}, "spec": {"containers": [LEFT]}}, Pod)
    assert decode_as(bytes(encode_object(pod)), Pod) == pod


def test_the_template_of_a_workload_is_treated_like_a_pod() -> None:
    template = {"metadata": METADATA, "spec": SPEC}
    found = encoded(decode_as({"metadata": METADATA, "spec": {"template": template}}, ReplicaSet))
    assert SECRET not in json.dumps(found)
    assert found["spec"]["template"]["spec"]["containers"] == [LEFT]
    assert found["spec"]["template"]["metadata"]["annotations"] == {"kept": "yes"}


@pytest.mark.parametrize("nested", [False, True], ids=["directly", "within a list"])
def test_a_custom_resource_may_hold_templates_anywhere(nested: bool) -> None:
    template: Any = {"metadata": METADATA, "spec": SPEC}
    raw = {
        "apiVersion": "example.com/v1",
        "kind": "Crew",
        "metadata": METADATA,
        "spec": {"roles": [template] if nested else template, "env": "kept"},
    }
    found = decode_raw(raw)
    assert isinstance(found, CustomResource)
    left = encoded(found)
    assert SECRET not in json.dumps(left)
    assert left["spec"]["env"] == "kept"
    assert found.raw == raw


CSI: dict[str, Any] = {"driver": "d", "volumeAttributes": {"key": SECRET}}
FLEX: dict[str, Any] = {"driver": "d/d", "options": {"key": SECRET}}
VOLUMES: list[Any] = [
    {"name": "a", "csi": CSI},
    {"name": "b", "flexVolume": FLEX},
    {"name": "c", "gitRepo": {"repository": f"https://me:{SECRET}@example.com/r"}},
    {"name": "d", "emptyDir": {}},
]
LEFT_VOLUMES: list[Any] = [
    {"name": "a", "csi": {"driver": "d", "volumeAttributes": {"key": LEFT_OUT}}},
    {"name": "b", "flexVolume": {"driver": "d/d", "options": {"key": LEFT_OUT}}},
    {"name": "c", "gitRepo": {"repository": "https://example.com/r"}},
    {"name": "d", "emptyDir": {}},
]


def test_volumes_of_pods_and_templates_keep_the_keys_of_their_parameters() -> None:
    spec = {"containers": [LEFT], "volumes": VOLUMES}
    assert encoded(decode_as({"spec": spec}, Pod))["spec"]["volumes"] == LEFT_VOLUMES
    template = {"spec": {"template": {"spec": spec}}}
    found = encoded(decode_as(template, ReplicaSet))
    assert found["spec"]["template"]["spec"]["volumes"] == LEFT_VOLUMES
    crew = decode_raw({"apiVersion": "example.com/v1", "kind": "Crew", **template})
    assert encoded(crew)["spec"]["template"]["spec"]["volumes"] == LEFT_VOLUMES


@pytest.mark.parametrize(
    ("name", "source", "left"),
    [
        ("csi", CSI, LEFT_VOLUMES[0]["csi"]),
        ("flexVolume", FLEX, LEFT_VOLUMES[1]["flexVolume"]),
        ("nfs", {"server": "s"}, {"server": "s"}),
    ],
)
def test_a_persistent_volume_keeps_the_keys_of_its_parameters(
    name: str, source: Any, left: Any
) -> None:
    found = encoded(decode_as({"spec": {name: source, "storageClassName": "x"}}, PersistentVolume))
    assert found["spec"] == {name: left, "storageClassName": "x"}


@pytest.mark.parametrize("kind", [StorageClass, VolumeAttributesClass])
def test_a_class_keeps_the_keys_of_its_parameters(kind: Any) -> None:
    assert encoded(decode_as({"parameters": {"key": SECRET}}, kind))["parameters"] == {
        "key": LEFT_OUT
    }


def test_the_attachment_of_a_volume_keeps_the_keys_of_its_parameters() -> None:
    source = {"inlineVolumeSpec": {"csi": CSI}}
    status = {"attached": True, "attachmentMetadata": {"key": SECRET}}
    found = encoded(decode_as({"spec": {"source": source}, "status": status}, VolumeAttachment))
    assert found["spec"] == {"source": {"inlineVolumeSpec": {"csi": LEFT_VOLUMES[0]["csi"]}}}
    assert found["status"] == {"attached": True, "attachmentMetadata": {"key": LEFT_OUT}}


PARAMETERS = [{"opaque": {"driver": "d", "parameters": {"kind": "K", "key": {"a": SECRET}}}}]
LEFT_PARAMETERS = [
    {"opaque": {"driver": "d", "parameters": {"kind": LEFT_OUT, "key": LEFT_OUT}}},
]


def test_parameters_of_drivers_of_devices_are_left_out() -> None:
    given = decode_as({"spec": {"config": PARAMETERS}}, DeviceClass)
    assert encoded(given)["spec"] == {"config": LEFT_PARAMETERS}
    devices = [{"driver": "d", "pool": "p", "device": "x", "data": {"key": SECRET}}]
    allocation = {"devices": {"config": [{"source": "FromClaim", **PARAMETERS[0]}]}}
    status = {"allocation": allocation, "devices": devices}
    claim = {"spec": {"devices": {"config": PARAMETERS}}, "status": status}
    found = encoded(decode_as(claim, ResourceClaim))
    assert found["spec"] == {"devices": {"config": LEFT_PARAMETERS}}
    left = found["status"]["allocation"]["devices"]["config"]
    assert left == [{"source": "FromClaim", **LEFT_PARAMETERS[0]}]
    assert found["status"]["devices"] == [{"driver": "d", "pool": "p", "device": "x"}]
    crew = decode_raw({"apiVersion": "example.com/v1", "kind": "Crew", "spec": PARAMETERS[0]})
    assert encoded(crew)["spec"] == LEFT_PARAMETERS[0]


def test_templates_of_volume_claims_lose_what_kubectl_has_applied() -> None:
    template = {"metadata": METADATA, "spec": {"storageClassName": "fast"}}
    stateful = {"spec": {"volumeClaimTemplates": [template]}}
    found = encoded(decode_as(stateful, StatefulSet))
    left = {**template, "metadata": {"name": "x", "annotations": {"kept": "yes"}}}
    assert found["spec"]["volumeClaimTemplates"] == [left]
    volumes = [{"name": "v", "ephemeral": {"volumeClaimTemplate": template}}]
    pod = encoded(decode_as({"spec": {"containers": [LEFT], "volumes": volumes}}, Pod))
    assert pod["spec"]["volumes"] == [{"name": "v", "ephemeral": {"volumeClaimTemplate": left}}]


def test_the_messages_of_containers_are_left_out() -> None:
    ended = {"terminated": {"exitCode": 1, "message": SECRET}}
    waiting = {"waiting": {"reason": "ErrImagePull", "message": SECRET}}
    statuses = [
        {"name": "a", "state": {"running": {}}, "lastState": ended},
        {"name": "b", "state": ended},
        {"name": "c", "state": waiting},
    ]
    given = {name: statuses for name in ("containerStatuses", "initContainerStatuses")}
    pod = decode_as({"spec": {"containers": [LEFT]}, "status": given}, Pod)
    found = encoded(pod)["status"]
    assert found == json.loads(bytes(encode_status(pod.status)))
    left = {"terminated": {"exitCode": 1, "message": LEFT_OUT}}
    for name in given:
        assert found[name][0]["lastState"] == found[name][1]["state"] == left
        assert found[name][0]["state"] == {"running": {}}
        left_waiting = {"waiting": {"reason": "ErrImagePull", "message": LEFT_OUT}}
        assert found[name][2]["state"] == left_waiting
    assert pod.status.container_statuses[1].state == ended


def test_a_secret_is_left_out_even_if_it_does_not_name_its_kind() -> None:
    raw = {"metadata": {"name": "db"}, "data": {"password": SECRET}}
    found = json.loads(bytes(encode_object(CustomResource(raw=raw), "secrets.v1.")))
    assert SECRET not in json.dumps(found)
    assert list(found["data"]) == ["password"]
