from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.api import Pod
from mooring.framework.cluster_events import QueueingHint
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.plugins.volumes import NodeVolumeLimits
from mooring.plugins.volumes.node_volume_limits import (
    LIMIT_EXCEEDED,
    after_attachment_deleted,
    after_claim_added,
    after_csi_node_updated,
    after_pod_deleted,
)
from tests.plugins.clusters import Cluster, make_node, make_pod, refusals
from tests.plugins.volumes.storage import (
    attachment,
    claim,
    csi_driver,
    csi_node,
    owned_by,
    pod_with,
    storage_class,
    volume,
)

EBS = "ebs.csi.aws.com"
DRIVER = "csi.example.com"


def _plugin(cluster: Cluster) -> NodeVolumeLimits:
    plugin = NodeVolumeLimits(handle=cluster)
    plugin.start()
    return plugin


def _csi(name: str, handle: str = "", driver: str = DRIVER) -> list[Any]:
    """Return a claim and its volume, both of this name."""
    source = {"driver": driver, "volumeHandle": handle or name}
    return [claim(name, bound_to=name), volume(name, csi=source)]


def _ask(cluster: Cluster, pod: Pod) -> dict[str, Status]:
    plugin, state = _plugin(cluster), CycleState()
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    return refusals(plugin, state, pod, cluster.snapshot)


def _ebs(volume_id: str) -> dict[str, Any]:
    return {"name": volume_id[-5:], "awsElasticBlockStore": {"volumeID": volume_id}}


CASES = [
    pytest.param([pod_with("a", name="p", node="n")], pod_with("b"), 1, True, id="no room left"),
    pytest.param([pod_with("a", name="p", node="n")], pod_with("b"), 2, False, id="room for one"),
    pytest.param(
        [pod_with("a", name="p", node="n")], pod_with("b", "c"), 2, True, id="room for one of two"
    ),
    pytest.param(
        [pod_with("a", name="p", node="n")],
        pod_with("a"),
        1,
        False,
        id="a volume that is there already",
    ),
    pytest.param(
        [pod_with("a", name="p", node="n"), pod_with("same", name="q", node="n")],
        pod_with("b"),
        2,
        False,
        id="one volume behind two claims counts once",
    ),
    pytest.param(
        [pod_with("other", name="p", node="n")], pod_with("b"), 1, False, id="of another driver"
    ),
    pytest.param(
        [pod_with("gone", name="p", node="n")], pod_with("b"), 1, False, id="its claim is gone"
    ),
    pytest.param(
        [pod_with("to-come", name="p", node="n")], pod_with("b"), 1, True, id="yet to be made"
    ),
    pytest.param([], pod_with("to-come"), 0, True, id="no volumes at all are allowed"),
    pytest.param([], pod_with("classless"), 0, False, id="a claim that nobody provisions"),
]


@pytest.mark.parametrize(("on_node", "pod", "limit", "refused"), CASES)
def test_limits(on_node: list[Pod], pod: Pod, limit: int, refused: bool) -> None:
    objects = [
        *_csi("a"),
        *_csi("b"),
        *_csi("c"),
        *_csi("same", handle="a"),
        *_csi("other", driver="else.example.com"),
        claim("to-come", storage_class="dyn"),
        claim("classless", storage_class="no"),
        storage_class("dyn", DRIVER),
        csi_node("n", {DRIVER: limit}),
        csi_node("roomy", {DRIVER: 100}),
        csi_node("unlimited", {DRIVER: None}),
    ]
    names = ("n", "roomy", "unlimited", "no-csi")
    cluster = Cluster([make_node(name) for name in names], on_node, objects)
    assert _ask(cluster, pod) == ({"n": LIMIT_EXCEEDED} if refused else {})


@pytest.mark.parametrize(
    ("attachments", "refused"),
    [
        pytest.param([attachment("x", "n", "b", DRIVER)], True, id="one that no pod on it uses"),
        pytest.param([attachment("x", "n", "a", DRIVER)], False, id="one that is counted already"),
        pytest.param([attachment("x", "m", "b", DRIVER)], False, id="one of another node"),
        pytest.param([attachment("x", "n", "no", DRIVER)], False, id="one of no volume"),
        pytest.param([attachment("x", "n", None, DRIVER)], False, id="one that names no volume"),
        pytest.param([attachment("x", "n", "b", "")], False, id="one without an attacher"),
    ],
)
def test_attachments_count(attachments: list[Any], refused: bool) -> None:
    objects = [*_csi("a"), *_csi("b"), *_csi("c"), csi_node("n", {DRIVER: 2}), *attachments]
    nodes = [make_node("n"), make_node("m")]
    cluster = Cluster(nodes, [pod_with("a", name="p", node="n")], objects)
    assert set(_ask(cluster, pod_with("c"))) == ({"n"} if refused else set())


