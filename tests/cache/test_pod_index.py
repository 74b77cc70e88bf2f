"""Pods by namespace and label."""

from __future__ import annotations

import pytest

from mooring.api import decode
from mooring.api.labels import NOTHING, Selector
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


def test_only_pods_with_the_rarest_label_are_looked_at(monkeypatch: pytest.MonkeyPatch) -> None:
    made = PodIndex()
    for number in range(50):
        made.add(pod(f"p{number}", app="web", number=str(number)))
    asked = []
    matches = Selector.matches
    monkeypatch.setattr(
        Selector, "matches", lambda self, labels: asked.append(1) or matches(self, labels)
    )
    assert found(made, None, "app=web,number in (3,4)") == ["p3", "p4"]
    assert len(asked) == 2
