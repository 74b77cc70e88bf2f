"""Tests of the incoming pod's own terms."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import NOTHING, Namespace, Selector
from mooring.informers.store import Store
from mooring.plugins.inter_pod_affinity.terms import Namespaces, OwnTerm, intersection, matches_all
from tests.plugins.clusters import Cluster, make, make_pod


def _namespaces() -> tuple[Store[Any], Namespaces]:
    store: Store[Any] = Store(
        make(Namespace, name, metadata={"labels": {"team": team}})
        for name, team in (("red", "one"), ("blue", "two"))
    )
    return store, Namespaces(store)


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        pytest.param({}, {"home"}, id="no namespaces mean the pod's own"),
        pytest.param({"namespaces": ["red"]}, {"red"}, id="namespaces by name"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "one"}}}, {"red"}, id="by label"
        ),
        pytest.param(
            {"namespaces": ["home"], "namespaceSelector": {"matchLabels": {"team": "two"}}},
            {"home", "blue"},
            id="by name and by label",
        ),
        pytest.param({"namespaceSelector": {}}, None, id="an empty selector reaches all"),
        pytest.param(
            {
                "namespaceSelector": {
                    "matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["one"]}]
                }
            },
            {"blue"},
            id="a selector that accepts no labels",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "none"}}}, set(), id="none match"
        ),
    ],
)
def test_namespaces_reached(fields: dict[str, Any], expected: set[str] | None) -> None:
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [{"topologyKey": "k", **fields}]}
    pod = make_pod("x", namespace="home", affinity={"podAffinity": required})
    (term,) = _namespaces()[1].own_terms(Cluster().pod_info(pod).required_affinity)
    assert term.namespaces == (None if expected is None else frozenset(expected))


def test_a_selector_that_accepts_no_labels_reached_all_in_1_36() -> None:
    selector = {"matchExpressions": [{"key": "team", "operator": "DoesNotExist"}]}
    terms = [{"topologyKey": "k", "namespaceSelector": selector}]
    required = {"requiredDuringSchedulingIgnoredDuringExecution": terms}
    info = Cluster().pod_info(make_pod("x", affinity={"podAffinity": required}))
    for resolve_all, reached in ((True, frozenset()), (False, None)):
        namespaces = Namespaces(_namespaces()[0], resolve_all=resolve_all)
        (term,) = namespaces.own_terms(info.required_affinity)
        assert term.namespaces == reached


def test_a_namespace_that_comes_is_reached() -> None:
    store, namespaces = _namespaces()
    selector = {"matchLabels": {"team": "one"}}
    term = {"topologyKey": "k", "namespaceSelector": selector}
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    info = Cluster().pod_info(make_pod("x", affinity={"podAffinity": required}))
    assert namespaces.own_terms(info.required_affinity)[0].namespaces == {"red"}
    store.add(make(Namespace, "pink", metadata={"labels": {"team": "one"}}))
    assert namespaces.own_terms(info.required_affinity)[0].namespaces == {"red", "pink"}


def test_a_namespace_that_is_not_known_has_no_labels() -> None:
    namespaces = _namespaces()[1]
    assert (namespaces.labels("red"), namespaces.labels("grey")) == ({"team": "one"}, {})


def _own(selector: str, *namespaces: str) -> OwnTerm:
    return OwnTerm("k", Selector.from_text(selector), frozenset(namespaces) or None)


def test_the_intersection_is_what_every_term_speaks_of() -> None:
    terms = [_own("a=1", "red", "blue"), _own("b=2"), _own("a=1", "blue", "green")]
    assert intersection(terms) == (frozenset({"blue"}), Selector.from_text("a=1,b=2"))
    assert intersection([_own("a=1"), _own("b=2")]) == (None, Selector.from_text("a=1,b=2"))


@pytest.mark.parametrize("order", [1, -1], ids=["at the end", "at the start"])
def test_the_intersection_with_nothing_is_nothing(order: int) -> None:
    terms = [_own("a=1"), OwnTerm("k", NOTHING, None)][::order]
    assert intersection(terms)[1] == NOTHING


def test_all_of_no_terms_speak_of_no_pod() -> None:
    pod = make_pod("x", {"a": "1"})
    assert not matches_all([], pod)
    assert matches_all([_own("a=1"), _own("a", "default")], pod)
    assert not matches_all([_own("a=1"), _own("a", "elsewhere")], pod)
