from __future__ import annotations

from typing import Any

import pytest

from mooring.kubelet.pod_fields import PodFieldError, field_value, resource_value
from tests.kubelet.sources import pod_with

FIELDS = {
    "the name": ("metadata.name", "p"),
    "the namespace": ("metadata.namespace", "team"),
    "the identity": ("metadata.uid", "123"),
    "all labels, sorted": ("metadata.labels", 'app="a"\ntier="b"'),
    "one label": ("metadata.labels['tier']", "b"),
    "a label that it does not have": ("metadata.labels['none']", ""),
    "annotations that it does not have": ("metadata.annotations", ""),
    "one annotation of none": ("metadata.annotations['a.b/c']", ""),
    "the node": ("spec.nodeName", "node-1"),
    "the account": ("spec.serviceAccountName", "default"),
    "its address": ("status.podIP", "10.0.0.7"),
    "its addresses": ("status.podIPs", "10.0.0.7"),
    "the host's address": ("status.hostIP", "172.18.0.2"),
    "the host's addresses": ("status.hostIPs", ""),
}


@pytest.mark.parametrize(("path", "value"), FIELDS.values(), ids=FIELDS)
def test_fields(path: str, value: str) -> None:
    assert field_value(pod_with(), path) == value


@pytest.mark.parametrize("path", ["", "spec.containers", "metadata.name['a']", "status.phase"])
def test_fields_that_no_container_reads(path: str) -> None:
    with pytest.raises(PodFieldError, match="unsupported fieldPath"):
        field_value(pod_with(), path)


def test_a_pod_without_a_status() -> None:
    pod = pod_with()
    del pod["status"]
    assert field_value(pod, "status.podIP") == ""


RESOURCES: dict[str, tuple[dict[str, Any], str]] = {
    "processors, rounded up": ({"resource": "requests.cpu"}, "1"),
    "thousandths of processors": ({"resource": "requests.cpu", "divisor": "1m"}, "250"),
    "bytes": ({"resource": "requests.memory"}, str(64 * 2**20)),
    "mebibytes": ({"resource": "requests.memory", "divisor": "1Mi"}, "64"),
    "a divisor of nothing": ({"resource": "requests.memory", "divisor": "0"}, str(64 * 2**20)),
    "a limit that is not set": ({"resource": "limits.cpu"}, "0"),
    "of a container by name": ({"resource": "requests.cpu", "containerName": "c"}, "1"),
}


@pytest.mark.parametrize(("reference", "value"), RESOURCES.values(), ids=RESOURCES)
def test_resources(reference: dict[str, Any], value: str) -> None:
    assert resource_value(pod_with(), reference, "c") == value


@pytest.mark.parametrize(
    "reference",
    [{"resource": "requests.cpu", "containerName": "x"}, {"resource": "cpu"}],
    ids=["another container", "no resource"],
)
def test_resources_that_do_not_exist(reference: dict[str, Any]) -> None:
    with pytest.raises(PodFieldError, match="not found"):
        resource_value(pod_with(), reference, "c")
