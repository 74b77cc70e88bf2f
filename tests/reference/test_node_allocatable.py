"""Devices that consume cpu and memory of their node, side by side with kube-scheduler."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import msgspec
import pytest
from urllib3.exceptions import InsecureRequestWarning

from tests.reference.sides import Side, mooring, reference
from tests.support.api import Api, ApiFailure, Object
from tests.support.cluster import Cluster
from tests.support.control_plane import ControlPlane
from tests.support.fixtures import run_control_plane
from tests.support.real_parts import locate
from tests.support.waiting import eventually
from tools.testenv.build import OLDEST, REFERENCE

GATE = "DRANodeAllocatableResources"
GATES = f"--feature-gates={GATE}=true"
DRIVER = "cpu.example.com"
STATUSES = "nodeAllocatableResourceClaimStatuses"
#: The pod whose bind the API server refuses.
DENIED = "denied"


class Release(msgspec.Struct, frozen=True):
    """A release of Kubernetes, and its fields for the node resources that devices consume."""

    version: str
    #: The flags with which Mooring behaves as the release.
    flags: tuple[str, ...]
    device: Object
    share: Object
    #: The claim status of the first pod.
    first: Object
    #: The message of a second pod that uses the same claim.
    sharing: str


NEWEST = Release(
    REFERENCE,
    (),
    {
        "nodeAllocatableResources": {
            "cpu": {"mapping": {"deviceMultiplier": "1.5"}},
            "memory": {"overhead": {"perPod": "256Mi", "perContainer": "0.5Gi"}},
        }
    },
    {
        "nodeAllocatableResources": {
            "cpu": {"mapping": {"capacityKey": "cores", "capacityMultiplier": "2"}}
        }
    },
    {
        "mapping": [{"name": "cpu", "quantity": "1500m"}],
        "overhead": [{"name": "memory", "perPod": "256Mi", "perContainer": "512Mi"}],
    },
    "has a mapped device and cannot be shared across pods",
)
BEFORE = Release(
    OLDEST,
    ("--emulated-version=1.36",),
    {
        "nodeAllocatableResourceMappings": {
            "cpu": {"allocationMultiplier": "1.5"},
            "memory": {"allocationMultiplier": "0.5Gi"},
        }
    },
    {
        "nodeAllocatableResourceMappings": {
            "cpu": {"capacityKey": "cores", "allocationMultiplier": "2"}
        }
    },
    {"resources": {"cpu": "1500m", "memory": "512Mi"}},
    "is already used by another pod",
)


def node(name: str, cpu: str) -> Object:
    resources = {"cpu": cpu, "memory": "4Gi", "pods": "50"}
    status = {"capacity": resources, "allocatable": resources, "declaredFeatures": [GATE]}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name}, "status": status}


def resource(kind: str, name: str, **spec: Any) -> Object:
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": kind,
        "metadata": {"name": name},
        "spec": spec,
    }


def devices(release: Release) -> list[Object]:
    """Return three devices, and one of whose cores claims take some."""
    whole = [{"name": f"d{i}", **release.device} for i in range(3)]
    parts = {
        "name": "shared",
        "allowMultipleAllocations": True,
        "capacity": {"cores": {"value": "2"}},
        "attributes": {"parts": {"bool": True}},
        **release.share,
    }
    return [*whole, parts]


def claim(name: str, *, parts: str = "") -> Object:
    has = f'"parts" in device.attributes["{DRIVER}"]'
    exactly: Object = {"deviceClassName": "cpu"}
    exactly["selectors"] = [{"cel": {"expression": has if parts else f"!({has})"}}]
    if parts:
        exactly["capacity"] = {"requests": {"cores": parts}}
    return resource(
        "ResourceClaim", name, devices={"requests": [{"name": "r", "exactly": exactly}]}
    )


def pod(name: str, claim_name: str, cpu: str = "500m", **spec: Any) -> Object:
    resources = {"requests": {"cpu": cpu}, "claims": [{"name": "c"}]}
    containers = [
        {"name": "one", "image": "i", "resources": resources},
        {"name": "two", "image": "i", "resources": {"claims": [{"name": "c"}]}},
    ]
    spec = {
        "containers": containers,
        "resourceClaims": [{"name": "c", "resourceClaimName": claim_name}],
        "terminationGracePeriodSeconds": 0,
        **spec,
    }
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


def deny_binds(cluster: Cluster) -> None:
    """Make the API server refuse to bind a pod."""
    kind = {"apiVersion": "admissionregistration.k8s.io/v1"}
    rule = {
        "apiGroups": [""],
        "apiVersions": ["v1"],
        "operations": ["CREATE"],
        "resources": ["pods/binding"],
    }
    cluster.create(
        {
            **kind,
            "kind": "ValidatingAdmissionPolicy",
            "metadata": {"name": "no-bind"},
            "spec": {
                "matchConstraints": {"resourceRules": [rule]},
                "validations": [{"expression": f"object.metadata.name != '{DENIED}'"}],
            },
        }
    )
    cluster.create(
        {
            **kind,
            "kind": "ValidatingAdmissionPolicyBinding",
            "metadata": {"name": "no-bind"},
            "spec": {"policyName": "no-bind", "validationActions": ["Deny"]},
        }
    )
    binding = {
        "apiVersion": "v1",
        "kind": "Binding",
        "metadata": {"name": DENIED},
        "target": {"kind": "Node", "name": "big"},
    }

    def is_refused() -> bool:
        path = f"api/v1/namespaces/{cluster.namespace}/pods/{DENIED}/binding"
        try:
            cluster.api.request("POST", path, binding)
        except ApiFailure as failure:
            return "no-bind" in str(failure)
        return False

    eventually(is_refused, "the policy is in force")


class Outcome(msgspec.Struct):
    """The results of the pods."""

    #: The node of each pod, or its message.
    places: dict[str, str]
    #: The claim statuses of each pod.
    statuses: dict[str, Any]
    #: The same for the pod that could not be bound, before and after its node was given back.
    written: Any
    cleared: Any


def place(made: Object) -> str:
    """Return the node of a pod, or its message; "" if it has neither yet."""
    if made["spec"].get("nodeName"):
        return str(made["spec"]["nodeName"])
    for condition in made["status"].get("conditions", []):
        if condition["type"] == "PodScheduled":
            return f"{condition['reason']}: {condition['message']}"
    return ""


def observe(
    side: Side, plane: ControlPlane, folder: Path, release: Release, flags: tuple[str, ...]
) -> Outcome:
    """Run a scheduler on the pods, one after another; return their results."""
    with warnings.catch_warnings(), Api(plane.access) as api:
        warnings.simplefilter("ignore", InsecureRequestWarning)
        cluster = Cluster(plane, api)
        running = None
        try:
            selector = {"cel": {"expression": f'device.driver == "{DRIVER}"'}}
            for made in (
                resource("DeviceClass", "cpu", selectors=[selector]),
                node("big", "6"),
                node("small", "1"),
                *(
                    resource(
                        "ResourceSlice",
                        name,
                        driver=DRIVER,
                        nodeName=name,
                        pool={"name": name, "generation": 1, "resourceSliceCount": 1},
                        devices=devices(release),
                    )
                    for name in ("big", "small")
                ),
                *(claim(f"c{i}") for i in range(4)),
                claim("part", parts="1"),
            ):
                cluster.create(made)
            kind = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
            cluster.create({**kind, "metadata": {"name": "high"}, "value": 100})
            deny_binds(cluster)
            running = side.start(plane, folder, [GATES, "--leader-elect=false", *flags])
            places, statuses = {}, {}
            for made in (
                pod("first", "c0"),
                pod("sharing", "c0"),
                pod("parts", "part"),
                pod("full", "c1"),
                pod("above", "c1", priorityClassName="high"),
            ):
                name = made["metadata"]["name"]
                cluster.create(made)
                found = cluster.wait_for("Pod", name, lambda one: bool(place(one)))
                places[name] = place(found)
                statuses[name] = found["status"].get(STATUSES)
            for name in ("above", "full"):
                cluster.api.delete("Pod", name, cluster.namespace)
            cluster.create(pod(DENIED, "c2", cpu="100m"))
            written = cluster.wait_for("Pod", DENIED, lambda one: bool(one["status"].get(STATUSES)))
            cleared = cluster.wait_for(
                "Pod", DENIED, lambda one: not one["status"].get(STATUSES) and bool(place(one))
            )
            return Outcome(
                places, statuses, written["status"][STATUSES], cleared["status"].get(STATUSES)
            )
        finally:
            if running is not None:
                running.stop()
            cluster.wipe()


@pytest.mark.parametrize("release", [NEWEST, BEFORE], ids=["1.37", "1.36"])
def test_pods_go_to_the_same_nodes_with_the_same_amounts(release: Release, tmp_path: Path) -> None:
    theirs_is = reference(locate("KUBE_SCHEDULER", release.version))
    with run_control_plane(tmp_path / "plane", release.version, flags=(GATES,)) as plane:
        theirs = observe(theirs_is, plane, tmp_path, release, ())
        ours = observe(mooring(), plane, tmp_path, release, release.flags)
    assert ours == theirs
    assert theirs.places["first"] == "big"
    assert theirs.statuses["first"] == [
        {"resourceClaimName": "c0", "containers": ["one", "two"], **release.first}
    ]
    assert release.sharing in theirs.places["sharing"]
    assert "2 Insufficient cpu" in theirs.places["full"]
    assert theirs.cleared is None
