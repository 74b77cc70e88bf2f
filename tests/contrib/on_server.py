"""The custom resources of scheduling.x-k8s.io on a real API server."""

from __future__ import annotations

from typing import Any

from mooring.local.custom_definitions import definitions
from tests.local.test_custom_definitions import is_established
from tests.support.api import Object
from tests.support.cluster import Cluster
from tests.support.waiting import eventually


def serve_scheduling(cluster: Cluster) -> Cluster:
    """Have a cluster serve PodGroups and ElasticQuotas."""
    for definition in definitions(["scheduling"]):
        cluster.create(definition)
        name = definition["metadata"]["name"]
        cluster.wait_for("CustomResourceDefinition", name, is_established)
    return cluster


def custom_path(namespace: str, plural: str, name: str = "") -> str:
    """Return the path of a collection or an object."""
    found = f"apis/scheduling.x-k8s.io/v1alpha1/namespaces/{namespace}/{plural}"
    return f"{found}/{name}" if name else found


def add_custom(cluster: Cluster, obj: Object, namespace: str = "") -> None:
    """Create a PodGroup or an ElasticQuota, in the namespace of the test unless one is named."""
    place = namespace or cluster.namespace
    body = {**obj, "metadata": {**obj["metadata"], "namespace": place}}
    cluster.api.request("POST", custom_path(place, f"{obj['kind'].lower()}s"), body)


def status_is(cluster: Cluster, plural: str, name: str, wanted: dict[str, Any]) -> None:
    """Wait until the status of an object has fields."""

    def ask() -> bool:
        found = cluster.api.request("GET", custom_path(cluster.namespace, plural, name))
        status = found.get("status") or {}
        return {key: status.get(key) for key in wanted} == wanted

    eventually(ask, f"status of {name}: {wanted}")


def report_phase(cluster: Cluster, name: str, phase: str, namespace: str = "") -> None:
    """Report the phase of a pod, as its kubelet would."""
    place = namespace or cluster.namespace
    cluster.api.patch("Pod", name, {"status": {"phase": phase}}, place, subresource="status")
