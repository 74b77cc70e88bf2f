"""Counters of pods by selector and by affinity term."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from mooring.api import Node, Pod, decode
from mooring.api.labels import Selector
from mooring.cache import Cache, counters
from mooring.framework.features import FeatureGates
from mooring.framework.nodes import TermKind
from mooring.framework.pod_info import PodInfos
from mooring.testing import make_node, make_pod

WEB = Selector.from_map({"app": "web"})
ANTI = TermKind.REQUIRED_ANTI_AFFINITY


def make_cache(*objects: Node | Pod) -> Cache:
    cache = Cache(PodInfos(FeatureGates()))
    for each in objects:
        (cache.add_node if isinstance(each, Node) else cache.add_pod)(each)
    return cache


def away_from(app: str, **term: Any) -> dict[str, Any]:
    """Return an anti-affinity to the pods of an app."""
    found = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": app}}, **term}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [found]}}


def terminating(pod: Pod) -> Pod:
    meta = {"name": pod.name, "namespace": "default", "uid": pod.uid}
    meta |= {"labels": pod.metadata.labels, "deletionTimestamp": "2026-01-01T00:00:00Z"}
    spec = {"nodeName": pod.spec.node_name, "containers": [{"name": "c"}]}
    return decode({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec})


def web(name: str, node: str, **fields: Any) -> Pod:
    return make_pod(name, node=node, labels={"app": "web"}, **fields)


def counted(cache: Cache, **options: Any) -> list[int]:
    return cache.nodes.pods_matching(None, WEB, **options).tolist()


def test_counts_grow_with_the_nodes() -> None:
    """Many more nodes are added than the arrays had room for at first."""
    cache = make_cache(make_node("n0"), web("a", "n0", affinity=away_from("db")))
    cache.add_pod(terminating(web("b", "n0")))
    assert counted(cache, terminating=True) == [2]
    for number in range(1, 200):
        cache.add_node(make_node(f"n{number}"))
    cache.add_pod(web("c", "n199", affinity=away_from("db")))
    cache.add_pod(terminating(web("d", "n199")))
    assert counted(cache, terminating=True) == [2, *[0] * 198, 2]
    assert counted(cache, terminating=False) == [1, *[0] * 198, 1]
    (term,) = cache.nodes.terms(ANTI)
    assert term.counts.tolist() == [1, *[0] * 198, 1]
    cache.validate()


def test_terminating_pods_count_only_where_they_are_asked_for() -> None:
    ending = terminating(web("b", "n1"))
    cache = make_cache(make_node("n0"), make_node("n1"), web("a", "n0"), ending)
    assert counted(cache, terminating=True) == [1, 1]
    assert counted(cache, terminating=False) == [1, 0]
    cache.remove_pod(ending.uid)
    assert counted(cache, terminating=True) == counted(cache, terminating=False) == [1, 0]


def test_the_counters_that_nothing_asked_for_longest_are_dropped(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counters, "MAX_COUNTERS", 12)
    cache = make_cache(make_node("n0"), *(make_pod(f"p{i}", node="n0") for i in range(3)))
    selectors = [Selector.from_map({"number": str(number)}) for number in range(14)]

    def kept() -> list[int]:
        known = {counter.selector for counter in cache.counters.counters()}
        return [number for number, selector in enumerate(selectors) if selector in known]

    for selector in selectors[:12]:
        cache.nodes.pods_matching(None, selector)
    cache.nodes.pods_matching(None, selectors[0])
    assert kept() == list(range(12))
    cache.nodes.pods_matching(None, selectors[12])
    assert kept() == [0, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    # A dropped counter is no longer updated; the next query creates it again.
    cache.add_pod(make_pod("late", node="n0", labels={"number": "1"}))
    assert cache.nodes.pods_matching(None, selectors[1]).tolist() == [1]
    assert kept() == [0, 1, 4, 5, 6, 7, 8, 9, 10, 11, 12]
    cache.validate()


@pytest.mark.parametrize("kind", TermKind)
def test_terms_are_added_up_by_kind_and_preferred_ones_by_weight(kind: TermKind) -> None:
    term = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "db"}}}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    preferred = {
        "preferredDuringSchedulingIgnoredDuringExecution": [{"weight": 7, "podAffinityTerm": term}]
    }
    weighted = "PREFERRED" in kind.name
    section = "podAntiAffinity" if "ANTI" in kind.name else "podAffinity"
    affinity = {section: preferred if weighted else required}
    carriers = [web(name, "n1", affinity=affinity) for name in ("a", "b")]
    nodes = make_cache(make_node("n0"), make_node("n1"), *carriers).nodes
    incoming = make_pod("new", labels={"app": "db"})
    for other in TermKind:
        sums = nodes.term_sums(other, incoming, {})
        assert list(sums) == (["zone"] if other is kind else [])
    found = nodes.term_sums(kind, incoming, {})["zone"]
    assert found.counts.tolist() == [0, 2]
    assert found.worth.tolist() == [0, 14 if weighted else 2]


def test_a_term_lives_as_long_as_a_pod_carries_it() -> None:
    pods = [web(name, "n0", affinity=away_from("db")) for name in ("a", "b")]
    cache = make_cache(make_node("n0"), *pods)
    incoming = make_pod("new", labels={"app": "db"})
    (term,) = cache.nodes.terms_matching(ANTI, incoming, {})
    assert term.counts.tolist() == [2]
    cache.remove_pod(pods[0].uid)
    (term,) = cache.nodes.terms(ANTI)
    assert term.counts.tolist() == [1]
    cache.remove_pod(pods[1].uid)
    assert list(cache.nodes.terms(ANTI)) == []
    assert list(cache.nodes.terms_matching(ANTI, incoming, {})) == []
    # The same term is added again.
    cache.add_pod(pods[0])
    (term,) = cache.nodes.terms_matching(ANTI, incoming, {})
    assert term.counts.tolist() == [1]


@pytest.mark.parametrize(
    ("term", "namespace", "labels", "found"),
    [
        pytest.param({}, "default", {}, True, id="its own namespace"),
        pytest.param({}, "blue", {}, False, id="another namespace"),
        pytest.param({"namespaces": ["blue"]}, "blue", {}, True, id="a namespace by name"),
        pytest.param({"namespaces": ["blue"]}, "default", {}, False, id="not the one named"),
        pytest.param({"namespaceSelector": {}}, "blue", {}, True, id="all namespaces"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "x"}}},
            "blue",
            {"team": "x"},
            True,
            id="a namespace by its labels",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "x"}}},
            "blue",
            {"team": "y"},
            False,
            id="not with other labels",
        ),
    ],
)
def test_a_term_speaks_of_namespaces(
    term: dict[str, Any], namespace: str, labels: dict[str, str], found: bool
) -> None:
    cache = make_cache(make_node("n0"), web("a", "n0", affinity=away_from("db", **term)))
    incoming = make_pod("new", namespace=namespace, labels={"app": "db"})
    assert len(list(cache.nodes.terms_matching(ANTI, incoming, labels))) == found


def test_answers_are_read_only() -> None:
    ending = terminating(web("b", "n0"))
    cache = make_cache(make_node("n0"), web("a", "n0", affinity=away_from("web")), ending)
    nodes = cache.nodes
    for counts in (
        nodes.pods_matching(None, WEB, terminating=True),
        nodes.pods_matching(None, WEB, terminating=False),
        next(iter(nodes.terms(ANTI))).counts,
        next(iter(nodes.terms_matching(ANTI, ending, {}))).counts,
    ):
        with pytest.raises(ValueError, match="read-only"):
            counts[0] = 1


def test_without_terminating_pods_no_counts_are_copied() -> None:
    ending = terminating(web("b", "n0"))
    cache = make_cache(make_node("n0"), web("a", "n0"), ending)
    assert counted(cache, terminating=False) == [1]
    (counter,) = cache.counters.counters()
    cache.remove_pod(ending.uid)
    left = cache.nodes.pods_matching(None, WEB, terminating=False)
    assert left.tolist() == [1] and np.shares_memory(left, counter.counts)


@pytest.mark.parametrize(("nodes", "room"), [(1, 64), (64, 64), (65, 128), (129, 256), (300, 512)])
def test_the_room_for_counts_is_doubled_when_it_is_full(nodes: int, room: int) -> None:
    cache = make_cache(*(make_node(f"n{number}") for number in range(nodes)))
    assert counted(cache) == [0] * nodes
    (counter,) = cache.counters.counters()
    assert len(counter.counts) == room


def test_counts_have_one_row_for_each_node() -> None:
    cache = make_cache()
    assert counted(cache) == []
    for name in ("n0", "n1"):
        cache.add_node(make_node(name))
    cache.add_pod(web("a", "n1", affinity=away_from("db")))
    assert counted(cache) == [0, 1]
    cache.remove_node("n0")
    assert counted(cache) == [1]
    (term,) = cache.nodes.terms(ANTI)
    assert term.counts.tolist() == [1]


def test_a_dropped_counter_is_told_of_no_pods(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counters, "MAX_COUNTERS", 4)
    cache = make_cache(make_node("n0"))
    for number in range(20):
        cache.nodes.pods_matching(None, Selector.from_map({"number": str(number)}))
        assert len(cache.counters.counters()) <= 4
    asked: list[Selector] = []
    matches = Selector.matches

    def recording(self: Selector, labels: Any) -> bool:
        asked.append(self)
        return matches(self, labels)

    monkeypatch.setattr(Selector, "matches", recording)
    for number in range(20):
        cache.add_pod(make_pod(f"p{number}", node="n0", labels={"number": str(number)}))
    kept = {counter.selector for counter in cache.counters.counters()}
    assert set(asked) == kept


def test_counts_take_a_bounded_number_of_bytes(monkeypatch: pytest.MonkeyPatch) -> None:
    """The bound holds while counters are added, nodes are added and pods begin to terminate."""
    limit = 16 * 64 * 4
    monkeypatch.setattr(counters, "MAX_BYTES", limit)
    cache = make_cache(*(make_node(f"n{number}") for number in range(64)))
    selectors = [Selector.from_text(f"app notin (x{number})") for number in range(40)]

    def size() -> int:
        kept = cache.counters.counters()
        found = sum(each.counts.nbytes for each in kept)
        return found + sum(each.terminating.nbytes for each in kept if each.terminating is not None)

    for count, selector in enumerate(selectors, start=1):
        cache.nodes.pods_matching(None, selector)
        assert size() <= limit
        if count <= 16:
            assert size() == count * 64 * 4
    assert size() > limit // 2
    cache.add_pod(terminating(web("ending", "n0")))
    assert limit // 4 < size() <= limit
    cache.add_node(make_node("n64"))
    assert limit // 4 < size() <= limit
    assert cache.nodes.pods_matching(None, selectors[0]).tolist() == [1, *[0] * 64]
    cache.validate()


def test_the_counter_asked_for_last_is_kept_however_large_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(counters, "MAX_BYTES", 1)
    cache = make_cache(make_node("n0"), web("a", "n0"))
    assert counted(cache) == [1]
    cache.add_pod(web("b", "n0"))
    assert counted(cache) == [2]
    assert len(cache.counters.counters()) == 1