@pytest.mark.parametrize(
    ("existing", "wanted", "refused"),
    [
        pytest.param(_ebs("vol-1"), _ebs("vol-2"), True, id="inline in-tree volumes count"),
        pytest.param(_ebs("vol-1"), _ebs("aws:///vol-1"), False, id="in any spelling"),
        pytest.param({"name": "e", "emptyDir": {}}, _ebs("vol-2"), False, id="others do not"),
    ],
)
def test_migrated_volumes(existing: Any, wanted: Any, refused: bool) -> None:
    cluster = Cluster(
        [make_node("n"), make_node("old")],
        [
            make_pod("p", node="n", volumes=[existing]),
            make_pod("q", node="old", volumes=[existing]),
        ],
        [csi_node("n", {EBS: 1})],
    )
    answers = _ask(cluster, make_pod("pod", volumes=[wanted]))
    assert set(answers) == ({"n"} if refused else set())


def test_migrated_persistent_volumes_and_classes_count() -> None:
    in_tree = volume("v", awsElasticBlockStore={"volumeID": "vol-1"})
    cluster = Cluster(
        [make_node("n")],
        [pod_with("c", name="p", node="n")],
        [
            claim("c", bound_to="v"),
            in_tree,
            claim("d", storage_class="ebs"),
            storage_class("ebs", "kubernetes.io/aws-ebs"),
            csi_node("n", {EBS: 1}),
        ],
    )
    assert set(_ask(cluster, pod_with("d"))) == {"n"}
    assert _ask(cluster, pod_with("c")) == {}


def _ephemeral(name: str) -> dict[str, Any]:
    return {"name": name, "ephemeral": {"volumeClaimTemplate": {"spec": {}}}}


@pytest.mark.parametrize(
    ("pod", "answer"),
    [
        pytest.param(
            pod_with("no"),
            Status.unresolvable('looking up PVC default/no: persistentvolumeclaim "no" not found'),
            id="a claim that does not exist",
        ),
        pytest.param(
            pod_with(""), Status.error("PersistentVolumeClaim had no name"), id="a nameless claim"
        ),
        pytest.param(
            pod_with(extra=[_ephemeral("e")]),
            Status.error(
                "PVC default/pod-e was not created for pod default/pod (pod is not owner)"
            ),
            id="an ephemeral claim of somebody else",
        ),
    ],
)
def test_faulty_claims_of_the_pod(pod: Pod, answer: Status) -> None:
    nodes = [make_node("n"), make_node("m")]
    cluster = Cluster(nodes, objects=[claim("pod-e"), csi_node("n", {DRIVER: 1})])
    assert _ask(cluster, pod) == {"n": answer, "m": answer}


def test_a_faulty_volume_of_the_pod_shows_where_drivers_are() -> None:
    nodes = [make_node("n"), make_node("m")]
    cluster = Cluster(nodes, objects=[csi_node("n")])
    answers = _ask(cluster, make_pod("pod", volumes=[_ebs("aws://zone/x")]))
    assert set(answers) == {"n"}
    assert answers["n"].is_error
    assert answers["n"].message.startswith("converting volume(one/x) from inline to csi: ")


def test_a_faulty_claim_of_an_existing_pod_is_an_error() -> None:
    objects = [*_csi("a"), claim("p-e"), csi_node("n", {"some.example.com": 9})]
    existing = pod_with(name="p", node="n", extra=[_ephemeral("e")])
    cluster = Cluster([make_node("n")], [existing], objects)
    text = "PVC default/p-e was not created for pod default/p (pod is not owner)"
    assert _ask(cluster, pod_with("a")) == {"n": Status.error(text)}


def test_an_ephemeral_claim_of_its_own_counts() -> None:
    objects = [
        claim("pod-e", storage_class="dyn", metadata=owned_by("pod")),
        storage_class("dyn", DRIVER),
        csi_node("n", {DRIVER: 0}),
    ]
    cluster = Cluster([make_node("n")], objects=objects)
    assert _ask(cluster, pod_with(extra=[_ephemeral("e")])) == {"n": LIMIT_EXCEEDED}


