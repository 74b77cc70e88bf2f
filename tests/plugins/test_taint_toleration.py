from __future__ import annotations

import pytest

from mooring.framework.cluster_events import QueueingHint
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.taint_toleration import TaintToleration
from tests.plugins.cluster import Cluster, hints, make_node, make_pod, unresolvable

REFUSED = unresolvable("node(s) had untolerated taint(s)")
GATE = {"TaintTolerationComparisonOperators": True}


def taint(key: str, value: str = "", effect: str = "NoSchedule") -> dict:
    return {"key": key, "value": value, "effect": effect}


def toleration(key: str = "", operator: str = "", value: str = "", effect: str = "") -> dict:
    return {"key": key, "operator": operator, "value": value, "effect": effect}


def tolerating(*tolerations: dict, uid: str = "pod"):
    return make_pod(uid=uid, spec={"tolerations": list(tolerations)})


@pytest.mark.parametrize(
    ("taints", "tolerations", "gates", "verdict"),
    [
        pytest.param([], [], {}, None, id="no taint, no toleration"),
        pytest.param([taint("a", "x")], [], {}, REFUSED, id="an untolerated taint"),
        pytest.param(
            [taint("a", "x")], [toleration("a", "Equal", "x")], {}, None, id="key and value match"
        ),
        pytest.param(
            [taint("a", "x")], [toleration("a", "", "x")], {}, None, id="no operator means Equal"
        ),
        pytest.param(
            [taint("a", "x")], [toleration("a", "Exists")], {}, None, id="Exists ignores the value"
        ),
        pytest.param(
            [taint("a", "x")], [toleration("a", "Equal", "y")], {}, REFUSED, id="another value"
        ),
        pytest.param(
            [taint("a")], [toleration("", "Exists")], {}, None, id="tolerating everything"
        ),
        pytest.param(
            [taint("a", effect="NoExecute")],
            [toleration("a", "Exists", effect="NoSchedule")],
            {},
            REFUSED,
            id="another effect",
        ),
        pytest.param(
            [taint("a"), taint("b")],
            [toleration("a", "Exists")],
            {},
            REFUSED,
            id="one of two taints",
        ),
        pytest.param(
            [taint("a", effect="PreferNoSchedule")], [], {}, None, id="a soft taint does not refuse"
        ),
        pytest.param(
            [taint("a", "5")],
            [toleration("a", "Gt", "3")],
            {},
            REFUSED,
            id="Gt tolerates nothing while its gate is off",
        ),
        pytest.param(
            [taint("a", "5")], [toleration("a", "Gt", "3")], GATE, None, id="5 is greater than 3"
        ),
        pytest.param([taint("a", "2")], [toleration("a", "Gt", "3")], GATE, REFUSED, id="2 is not"),
    ],
)
def test_taints_refuse(taints: list, tolerations: list, gates: dict, verdict) -> None:
    cluster = Cluster([make_node("plain"), make_node("tainted", taints=taints)], gates=gates)
    found = cluster.filter(cluster.make(TaintToleration), tolerating(*tolerations))
    assert found == {"plain": None, "tainted": verdict}


def test_a_node_that_loses_its_taint_is_asked_anew() -> None:
    cluster = Cluster([make_node("node", taints=[taint("a")])])
    plugin = cluster.make(TaintToleration)
    assert cluster.filter(plugin, tolerating()) == {"node": REFUSED}
    cluster.handle.cache.update_node(make_node("node"))
    assert cluster.filter(plugin, tolerating()) == {"node": None}


SOFT = "PreferNoSchedule"


@pytest.mark.parametrize(
    ("tolerations", "raw", "normal"),
    [
        pytest.param([], [0, 1, 2], [100, 50, 0], id="each untolerated soft taint counts"),
        pytest.param(
            [toleration("a", "Exists", effect=SOFT)], [0, 0, 1], [100, 100, 0], id="one tolerated"
        ),
        pytest.param(
            [toleration("a", "Exists", effect="NoSchedule")],
            [0, 1, 2],
            [100, 50, 0],
            id="a toleration of hard taints does not count",
        ),
        pytest.param(
            [toleration("", "Exists")], [0, 0, 0], [100, 100, 100], id="all tolerated is all 100"
        ),
    ],
)
def test_soft_taints_score(tolerations: list, raw: list[int], normal: list[int]) -> None:
    one, two = [taint("a", effect=SOFT)], [taint("a", effect=SOFT), taint("b", effect=SOFT)]
    hard = taint("c", effect="NoExecute")
    cluster = Cluster(
        [make_node("0", taints=[hard]), make_node("1", taints=one), make_node("2", taints=two)]
    )
    plugin, pod = cluster.make(TaintToleration), tolerating(*tolerations)
    assert list(cluster.score(plugin, pod).values()) == raw
    assert list(cluster.normalized(plugin, pod).values()) == normal


def test_score_without_pre_score_is_an_error() -> None:
    cluster = Cluster([make_node("a")])
    plugin, message = cluster.make(TaintToleration), "failed to read"
    for answer in (
        plugin.score(CycleState(), make_pod(), cluster.nodes.info(0)),
        plugin.score_nodes(CycleState(), make_pod(), cluster.nodes),
    ):
        assert isinstance(answer, Status)
        assert answer.is_error
        assert message in answer.message


PLAIN = make_node("n")
TAINTED = make_node("n", taints=[taint("a")])
OTHER = make_node("n", taints=[taint("b")])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, PLAIN, QueueingHint.QUEUE, id="an untainted node came"),
        pytest.param(None, TAINTED, QueueingHint.QUEUE, id="a node with a tolerated taint came"),
        pytest.param(None, OTHER, QueueingHint.SKIP, id="a node with another taint came"),
        pytest.param(OTHER, TAINTED, QueueingHint.QUEUE, id="the taint became a tolerated one"),
        pytest.param(OTHER, PLAIN, QueueingHint.QUEUE, id="the taint went"),
        pytest.param(PLAIN, TAINTED, QueueingHint.SKIP, id="the node was open already"),
        pytest.param(TAINTED, OTHER, QueueingHint.SKIP, id="the node became closed"),
    ],
)
def test_node_events(old, new, expected: QueueingHint) -> None:
    hint = hints(TaintToleration())["Node", "Add|UpdateNodeTaint"]
    assert hint(tolerating(toleration("a", "Exists")), old, new) is expected


def test_every_new_toleration_of_the_pod_itself_is_worth_an_attempt() -> None:
    assert hints(TaintToleration())["TargetPod", "UpdatePodToleration"] is None


def test_order_of_tolerations_does_not_change_the_signature() -> None:
    a, b = toleration("a", "Exists"), toleration("b", "Exists")
    sign = TaintToleration().sign_pod
    assert sign(tolerating(a, b)) == sign(tolerating(b, a))
    assert sign(tolerating(a)) != sign(tolerating(b))
