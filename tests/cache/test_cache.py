"""The cache, compared with a naive recount after every step."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, invariant, precondition, rule
from msgspec import to_builtins
from msgspec.structs import replace

from mooring.api import Node, Pod, decode
from mooring.api.labels import Requirement, Selector
from mooring.cache import Cache
from mooring.cache.cache import CacheError
from mooring.framework.features import FeatureGates
from mooring.framework.nodes import TermKind
from mooring.framework.pod_info import PodInfos
from mooring.observe.metrics import Metrics
from mooring.testing import make_node, make_pod

NODES = [f"n{i}" for i in range(5)]
PODS = [f"p{i}" for i in range(8)]
NAMESPACES = ["red", "blue"]
APPS = ["web", "db"]


def node(name: str, *, zone: str = "z1", cpu: str = "4", image: str = "", **extra: str) -> Node:
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Node",
            "metadata": {"name": name, "labels": {"zone": zone}},
            "spec": {"taints": [{"key": key, "effect": "NoSchedule"} for key in extra]},
            "status": {
                "allocatable": {"cpu": cpu, "memory": "8Gi", "pods": "110", **extra},
                "images": [{"names": [image], "sizeBytes": 7}] if image else [],
            },
        }
    )


def pod(
    name: str,
    node_name: str = "",
    *,
    namespace: str = "red",
    app: str = "web",
    cpu: str = "100m",
    port: int = 0,
    toward: str = "",
    away: str = "",
    deleting: bool = False,
) -> Pod:
    def terms(app: str) -> dict[str, object]:
        term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}}
        return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}

    affinity = {}
    if toward:
        affinity["podAffinity"] = terms(toward)
    if away:
        affinity["podAntiAffinity"] = terms(away)
    meta = {"name": name, "namespace": namespace, "uid": name, "labels": {"app": app, "x": name}}
    if deleting:
        meta["deletionTimestamp"] = "2026-01-01T00:00:00Z"
    ports = [{"containerPort": 80, "hostPort": port}] if port else []
    return decode(
        {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": {
                "nodeName": node_name,
                "affinity": affinity or None,
                "containers": [
                    {"name": "c", "resources": {"requests": {"cpu": cpu}}, "ports": ports}
                ],
            },
        }
    )


def new_cache() -> Cache:
    return Cache(PodInfos(FeatureGates()))


pods = st.builds(
    pod,
    st.sampled_from(PODS),
    st.sampled_from(NODES),
    namespace=st.sampled_from(NAMESPACES),
    app=st.sampled_from(APPS),
    cpu=st.sampled_from(["100m", "1", "250m"]),
    port=st.sampled_from([0, 0, 8080]),
    toward=st.sampled_from(["", *APPS]),
    away=st.sampled_from(["", *APPS]),
    deleting=st.booleans(),
)
nodes = st.builds(
    node,
    st.sampled_from(NODES),
    zone=st.sampled_from(["z1", "z2"]),
    cpu=st.sampled_from(["4", "8"]),
    image=st.sampled_from(["", "a", "b:1"]),
)
selectors = st.sampled_from(
    [
        Selector.from_map({"app": "web"}),
        Selector.from_text("app in (web,db)"),
        Selector.from_text("app notin (db)"),
        Selector.from_text("x"),
        Selector.from_text(""),
    ]
)
namespaces = st.sampled_from([None, frozenset({"red"}), frozenset({"red", "blue"})])


class CacheMachine(RuleBasedStateMachine):
    """Random changes of the cache; after every step it equals a recount."""

    def __init__(self) -> None:
        super().__init__()
        self.cache = new_cache()
        self.nodes: set[str] = set()

    @rule(node=nodes)
    def add_or_update_node(self, node: Node) -> None:
        self.cache.add_node(node)
        self.nodes.add(node.metadata.name)

    @precondition(lambda self: self.nodes)
    @rule(data=st.data())
    def remove_node(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(self.nodes)))
        self.cache.remove_node(name)
        self.nodes.remove(name)

    @rule(pod=pods)
    def add_or_update_pod(self, pod: Pod) -> None:
        self.cache.add_pod(pod)
        assert not self.cache.is_assumed(pod.metadata.uid)

    @rule(uid=st.sampled_from(PODS), app=st.sampled_from(APPS), started=st.booleans())
    def change_label_and_status(self, uid: str, app: str, started: bool) -> None:
        known = self.cache.pod(uid)
        if known is not None:
            meta = replace(known.pod.metadata, labels={"app": app}, resource_version="2")
            status = replace(known.pod.status, phase="Running" if started else "Pending")
            changed = replace(known.pod, metadata=meta, status=status)
            self.cache.add_pod(changed)
            found = self.cache.pod(uid)
            assert found is not None and found.pod is changed

    @rule(uid=st.sampled_from(PODS))
    def remove_pod(self, uid: str) -> None:
        self.cache.remove_pod(uid)
        assert self.cache.pod(uid) is None

    @rule(pod=pods)
    def assume(self, pod: Pod) -> None:
        if self.cache.pod(pod.metadata.uid) is not None:
            with pytest.raises(CacheError, match="can't be assumed"):
                self.cache.assume_pod(pod, pod.spec.node_name)
        else:
            self.cache.assume_pod(pod, pod.spec.node_name)
            assert self.cache.is_assumed(pod.metadata.uid)

    @rule(uid=st.sampled_from(PODS))
    def forget(self, uid: str) -> None:
        if self.cache.is_assumed(uid):
            self.cache.forget_pod(uid)
            assert self.cache.pod(uid) is None
        else:
            with pytest.raises(CacheError, match="can't be forgotten"):
                self.cache.forget_pod(uid)

    @rule(namespaces=namespaces, selector=selectors, terminating=st.booleans())
    def ask(self, namespaces: frozenset[str] | None, selector: Selector, terminating: bool) -> None:
        self.cache.nodes.pods_matching(namespaces, selector, terminating=terminating)

    @invariant()
    def equals_a_recount(self) -> None:
        self.cache.validate()


CacheMachine.TestCase.settings = settings(max_examples=60, stateful_step_count=40, deadline=None)
TestCacheMachine = CacheMachine.TestCase


def filled() -> Cache:
    cache = new_cache()
    cache.add_node(node("n0", zone="z1"))
    cache.add_node(node("n1", zone="z2", image="app:v1"))
    cache.add_pod(pod("p0", "n0"))
    cache.add_pod(pod("p1", "n1", away="web", port=80))
    return cache


def test_a_pod_before_its_node_counts_once_the_node_comes() -> None:
    cache = new_cache()
    cache.add_pod(pod("p0", "n0", cpu="1"))
    assert len(cache.nodes) == 0
    cache.add_node(node("n0"))
    assert cache.nodes.requested("cpu").tolist() == [1000]


def test_an_assumed_pod_counts_until_it_is_forgotten() -> None:
    cache = filled()
    cache.assume_pod(pod("p2", cpu="1"), "n0")
    assert cache.nodes.free("cpu").tolist() == [4000 - 1100, 3900]
    cache.forget_pod("p2")
    assert cache.nodes.free("cpu").tolist() == [3900, 3900]


def test_the_informers_word_confirms_an_assumed_pod_even_on_another_node() -> None:
    cache = filled()
    cache.assume_pod(pod("p2", cpu="1"), "n0")
    cache.add_pod(pod("p2", "n1", cpu="1"))
    assert not cache.is_assumed("p2")
    assert cache.nodes.pod_count.tolist() == [1, 2]


def test_a_bound_pod_changes_nothing_about_the_node_it_was_assumed_on() -> None:
    cache = filled()
    cache.nodes.pods_matching(None, Selector.from_map({"zone": "z1"}))
    cache.assume_pod(pod("p2", cpu="1"), "n0")
    assumed, generation = cache.pod("p2"), cache.nodes.generation
    bound = pod("p2", "n0", cpu="1")
    cache.add_pod(bound)
    assert not cache.is_assumed("p2")
    assert assumed is not None and assumed.pod is bound
    assert cache.nodes.generation == generation
    # When the API server binds a pod, it adds the zone of the node to its labels.
    labels = {**bound.metadata.labels, "zone": "z1"}
    cache.add_pod(replace(bound, metadata=replace(bound.metadata, labels=labels)))
    assert cache.nodes.changed_since(generation) == [0]
    assert cache.nodes.changed_since(generation, ignore_pod_labels=True) == []
    cache.assume_pod(pod("p3", cpu="1"), "n1")
    assert cache.nodes.changed_since(generation, ignore_pod_labels=True) == [1]
    cache.forget_pod("p3")
    zone = Selector.from_map({"zone": "z1"})
    assert cache.nodes.pods_matching(None, zone).tolist() == [1, 0]
    cache.validate()


def test_a_resize_that_can_never_be_done_gives_its_room_back() -> None:
    cache = filled()
    status = {
        "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Deferred"}],
        "containerStatuses": [
            {
                "name": "c",
                "allocatedResources": {"cpu": "1"},
                "resources": {"requests": {"cpu": "1"}},
            }
        ],
    }
    resized = {"apiVersion": "v1", "kind": "Pod", **to_builtins(pod("p2", "n0", cpu="3"))}
    cache.add_pod(decode({**resized, "status": status}))
    assert cache.nodes.requested("cpu").tolist() == [3100, 100]
    status["conditions"][0]["reason"] = "Infeasible"
    cache.update_pod(decode({**resized, "status": status}))
    assert cache.nodes.requested("cpu").tolist() == [1100, 100]
    cache.validate()


def test_label_questions_are_answered_by_distinct_value() -> None:
    nodes = filled().nodes
    assert nodes.label_is("zone", "z1").tolist() == [True, False]
    assert nodes.matches(Requirement("zone", "NotIn", ["z1"])).tolist() == [False, True]
    assert nodes.matches(Requirement("rack", "NotIn", ["r"])).tolist() == [True, True]
    assert nodes.has_label("rack").tolist() == [False, False]


def test_answers_are_read_only() -> None:
    nodes = filled().nodes
    for answer in (
        nodes.free("cpu"),
        nodes.label_is("zone", "z1"),
        nodes.pod_count,
        nodes.pods_matching(None, Selector.from_map({"app": "web"})),
    ):
        with pytest.raises(ValueError, match="read-only"):
            answer[0] = 1


def test_a_removed_node_takes_its_row_and_the_last_row_moves_in() -> None:
    cache = filled()
    cache.add_node(node("n2", zone="z2"))
    cache.nodes.pods_matching(None, Selector.from_map({"app": "web"}))
    cache.remove_node("n0")
    assert list(cache.nodes.names) == ["n2", "n1"]
    assert cache.nodes.label_is("zone", "z2").all()
    cache.validate()


def test_terms_are_found_for_the_pods_they_speak_of() -> None:
    nodes = filled().nodes
    kind = TermKind.REQUIRED_ANTI_AFFINITY
    (found,) = nodes.terms_matching(kind, pod("new", app="web"), {})
    assert found.counts.tolist() == [0, 1]
    assert list(nodes.terms_matching(kind, pod("new", app="db"), {})) == []
    assert list(nodes.terms_matching(kind, pod("new", namespace="blue"), {})) == []


def test_an_image_has_the_size_its_first_node_reported() -> None:
    cache = filled()
    state = cache.nodes.image("app:v1")
    assert state is not None and (state.size, state.num_nodes) == (7, 1)
    assert cache.nodes.has_image("app:v1").tolist() == [False, True]
    assert cache.nodes.image("app") is None


def test_the_node_order_takes_zones_in_turn() -> None:
    cache = new_cache()
    for i, zone in enumerate(["a", "a", "a", "b", "c", "c"]):
        cache.add_node(
            decode(
                {
                    "apiVersion": "v1",
                    "kind": "Node",
                    "metadata": {
                        "name": f"n{i}",
                        "labels": {"topology.kubernetes.io/zone": zone},
                    },
                }
            )
        )
    assert [cache.nodes.names[row] for row in cache.node_order()] == [
        "n0",
        "n3",
        "n4",
        "n1",
        "n5",
        "n2",
    ]


def test_an_unknown_node_cannot_be_removed() -> None:
    with pytest.raises(CacheError, match="node n9 is not in the cache"):
        new_cache().remove_node("n9")


def zoned(name: str, zone: str) -> Node:
    labels = {"topology.kubernetes.io/zone": zone}
    return decode(
        {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": labels}}
    )


def test_the_node_order_follows_every_change_of_nodes() -> None:
    cache = new_cache()

    def order() -> list[str]:
        return [cache.nodes.names[row] for row in cache.node_order()]

    for name, zone in [("n0", "a"), ("n1", "a"), ("n2", "b")]:
        cache.add_node(zoned(name, zone))
    assert order() == ["n0", "n2", "n1"]
    cache.update_node(zoned("n0", "c"))
    assert order() == ["n1", "n2", "n0"]
    cache.remove_node("n1")
    assert order() == ["n2", "n0"]
    cache.add_node(zoned("n3", "d"))
    assert order() == ["n2", "n0", "n3"]


@pytest.mark.parametrize("change", [Cache.add_node, Cache.update_node])
def test_adding_and_updating_do_for_each_other(change: Callable[[Cache, Node], None]) -> None:
    cache = new_cache()
    for cpu in ("4", "8"):
        change(cache, node("n0", cpu=cpu))
        assert list(cache.nodes.names) == ["n0"]
        assert cache.nodes.allocatable("cpu").tolist() == [int(cpu) * 1000]
    cache.validate()


def test_assuming_returns_the_pod_with_the_name_of_its_node() -> None:
    cache = filled()
    assumed = cache.assume_pod(pod("p2"), "n1")
    assert assumed == pod("p2", "n1")
    assert set(cache.assumed) == {"p2"}
    assert {info.uid for info in cache.pods} == {"p0", "p1", "p2"}


def test_a_pod_without_a_node_cannot_be_added() -> None:
    with pytest.raises(CacheError, match="pod red/p9 has no node"):
        new_cache().add_pod(pod("p9"))


def test_pods_of_a_removed_node_count_again_when_it_comes_back() -> None:
    cache = filled()
    cache.remove_node("n1")
    assert cache.pod("p1") is not None
    cache.remove_pod("p0")
    cache.add_pod(pod("p2", "n1"))
    cache.add_node(node("n1"))
    assert cache.nodes.pod_count.tolist() == [0, 2]
    cache.validate()


def test_a_cache_without_nodes_has_an_empty_order() -> None:
    assert new_cache().node_order().tolist() == []


def test_a_port_that_two_pods_hold_is_used_until_both_have_gone() -> None:
    cache = new_cache()
    cache.add_node(node("n0"))
    for name in ("p0", "p1"):
        cache.add_pod(pod(name, "n0", port=8080))
    info = cache.nodes.info(0)
    cache.remove_pod("p0")
    assert info.used_ports == {("0.0.0.0", "TCP", 8080)}
    cache.validate()
    cache.remove_pod("p1")
    assert info.used_ports == set()


def test_nothing_is_left_of_pods_that_have_gone() -> None:
    cache = filled()
    cache.nodes.pods_matching(None, Selector.from_map({"app": "db"}))
    known = cache.pod("p0")
    assert known is not None
    labels = {"app": "db", "new": "yes"}
    cache.update_pod(replace(known.pod, metadata=replace(known.pod.metadata, labels=labels)))
    assert cache.nodes.pods_matching(None, Selector.from_map({"app": "db"})).tolist() == [1, 0]
    for uid in ("p0", "p1"):
        cache.remove_pod(uid)
    assert [list(cache.nodes.terms(kind)) for kind in TermKind] == [[]] * len(TermKind)
    cache.validate()


def test_gauges_show_the_sizes() -> None:
    metrics = Metrics()
    cache = Cache(PodInfos(FeatureGates()))
    cache.show_sizes(metrics.cache_size)
    cache.add_node(node("a"))
    cache.assume_pod(pod("p"), "a")
    sizes = {kind: gauge.value for kind, gauge in metrics.cache_size.items()}
    assert sizes == {"assumed_pods": 1, "pods": 1, "nodes": 1}


def test_a_pod_that_is_left_out_for_a_while_is_back_in_its_place() -> None:
    cache = Cache(PodInfos(FeatureGates()))
    cache.add_node(make_node("n", cpu=8))
    pods = [make_pod(f"p{number}", cpu=1, node="n") for number in range(3)]
    for pod in pods:
        cache.add_pod(pod)
    order = list(cache.nodes.info(0).pods)
    with pytest.raises(ValueError, match="meanwhile"), cache.without_pod(pods[1].metadata.uid):
        assert cache.nodes.requested("cpu").tolist() == [2000]
        raise ValueError("meanwhile")
    assert list(cache.nodes.info(0).pods) == order
    assert cache.nodes.requested("cpu").tolist() == [3000]
    cache.validate()


@pytest.mark.parametrize("node", ["", "missing"])
def test_a_pod_that_counts_nowhere_can_be_left_out(node: str) -> None:
    cache = Cache(PodInfos(FeatureGates()))
    cache.add_node(make_node("n", cpu=8))
    if node:
        cache.add_pod(make_pod("p", cpu=1, node=node))
    with cache.without_pod(make_pod("p").metadata.uid):
        assert cache.nodes.requested("cpu").tolist() == [0]
    cache.validate()
