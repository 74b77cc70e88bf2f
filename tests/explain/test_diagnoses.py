"""What each plugin of kube-scheduler says about a node that it refuses."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from mooring.api import KubeObject
from mooring.explain.amounts import diagnosis_text
from mooring.testing.builders import make_node, make_pod
from tests.explain.runs import explain
from tests.plugins.volumes.storage import claim, csi_node, in_label, storage_class, volume

ZONE = "topology.kubernetes.io/zone"
HOST = "kubernetes.io/hostname"
WEB = {"app": "web"}


def spread(key: str, labels: dict[str, str]) -> dict[str, Any]:
    return {
        "topologySpreadConstraints": [
            {
                "maxSkew": 1,
                "topologyKey": key,
                "whenUnsatisfiable": "DoNotSchedule",
                "labelSelector": {"matchLabels": labels},
            }
        ]
    }


def required(kind: str, key: str) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": WEB}}
    return {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


def disk(name: str) -> dict[str, Any]:
    return {"volumes": [{"name": "d", "gcePersistentDisk": {"pdName": name}}]}


N1 = make_node("n1", zone="a", labels={HOST: "n1"})
#: Full, so that only n1 can be refused by what is tried.
N2 = make_node("n2", zone="b", labels={HOST: "n2"}, cpu="0")

CASES = [
    pytest.param(
        [N1, make_pod(cpu="6", memory="20Gi")],
        "NodeResourcesFit",
        "cpu 2, memory 4Gi short",
        id="resources",
    ),
    pytest.param(
        [make_node("n1", pods=1), make_pod("first", node="n1"), make_pod()],
        "NodeResourcesFit",
        "pods 1 short (asks 1, 0 free)",
        id="number of pods",
    ),
    pytest.param(
        [make_node("n1", taints=["gpu:NoSchedule"]), make_pod()],
        "TaintToleration",
        "taint gpu:NoSchedule is not tolerated",
        id="taint",
    ),
    pytest.param(
        [N1, make_pod(node_selector={ZONE: "b"})],
        "NodeAffinity",
        f"{ZONE} is a, not b",
        id="node selector",
    ),
    pytest.param(
        [N1, make_pod("first", host_ports=[80], node="n1"), make_pod(host_ports=[80])],
        "NodePorts",
        "host port 80/TCP is taken by default/first",
        id="ports",
    ),
    pytest.param(
        [
            N1,
            N2,
            make_pod("first", node="n1", labels=WEB),
            make_pod(cpu="1", labels=WEB, spec=spread(ZONE, WEB)),
        ],
        "PodTopologySpread",
        f"{ZONE}=a has 1 matching pod(s), the domain with the fewest 0 (maxSkew 1)",
        id="spreading",
    ),
    pytest.param(
        [N1, make_pod(spec=spread("rack", WEB))],
        "PodTopologySpread",
        None,
        id="no node has the topology key",
    ),
    pytest.param(
        [N1, make_pod(affinity=required("podAffinity", ZONE))],
        "InterPodAffinity",
        f"no pod that its affinity asks for is in {ZONE}=a",
        id="affinity",
    ),
    pytest.param(
        [
            N1,
            make_pod("first", labels=WEB, node="n1"),
            make_pod(affinity=required("podAntiAffinity", ZONE)),
        ],
        "InterPodAffinity",
        f"a pod that its anti-affinity excludes is in {ZONE}=a",
        id="anti-affinity",
    ),
    pytest.param(
        [
            N1,
            make_pod("first", node="n1", affinity=required("podAntiAffinity", HOST)),
            make_pod(labels=WEB),
        ],
        "InterPodAffinity",
        f"a pod whose anti-affinity excludes it is in {HOST}=n1",
        id="anti-affinity of another pod",
    ),
    pytest.param(
        [N1, make_pod("first", node="n1", spec=disk("d1")), make_pod(spec=disk("d1"))],
        "VolumeRestrictions",
        "a disk of the pod is used by default/first",
        id="disk in use",
    ),
    pytest.param(
        [
            N1,
            volume("v1", labels={ZONE: "b"}, phase="Bound"),
            claim("data", bound_to="v1"),
            make_pod(claims=["data"]),
        ],
        "VolumeZone",
        f"{ZONE} is a, not b",
        id="zone of a volume",
    ),
    pytest.param(
        [
            N1,
            storage_class(),
            volume("v1", affinity=in_label(ZONE, "b"), phase="Bound"),
            claim("data", bound_to="v1"),
            make_pod(claims=["data"]),
        ],
        "VolumeBinding",
        "claim data: node(s) didn't match PersistentVolume's node affinity",
        id="reach of a volume",
    ),
    pytest.param(
        [
            N1,
            csi_node("n1", {"disk.example.com": 1}),
            *(
                volume(f"v{i}", csi={"driver": "disk.example.com", "volumeHandle": f"h{i}"})
                for i in range(2)
            ),
            *(claim(f"c{i}", bound_to=f"v{i}") for i in range(2)),
            make_pod("first", claims=["c0"], node="n1"),
            make_pod(claims=["c1"]),
        ],
        "NodeVolumeLimits",
        "disk.example.com: 1 volumes are attached, 1 more asked for, 1 allowed",
        id="number of volumes",
    ),
]


@pytest.mark.parametrize(("objects", "plugin", "text"), CASES)
def test_a_refused_node_is_described(
    objects: Sequence[KubeObject], plugin: str, text: str | None
) -> None:
    found = explain(objects)[0]
    causes = {cause.status.plugin: cause for cause in found.causes if cause.example == "n1"}
    assert diagnosis_text(causes[plugin].diagnosis) == (text or "")
