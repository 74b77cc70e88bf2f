from __future__ import annotations

from typing import Any

import msgspec
import pytest

from mooring.errors import ConfigError
from mooring.framework.cluster_events import QueueingHint
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.args import NodeAffinityArgs
from mooring.plugins.node_affinity import NodeAffinity
from tests.plugins.cluster import Cluster, hints, make_node, make_pod, unresolvable

NO_MATCH = unresolvable("node(s) didn't match Pod's node affinity/selector")
NOT_ENFORCED = unresolvable("node(s) didn't match scheduler-enforced node affinity")
CONFLICT = Status.unresolvable("pod affinity terms conflict")
SKIP = Status.skip()


def expression(key: str, operator: str, *values: str) -> dict:
    return {"key": key, "operator": operator, "values": list(values)}


def term(*expressions: dict, names: tuple[str, ...] = ()) -> dict:
    fields = [expression("metadata.name", "In", name) for name in names]
    return {"matchExpressions": list(expressions), "matchFields": fields}


def preference(weight: int, *expressions: dict) -> dict:
    return {"weight": weight, "preference": term(*expressions)}


def affinity(*terms: dict, preferred: tuple[dict, ...] = (), required: bool = True) -> dict:
    found: dict[str, Any] = {"preferredDuringSchedulingIgnoredDuringExecution": list(preferred)}
    if required:
        found["requiredDuringSchedulingIgnoredDuringExecution"] = {"nodeSelectorTerms": list(terms)}
    return found


def wanting(node_affinity: dict | None = None, uid: str = "pod", **selector: str):
    spec: dict[str, Any] = {"nodeSelector": selector} if selector else {}
    if node_affinity is not None:
        spec["affinity"] = {"nodeAffinity": node_affinity}
    return make_pod(uid=uid, spec=spec)


def args(added: dict | None) -> NodeAffinityArgs:
    return msgspec.convert({"addedAffinity": added}, NodeAffinityArgs)


ZONE_A, ZONE_B = expression("zone", "In", "a"), expression("zone", "In", "b")
CLUSTER = Cluster(
    [
        make_node("n1", labels={"zone": "a", "size": "3"}),
        make_node("n2", labels={"zone": "b", "size": "7"}),
        make_node("n3", labels={"size": "big"}),
    ]
)


