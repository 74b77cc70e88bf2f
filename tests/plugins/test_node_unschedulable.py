from __future__ import annotations

import pytest

from mooring.framework.cluster_events import QueueingHint
from mooring.plugins.node_unschedulable import NodeUnschedulable
from tests.plugins.cluster import Cluster, hints, make_node, make_pod, unresolvable

OPEN, CLOSED = make_node("open"), make_node("closed", unschedulable=True)
TOLERATION = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}
REFUSED = unresolvable("node(s) were unschedulable")


def tolerating(*tolerations: dict, uid: str = "pod"):
    return make_pod(uid=uid, spec={"tolerations": list(tolerations)})


@pytest.mark.parametrize(
    ("pod", "verdict"),
    [
        pytest.param(tolerating(), REFUSED, id="a cordoned node is refused"),
        pytest.param(tolerating(TOLERATION), None, id="the toleration admits to a cordoned node"),
        pytest.param(
            tolerating({**TOLERATION, "effect": "NoExecute"}),
            REFUSED,
            id="a toleration of another effect does not",
        ),
        pytest.param(tolerating({"operator": "Exists"}), None, id="tolerating everything does"),
    ],
)
def test_cordoned_nodes(pod, verdict) -> None:
    cluster = Cluster([OPEN, CLOSED])
    found = cluster.filter(cluster.make(NodeUnschedulable), pod)
    assert found == {"open": None, "closed": verdict}


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, OPEN, QueueingHint.QUEUE, id="an open node came"),
        pytest.param(None, CLOSED, QueueingHint.SKIP, id="a cordoned node came"),
        pytest.param(CLOSED, OPEN, QueueingHint.QUEUE, id="a node was opened"),
        pytest.param(OPEN, CLOSED, QueueingHint.SKIP, id="a node was cordoned"),
        pytest.param(OPEN, OPEN, QueueingHint.SKIP, id="an open node stayed open"),
        pytest.param(CLOSED, CLOSED, QueueingHint.SKIP, id="a cordoned node stayed cordoned"),
    ],
)
def test_node_events(old, new, expected: QueueingHint) -> None:
    hint = hints(NodeUnschedulable())["Node", "Add|UpdateNodeTaint"]
    assert hint(make_pod(), old, new) is expected


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(tolerating(TOLERATION), QueueingHint.QUEUE, id="the pod now tolerates"),
        pytest.param(tolerating({"key": "foo"}), QueueingHint.SKIP, id="it tolerates another"),
    ],
)
def test_pod_events(new, expected: QueueingHint) -> None:
    hint = hints(NodeUnschedulable())["TargetPod", "UpdatePodToleration"]
    assert hint(make_pod(), tolerating(uid=new.metadata.uid), new) is expected
