"""Composite pod groups and the claims of pod groups, side by side with kube-scheduler."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from urllib3.exceptions import InsecureRequestWarning

from tests.reference.sides import Side
from tests.support.api import Api, Object
from tests.support.cluster import Cluster
from tests.support.control_plane import ControlPlane
from tests.support.real_parts import locate
from tests.support.waiting import eventually

GATES = (
    "--feature-gates=GenericWorkload=true,TopologyAwareWorkloadScheduling=true,"
    "CompositePodGroup=true,DRAWorkloadResourceClaims=true"
)
VERSIONS = "--runtime-config=scheduling.k8s.io/v1beta1=true,scheduling.k8s.io/v1alpha3=true"
CONDITION = "PodGroupInitiallyScheduled"
NOBODY = "No preemption victims found for incoming preemptor"

#: By kind and name: whether it has been scheduled, and what it was told.
Told = dict[str, tuple[str, str, str]]


@pytest.fixture(scope="module")
def plane(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ControlPlane]:
    """Yield an API server with the gates on; nothing keeps groups from being deleted."""
    folder = tmp_path_factory.mktemp("composite")
    flags = (GATES, VERSIONS, "--disable-admission-plugins=PodGroupProtection")
    plane = ControlPlane(folder, locate("ETCD"), locate("KUBE_APISERVER"), flags=flags)
    try:
        plane.start()
        yield plane
    finally:
        plane.stop()


def node(name: str, cpu: str = "2", **labels: str) -> Object:
    resources = {"cpu": cpu, "memory": "8Gi", "pods": "50"}
    return {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": name, "labels": {"kubernetes.io/hostname": name, **labels}},
        "status": {"capacity": resources, "allocatable": resources},
    }


def group(name: str, count: int, parent: str | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1beta1",
        "kind": "PodGroup",
        "metadata": {"name": name},
        "spec": {
            "workloadRef": {"workloadName": "w", "templateName": "t"},
            "schedulingPolicy": {"gang": {"minCount": count}},
            "parentCompositePodGroupName": parent,
            **spec,
        },
    }


def composite(name: str, count: int, parent: str | None = None, **spec: Any) -> Object:
    return {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": name},
        "spec": {
            "workloadRef": {"workloadName": "w", "templateName": "t"},
            "schedulingPolicy": {"gang": {"minGroupCount": count}},
            "parentCompositePodGroupName": parent,
            **spec,
        },
    }


def pods(group: str, count: int, **spec: Any) -> list[Object]:
    requests = {"cpu": "1"}
    container = {"name": "c", "image": "i", "resources": {"requests": requests}}
    return [
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": {"name": f"{group}-{index}"},
            "spec": {
                "containers": [container],
                "schedulingGroup": {"podGroupName": group},
                **spec,
            },
        }
        for index in range(count)
    ]


def topology(key: str) -> Object:
    return {"topology": [{"key": key}]}


SCENARIOS: dict[str, tuple[list[Object], int]] = {
    "both groups fit": (
        [
            node("a"),
            node("b"),
            composite("job", 2),
            group("left", 2, "job"),
            group("right", 2, "job"),
            *pods("left", 2),
            *pods("right", 2),
        ],
        4,
    ),
    "the second of two groups does not fit": (
        [
            node("a", "3"),
            composite("job", 2),
            group("left", 2, "job"),
            group("right", 2, "job"),
            *pods("left", 2),
            *pods("right", 2),
        ],
        0,
    ),
    "one of two groups is enough": (
        [
            node("a", "3"),
            composite("job", 1),
            group("left", 2, "job"),
            group("right", 2, "job"),
            *pods("left", 2),
            *pods("right", 2),
        ],
        2,
    ),
    "no rack takes both groups": (
        [
            node("a", rack="r1"),
            composite("job", 2, schedulingConstraints=topology("rack")),
            group("left", 2, "job"),
            group("right", 2, "job"),
            *pods("left", 2),
            *pods("right", 2),
        ],
        0,
    ),
    "each group in a rack of the zone of both": (
        [
            node("a", "1", rack="r1", zone="z1"),
            node("b", "1", rack="r2", zone="z1"),
            node("c", rack="r3", zone="z2"),
            node("d", rack="r4", zone="z2"),
            composite("job", 2, schedulingConstraints=topology("zone")),
            group("left", 2, "job", schedulingConstraints=topology("rack")),
            group("right", 2, "job", schedulingConstraints=topology("rack")),
            *pods("left", 2),
            *pods("right", 2),
        ],
        4,
    ),
    "a tree of three levels of which a part does not fit": (
        [
            node("a", "3"),
            composite("job", 1),
            composite("big", 2, "job"),
            group("big1", 2, "big"),
            group("big2", 2, "big"),
            composite("small", 1, "job"),
            group("small1", 3, "small"),
            *pods("big1", 2),
            *pods("big2", 2),
            *pods("small1", 3),
        ],
        3,
    ),
    "a group of its own with the gates on": (
        [node("a", "1"), group("alone", 2), *pods("alone", 2)],
        0,
    ),
    "a label that no node has": (
        [
            node("a"),
            composite("job", 1, schedulingConstraints=topology("rack")),
            group("left", 1, "job"),
            *pods("left", 1),
        ],
        0,
    ),
}


def told(cluster: Cluster) -> Told:
    """Return what groups and pods were told so far."""
    found: Told = {}
    for kind, type in (("PodGroup", CONDITION), ("Pod", "PodScheduled")):
        for one in cluster.api.list(kind, cluster.namespace):
            conditions = one.get("status", {}).get("conditions", [])
            for condition in conditions:
                if condition["type"] == type:
                    found[f"{kind} {one['metadata']['name']}"] = (
                        condition["status"],
                        condition.get("reason", ""),
                        condition.get("message", ""),
                    )
    return found


def observe(
    side: Side,
    plane: ControlPlane,
    folder: Path,
    objects: list[Object],
    bound: int,
    look: Callable[[Cluster], None] = lambda cluster: None,
) -> tuple[Told, set[str]]:
    """Run a scheduler on objects; return what everybody was told, and the nodes in use.

    `look` is called with the cluster at the end.
    """
    expected = sum(one["kind"] in ("Pod", "PodGroup") for one in objects)
    with warnings.catch_warnings(), Api(plane.access) as api:
        warnings.simplefilter("ignore", InsecureRequestWarning)
        cluster = Cluster(plane, api)
        try:
            for one in objects:
                cluster.create(one)
            running = side.start(plane, folder, [GATES, "--leader-elect=false"])
            try:
                eventually(lambda: len(told(cluster)) == expected, f"{expected} conditions")
                eventually(lambda: len(nodes(cluster)) == bound, f"{bound} pods bound")
                # What is left of a tree is tried again at once, and may preempt only then.
                eventually(lambda: all(map(is_final, told(cluster).items())), "last attempts")
                look(cluster)
                return told(cluster), set(nodes(cluster).values())
            finally:
                running.stop()
        finally:
            cluster.wipe()


def is_final(entry: tuple[str, tuple[str, str, str]]) -> bool:
    """Return whether a group was scheduled, or has tried to preempt."""
    name, (status, _, message) = entry
    return status == "True" or name.startswith("Pod ") or message.endswith(NOBODY)


def by_group(found: Told) -> dict[str, list[tuple[str, str, str]]]:
    """Return what groups were told, and the pods of each: their order depends on the clock."""
    texts: dict[str, list[tuple[str, str, str]]] = {}
    for name, (status, reason, message) in sorted(found.items()):
        who = name.rpartition("-")[0] if name.startswith("Pod ") else name
        texts.setdefault(who, []).append((status, reason, once(message)))
    return {who: sorted(said) for who, said in texts.items()}


def nodes(cluster: Cluster) -> dict[str, str]:
    return {
        one["metadata"]["name"]: one["spec"]["nodeName"]
        for one in cluster.api.list("Pod", cluster.namespace)
        if one["spec"].get("nodeName")
    }


def once(text: str) -> str:
    """Return a text with what kube-scheduler says several times in a row said once.

    A group that shares the fate of its parent shares the object of its status too, to which the
    result of preemption is appended once for each of them.
    """
    return re.sub(r"(, pod group preemption: [^,]*)(\1)+", r"\1", text)


@pytest.mark.parametrize("name", SCENARIOS)
def test_everybody_is_told_the_same(
    name: str, plane: ControlPlane, sides: tuple[Side, Side], tmp_path: Path
) -> None:
    objects, bound = SCENARIOS[name]
    (theirs, at_theirs), (ours, at_ours) = (
        observe(side, plane, tmp_path, objects, bound) for side in sides
    )
    assert by_group(ours) == by_group(theirs)
    assert at_ours == at_theirs


def device_slice(node_name: str) -> Object:
    pool = {"name": node_name, "generation": 1, "resourceSliceCount": 1}
    return {
        "apiVersion": "resource.k8s.io/v1",
        "kind": "ResourceSlice",
        "metadata": {"name": f"{node_name}-devices"},
        "spec": {
            "driver": "gpu.example.com",
            "nodeName": node_name,
            "pool": pool,
            "devices": [{"name": "gpu-0"}],
        },
    }


CLAIM: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "shared"},
    "spec": {
        "devices": {"requests": [{"name": "gpu", "exactly": {"deviceClassName": "gpu"}}]},
    },
}
CLASS: Object = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "DeviceClass",
    "metadata": {"name": "gpu"},
    "spec": {},
}
ENTRY = {"name": "gpu", "resourceClaimName": "shared"}


@pytest.mark.parametrize(
    "claims", [[ENTRY], []], ids=["a claim of the group", "a claim of the pods"]
)
def test_the_pods_of_a_gang_share_a_claim(
    claims: list[Object], plane: ControlPlane, sides: tuple[Side, Side], tmp_path: Path
) -> None:
    objects = [
        node("a"),
        node("b"),
        device_slice("b"),
        CLASS,
        CLAIM,
        group("g", 2, resourceClaims=claims),
        *pods("g", 2, resourceClaims=[ENTRY]),
    ]
    found = []
    for side in sides:
        reserved: list[tuple[str, ...]] = []

        def note(cluster: Cluster, kept: list[tuple[str, ...]] = reserved) -> None:
            (claim,) = cluster.api.list("ResourceClaim", cluster.namespace)
            kept += [
                (one.get("apiGroup", ""), one["resource"], one["name"])
                for one in claim["status"]["reservedFor"]
            ]

        # What pods are told differs: kube-scheduler fails to bind the second one at first.
        _, at = observe(side, plane, tmp_path, objects, 2, note)
        found.append((at, sorted(reserved)))
    assert found[1] == found[0]
    users = [("scheduling.k8s.io", "podgroups", "g")]
    assert found[0][1] == (users if claims else [("", "pods", "g-0"), ("", "pods", "g-1")])
