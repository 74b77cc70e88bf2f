"""Nominations, kept as kube-scheduler's nominator keeps them."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mooring.api import Pod
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import PodInfos
from mooring.informers.store import Store
from mooring.queue.nominator import PodNominator
from tests.cycle.scheduling import make_pod


@pytest.fixture
def pods() -> Store[Pod]:
    return Store()


@pytest.fixture
def nominator(pods: Store[Pod]) -> PodNominator:
    return PodNominator(PodInfos(FeatureGates()), pods)


def on(nominator: PodNominator, node: str) -> list[str]:
    return [info.pod.name for info in nominator.nominated_on(node)]


def known(pods: Store[Pod], pod: Pod) -> Pod:
    pods.add(pod)
    return pod


def test_a_pod_is_nominated_to_the_node_that_is_said_or_that_its_status_names(
    nominator: PodNominator, pods: Store[Pod]
) -> None:
    nominator.add(known(pods, make_pod("a", nominated="n1")))
    nominator.add(known(pods, make_pod("b", nominated="n1")), "n2")
    nominator.add(known(pods, make_pod("c")))
    assert on(nominator, "n1") == ["a"]
    assert on(nominator, "n2") == ["b"]
    assert sorted(nominator.nodes()) == ["n1", "n2"]
    assert nominator.node_of("c") == ""


def test_a_pod_has_one_nomination(nominator: PodNominator, pods: Store[Pod]) -> None:
    pod = known(pods, make_pod("a"))
    nominator.add(pod, "n1")
    nominator.add(pod, "n2")
    assert list(nominator.nodes()) == ["n2"]
    nominator.delete("a")
    nominator.delete("a")
    assert list(nominator.nodes()) == []


def test_a_pod_that_is_gone_or_has_a_node_is_not_nominated(
    nominator: PodNominator, pods: Store[Pod]
) -> None:
    nominator.add(make_pod("gone"), "n1")
    pods.add(make_pod("placed", node="n2"))
    nominator.add(make_pod("placed"), "n1")
    assert list(nominator.nodes()) == []


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param("", "", "memory", id="a nomination that only memory knows is kept"),
        pytest.param("", "n1", "n1", id="one that is added counts"),
        pytest.param("n1", "n2", "n2", id="one that is changed counts"),
        pytest.param("n1", "", "", id="one that is removed is dropped"),
    ],
)
def test_an_update(
    nominator: PodNominator, pods: Store[Pod], old: str, new: str, expected: str
) -> None:
    before = known(pods, make_pod("a", nominated=old))
    nominator.add(before, "memory")
    after = replace(before, status=replace(before.status, nominated_node_name=new))
    nominator.update(before, after)
    assert nominator.node_of("a") == expected
    assert [info.pod for node in nominator.nodes() for info in nominator.nominated_on(node)] == (
        [after] if expected else []
    )


def test_it_tells_on_which_nodes_nominations_have_changed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("mooring.queue.nominator.MAX_CHANGES", 2)
    nominator = PodNominator(PodInfos(FeatureGates()))
    nominator.add(make_pod("a"), "n1")
    seen = nominator.version
    assert nominator.changed_since(seen) == []
    nominator.add(make_pod("a"), "n2")
    nominator.delete("b")
    assert nominator.changed_since(seen) == ["n2", "n1"]
    for name in ("c", "d"):
        nominator.add(make_pod(name), "n3")
    assert nominator.changed_since(seen) is None
    assert nominator.changed_since(nominator.version - 1) == ["n3"]


def test_the_latest_4096_changes_are_remembered() -> None:
    nominator = PodNominator(PodInfos(FeatureGates()))
    pod = make_pod("a")
    nominator.add(pod, "n0")
    for number in range(1, 2100):
        # The nomination to the old node ends, that to the new node begins.
        nominator.add(pod, f"n{number}")
    latest = nominator.changed_since(nominator.version - 4096)
    assert latest is not None
    assert (len(latest), latest[0], latest[-1]) == (4096, "n2099", "n51")
    assert nominator.changed_since(nominator.version - 4097) is None


def test_every_change_is_known_while_they_are_few() -> None:
    nominator = PodNominator(PodInfos(FeatureGates()))
    start = nominator.version
    for name in ("n1", "n2"):
        nominator.add(make_pod(name), name)
    assert nominator.changed_since(start) == ["n2", "n1"]
    assert nominator.changed_since(start - 1) is None


def test_a_pod_that_takes_the_place_of_another_takes_its_nomination_too() -> None:
    nominator = PodNominator(PodInfos(FeatureGates()))
    old = make_pod("a")
    new = replace(old, metadata=replace(old.metadata, uid="b"))
    nominator.add(old, "n1")
    nominator.update(old, new)
    assert (nominator.node_of("a"), nominator.node_of("b")) == ("", "n1")
    assert [info.uid for info in nominator.nominated_on("n1")] == ["b"]