@pytest.mark.parametrize(
    ("pod", "added", "expected"),
    [
        pytest.param(wanting(), None, SKIP, id="a pod without demands steps aside"),
        pytest.param(
            wanting(affinity(preferred=(preference(1, ZONE_A),), required=False)),
            None,
            SKIP,
            id="preferences alone demand nothing",
        ),
        pytest.param(wanting(zone="a"), None, [None, NO_MATCH, NO_MATCH], id="node selector"),
        pytest.param(
            wanting(zone="a", size="7"), None, [NO_MATCH] * 3, id="every selector label must match"
        ),
        pytest.param(
            wanting(affinity(term(expression("zone", "NotIn", "a")))),
            None,
            [NO_MATCH, None, None],
            id="NotIn matches an absent label",
        ),
        pytest.param(
            wanting(affinity(term(expression("zone", "Exists")))),
            None,
            [None, None, NO_MATCH],
            id="Exists",
        ),
        pytest.param(
            wanting(affinity(term(expression("size", "Gt", "5")))),
            None,
            [NO_MATCH, None, NO_MATCH],
            id="Gt compares numbers only",
        ),
        pytest.param(
            wanting(affinity(term(expression("size", "Lt", "5")))),
            None,
            [None, NO_MATCH, NO_MATCH],
            id="Lt compares numbers only",
        ),
        pytest.param(
            wanting(affinity(term(ZONE_A), term(ZONE_B))),
            None,
            [None, None, NO_MATCH],
            id="any of the terms suffices",
        ),
        pytest.param(
            wanting(affinity(term(ZONE_A, expression("size", "In", "7")))),
            None,
            [NO_MATCH] * 3,
            id="all requirements of a term must hold",
        ),
        pytest.param(wanting(affinity()), None, [NO_MATCH] * 3, id="no term matches no node"),
        pytest.param(
            wanting(affinity(term())), None, [NO_MATCH] * 3, id="an empty term matches no node"
        ),
        pytest.param(
            wanting(affinity(term(expression("zone", "Nonsense")), term(ZONE_A))),
            None,
            [None, NO_MATCH, NO_MATCH],
            id="a malformed term matches no node, the others count",
        ),
        pytest.param(
            wanting(affinity(term(ZONE_A)), size="7"),
            None,
            [NO_MATCH] * 3,
            id="selector and affinity must both match",
        ),
        pytest.param(
            wanting(),
            affinity(term(ZONE_A)),
            [None, NOT_ENFORCED, NOT_ENFORCED],
            id="added affinity applies to every pod",
        ),
        pytest.param(
            wanting(size="7"),
            affinity(term(ZONE_A)),
            [NO_MATCH, NOT_ENFORCED, NOT_ENFORCED],
            id="added affinity is checked first",
        ),
        pytest.param(
            wanting(affinity(term(names=("n1",)), term(ZONE_B))),
            None,
            [None, None, NO_MATCH],
            id="a name in one of the terms",
        ),
        pytest.param(
            wanting(affinity(term(names=("n1", "n2")))),
            None,
            CONFLICT,
            id="a term that names two nodes at once conflicts",
        ),
    ],
)
def test_filter(pod, added, expected) -> None:
    found = CLUSTER.filter(CLUSTER.make(NodeAffinity, args(added)), pod)
    assert (list(found.values()) if isinstance(found, dict) else found) == expected


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([term(names=("n1",))], {"n1"}, id="one name"),
        pytest.param(
            [term(names=("n1",)), term(names=("n2",))], {"n1", "n2"}, id="a name per term"
        ),
        pytest.param([term(names=("n1",)), term(ZONE_B)], None, id="a term without a name"),
        pytest.param(
            [term(names=("n1", "n2")), term(names=("n3",))], {"n3"}, id="one of two terms conflicts"
        ),
        pytest.param([term(ZONE_A, names=("n9",))], {"n9"}, id="a node that is not there"),
        pytest.param([], None, id="no terms"),
    ],
)
def test_names_narrow_the_search(terms: list, expected) -> None:
    plugin = CLUSTER.make(NodeAffinity)
    found = plugin.pre_filter(CycleState(), wanting(affinity(*terms)), CLUSTER.nodes)
    assert found == expected


def test_filter_without_pre_filter_works_the_demand_out_itself() -> None:
    found = CLUSTER.filter_only(CLUSTER.make(NodeAffinity), wanting(zone="a"), CycleState())
    assert found == {"n1": None, "n2": NO_MATCH, "n3": NO_MATCH}


SIZED = expression("size", "Exists")


@pytest.mark.parametrize(
    ("preferred", "added", "raw", "normal"),
    [
        pytest.param([(2, ZONE_A)], [], [2, 0, 0], [100, 0, 0], id="one preference"),
        pytest.param(
            [(2, ZONE_A), (6, ZONE_B), (1, SIZED)],
            [],
            [3, 7, 1],
            [42, 100, 14],
            id="weights add up",
        ),
        pytest.param(
            [(2, ZONE_A)], [(4, ZONE_B)], [2, 4, 0], [50, 100, 0], id="added preferences count too"
        ),
        pytest.param([], [(4, ZONE_B)], [0, 4, 0], [0, 100, 0], id="added preferences alone"),
        pytest.param([(0, ZONE_A)], [], [0, 0, 0], [0, 0, 0], id="weight 0 counts nothing"),
    ],
)
def test_score(preferred: list, added: list, raw: list[int], normal: list[int]) -> None:
    def preferences(pairs: list) -> dict:
        return affinity(preferred=tuple(preference(*pair) for pair in pairs), required=False)

    plugin = CLUSTER.make(NodeAffinity, args(preferences(added)))
    pod = wanting(preferences(preferred))
    assert list(CLUSTER.score(plugin, pod).values()) == raw
    assert list(CLUSTER.normalized(plugin, pod).values()) == normal
    assert list(CLUSTER.score_only(plugin, pod, CycleState()).values()) == raw