def test_pods_taken_off_on_trial_make_room() -> None:
    existing = pod_with("a", name="p", node="n")
    objects = [*_csi("a"), *_csi("b"), csi_node("n", {DRIVER: 1})]
    cluster = Cluster([make_node("m"), make_node("n")], [existing], objects)
    plugin, state, pod = _plugin(cluster), CycleState(), pod_with("b")
    what_if = WhatIf(cluster.snapshot, np.array([1, 0], dtype=np.intp))
    assert set(refusals(plugin, state, pod, what_if)) == {"n"}
    what_if.remove(0, cluster.pod_info(existing))
    assert refusals(plugin, state, pod, what_if) == {}


def test_drivers_that_must_run_on_the_node() -> None:
    text = f"{DRIVER} CSI driver is not installed on the node"
    objects = [*_csi("a"), csi_driver(DRIVER, preventPodSchedulingIfMissing=True), csi_node("n")]
    objects += [csi_node("m", {DRIVER: None})]
    nodes = [make_node(name) for name in ("n", "m", "o")]
    refusal = Status.unschedulable(text)
    assert _ask(Cluster(nodes, objects=objects), pod_with("a")) == {"n": refusal, "o": refusal}
    without = Cluster(nodes, objects=objects, gates={"VolumeLimitScaling": False})
    assert _ask(without, pod_with("a")) == {}
    assert _ask(Cluster(nodes, objects=objects, release="1.36"), pod_with("a")) == {}


def test_steps_aside_where_nothing_is_to_be_attached() -> None:
    plugin = _plugin(Cluster())
    pod = make_pod("pod", volumes=[{"name": "e", "emptyDir": {}}])
    assert plugin.pre_filter(CycleState(), pod, Cluster().snapshot) == Status.skip()


@pytest.mark.parametrize(
    ("hint", "queue"),
    [
        pytest.param(
            after_csi_node_updated(pod_with("c"), csi_node("n"), csi_node("n", {DRIVER: 1})),
            True,
            id="a limit appears",
        ),
        pytest.param(
            after_csi_node_updated(
                pod_with("c"), csi_node("n", {DRIVER: 1}), csi_node("n", {DRIVER: 1})
            ),
            False,
            id="a limit stays",
        ),
        pytest.param(
            after_csi_node_updated(
                pod_with("c"), csi_node("n", {DRIVER: 1}), csi_node("n", {DRIVER: None})
            ),
            False,
            id="a limit goes away",
        ),
        pytest.param(
            after_pod_deleted(pod_with("c"), pod_with("d", node="n"), None),
            True,
            id="a pod with a claim leaves a node",
        ),
        pytest.param(
            after_pod_deleted(pod_with("c"), pod_with("d"), None),
            False,
            id="a pending pod is deleted",
        ),
        pytest.param(
            after_pod_deleted(pod_with("c"), pod_with(node="n"), None),
            False,
            id="a pod without volumes leaves a node",
        ),
        pytest.param(
            after_claim_added(pod_with("c"), None, claim("c")), True, id="the pod's claim comes"
        ),
        pytest.param(
            after_claim_added(pod_with(extra=[_ephemeral("e")]), None, claim("pod-e")),
            True,
            id="its ephemeral claim comes",
        ),
        pytest.param(
            after_claim_added(pod_with("c"), None, claim("d")), False, id="another claim comes"
        ),
        pytest.param(
            after_attachment_deleted(pod_with("c"), attachment("x", "n", "v", "any"), None),
            True,
            id="an attachment goes, the pod has a claim",
        ),
        pytest.param(
            after_attachment_deleted(
                make_pod("p", volumes=[_ebs("vol-1")]), attachment("x", "n", "v", EBS), None
            ),
            True,
            id="an attachment of the in-tree volume's driver goes",
        ),
        pytest.param(
            after_attachment_deleted(
                make_pod("p", volumes=[_ebs("vol-1")]), attachment("x", "n", "v", DRIVER), None
            ),
            False,
            id="an attachment of another driver goes",
        ),
    ],
)
def test_hints(hint: QueueingHint, queue: bool) -> None:
    assert hint is (QueueingHint.QUEUE if queue else QueueingHint.SKIP)
