"""Pods by namespace and label."""

from __future__ import annotations

import tracemalloc
from collections.abc import Mapping

import pytest

from mooring.api import decode
from mooring.api.labels import NOTHING, Requirement, Selector
from mooring.cache.pod_index import PodIndex
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfo, PodInfos

INFOS = PodInfos(FeatureGates())


def pod(name: str, namespace: str = "red", **labels: str) -> PodInfo:
    meta = {"name": name, "namespace": namespace, "uid": name, "labels": labels}
    spec = {"nodeName": "n0", "containers": [{"name": "c"}]}
    return INFOS.of(decode({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}))


PODS = [
    pod("a", app="web", tier="front"),
    pod("b", app="web", tier="back"),
    pod("c", app="db", tier="back"),
    pod("d", "blue", app="web", tier="front"),
    pod("e", "blue"),
]
RED, BOTH = frozenset({"red"}), frozenset({"red", "blue"})


def index() -> PodIndex:
    made = PodIndex()
    for each in PODS:
        made.add(each)
    return made


def found(in_index: PodIndex, namespaces: frozenset[str] | None, selector: str) -> list[str]:
    return sorted(info.uid for info in in_index.matching(namespaces, Selector.from_text(selector)))


@pytest.mark.parametrize(
    ("namespaces", "selector", "expected"),
    [
        (None, "", "abcde"),
        (RED, "", "abc"),
        (RED, "app=web", "ab"),
        (BOTH, "app=web", "abd"),
        (None, "app=web,tier=back", "b"),
        (None, "tier=back,app=web", "b"),
        (None, "app!=db,tier=front", "ad"),
        (None, "app in (web,db)", "abcd"),
        (None, "!app", "e"),
        (None, "app=cache", ""),
        (frozenset({"green"}), "", ""),
        (frozenset({"green"}), "app=web", ""),
    ],
)
def test_matching(namespaces: frozenset[str] | None, selector: str, expected: str) -> None:
    assert found(index(), namespaces, selector) == list(expected)


def test_nothing_matches_nothing() -> None:
    assert list(index().matching(None, NOTHING)) == []


def test_a_removed_pod_is_found_no_more() -> None:
    made = index()
    for each in PODS:
        made.remove(each)
        assert each.uid not in found(made, None, "")
        assert each.uid not in found(made, None, "app in (web,db)")
    assert found(made, None, "") == []


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Return the labels of the pods that a selector was asked about."""
    seen: list[object] = []
    matches = Selector.matches

    def recording(self: Selector, labels: Mapping[str, str]) -> bool:
        seen.append(labels)
        return matches(self, labels)

    monkeypatch.setattr(Selector, "matches", recording)
    return seen


@pytest.mark.parametrize(
    "selector",
    [
        pytest.param("app=web,number in (3,4)", id="after a label that all have"),
        pytest.param("number in (3,4),app=web", id="before a label that all have"),
        pytest.param("app!=db,number in (3,4)", id="after what demands no value"),
    ],
)
def test_only_pods_with_the_rarest_label_are_looked_at(selector: str, asked: list[object]) -> None:
    made = PodIndex()
    for number in range(50):
        made.add(pod(f"p{number}", app="web", number=str(number)))
    assert found(made, None, selector) == ["p3", "p4"]
    assert len(asked) == 2


def test_no_pod_is_looked_at_for_what_matches_nothing(asked: list[object]) -> None:
    assert list(index().matching(None, NOTHING)) == []
    assert asked == []


@pytest.mark.parametrize(
    ("values", "looked_up"),
    [(["web"], 1), (["web", "db", "x"], 3), (["web", "db", "x", "y"], 0)],
    ids=["fewer values than pods", "as many values as pods", "more values than pods"],
)
def test_no_more_values_are_looked_up_than_there_are_pods(
    values: list[str], looked_up: int
) -> None:
    class Counted(str):
        """A value that counts how often it is looked up."""

        count = 0

        def __hash__(self) -> int:
            Counted.count += 1
            return super().__hash__()

        __eq__ = str.__eq__

    made = index()
    selector = Selector([Requirement("app", "In", [Counted(value) for value in values])])
    Counted.count = 0
    assert {info.uid for info in made.matching(RED, selector)} >= {"a", "b"}
    assert Counted.count == looked_up


def test_nothing_is_left_of_pods_that_were_removed() -> None:
    pods = [pod(f"p{number}", app=f"app-{number}", other="x") for number in range(1100)]
    made = PodIndex()

    def come_and_go(infos: list[PodInfo]) -> None:
        for info in infos:
            made.add(info)
            made.remove(info)

    come_and_go(pods[:100])
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        come_and_go(pods[100:])
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    # An entry takes more than 200 bytes.
    assert after - before < 50_000