def test_a_pod_without_preferences_is_not_scored() -> None:
    plugin = CLUSTER.make(NodeAffinity)
    assert CLUSTER.score(plugin, wanting(affinity(term(ZONE_A)))) == SKIP


def test_a_malformed_preference_is_an_error() -> None:
    plugin = CLUSTER.make(NodeAffinity)
    bad = preference(1, expression("zone", "Nonsense"))
    pod = wanting(affinity(preferred=(bad,), required=False))
    for answer in (
        CLUSTER.score(plugin, pod),
        plugin.score(CycleState(), pod, CLUSTER.nodes.info(0)),
        plugin.score_nodes(CycleState(), pod, CLUSTER.nodes),
    ):
        assert isinstance(answer, Status)
        assert answer.is_error
        assert 'Unsupported value: "Nonsense"' in answer.message


def test_a_malformed_added_affinity_is_refused() -> None:
    with pytest.raises(ConfigError, match="parsing addedAffinity"):
        CLUSTER.make(NodeAffinity, args(affinity(term(expression("zone", "Nonsense")))))


A, B = make_node("n", labels={"zone": "a"}), make_node("n", labels={"zone": "b"})
WANTS_A = wanting(affinity(term(ZONE_A)))
MALFORMED = wanting(affinity(term(expression("zone", "Nonsense"))))


@pytest.mark.parametrize(
    ("pod", "added", "old", "new", "expected"),
    [
        pytest.param(WANTS_A, None, None, A, QueueingHint.QUEUE, id="a matching node came"),
        pytest.param(WANTS_A, None, None, B, QueueingHint.SKIP, id="another node came"),
        pytest.param(WANTS_A, None, B, A, QueueingHint.QUEUE, id="a node came to match"),
        pytest.param(WANTS_A, None, A, A, QueueingHint.SKIP, id="a node matched already"),
        pytest.param(WANTS_A, None, A, B, QueueingHint.SKIP, id="a node ceased to match"),
        pytest.param(
            WANTS_A, affinity(term(ZONE_B)), None, A, QueueingHint.SKIP, id="not enforced"
        ),
        pytest.param(
            wanting(),
            affinity(term(ZONE_B)),
            None,
            B,
            QueueingHint.QUEUE,
            id="an enforced one came",
        ),
        pytest.param(MALFORMED, None, None, A, QueueingHint.QUEUE, id="malformed: try again"),
    ],
)
def test_node_events(pod, added, old, new, expected: QueueingHint) -> None:
    hint = hints(CLUSTER.make(NodeAffinity, args(added)))["Node", "Add|UpdateNodeLabel"]
    assert hint(pod, old, new) is expected


def test_signatures_ignore_order_and_see_content() -> None:
    sign = CLUSTER.make(NodeAffinity).sign_pod
    one = affinity(term(ZONE_A), term(ZONE_B), preferred=(preference(1, ZONE_A),))
    other = affinity(term(ZONE_B), term(ZONE_A), preferred=(preference(1, ZONE_A),))
    assert sign(wanting(one)) == sign(wanting(other))
    different = [
        wanting(),
        wanting(zone="a"),
        wanting(affinity()),
        wanting(affinity(term(ZONE_A))),
        wanting(affinity(term(ZONE_B))),
        wanting(affinity(preferred=(preference(1, ZONE_A),), required=False)),
        wanting(affinity(preferred=(preference(2, ZONE_A),), required=False)),
    ]
    assert len({sign(pod) for pod in different}) == len(different)
