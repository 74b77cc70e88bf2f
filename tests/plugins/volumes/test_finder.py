from __future__ import annotations

import zlib
from typing import Any
from unittest.mock import patch

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import CSINode, PersistentVolume
from mooring.plugins.volumes import finder as finder_module
from mooring.plugins.volumes import reachability
from mooring.plugins.volumes.assumed import AssumedObjects
from mooring.plugins.volumes.csi_nodes import CSINodes
from mooring.plugins.volumes.finder import Found, VolumeFinder, volume_limit
from mooring.plugins.volumes.pod_volume_claims import PodVolumeClaims, PodVolumes
from mooring.plugins.volumes.reachability import ManyNodes, OneNode, Reach
from mooring.plugins.volumes.volume_binding import (
    BIND_CONFLICT,
    NODE_CONFLICT,
    NOT_ENOUGH_SPACE,
    VOLUME_NOT_EXIST,
)
from tests.plugins.clusters import Cluster, make_node
from tests.plugins.volumes import naive
from tests.plugins.volumes.storage import (
    SELECTED_NODE,
    capacity,
    claim,
    csi_driver,
    csi_node,
    in_label,
    storage_class,
    volume,
)

SIZES = ("1Gi", "2Gi", "3Gi")
ZONES = ("x", "y", "z")
CLASSES = ("free", "free", "free", "local", "dyn", "zoned")
NODES = [make_node(f"n{n}", {"zone": ZONES[n % 3]} if n % 4 else {}) for n in range(8)]
ZONED = [
    {"matchLabelExpressions": [{"key": "zone", "values": ["x", "y"]}]},
    {"matchLabelExpressions": []},
]
FIXED: list[Any] = [
    storage_class("local"),
    storage_class("free", "free.example.com"),
    storage_class("dyn", "csi.example.com"),
    storage_class("zoned", "other.example.com", allowedTopologies=ZONED),
    csi_driver("csi.example.com", storageCapacity=True),
]

AFFINITIES = st.one_of(
    st.none(),
    st.sampled_from(ZONES).map(lambda zone: in_label("zone", zone)),
    st.integers(0, 8).map(lambda n: in_label("kubernetes.io/hostname", f"n{n}")),
    st.just({"required": {"nodeSelectorTerms": [{}]}}),
)


@st.composite
def volumes(draw: st.DrawFn) -> list[Any]:
    """Draw volumes; some are pre-bound, some not available."""
    return [
        volume(
            f"v{n}",
            draw(st.sampled_from(SIZES)),
            draw(st.sampled_from(CLASSES)),
            affinity=draw(AFFINITIES),
            phase=draw(st.sampled_from(("Available",) * 5 + ("Released",))),
            modes=draw(st.sampled_from((["ReadWriteOnce"],) * 3 + (["ReadOnlyMany"],))),
            **draw(
                st.sampled_from(
                    (
                        *({},) * 6,
                        {"claimRef": {"name": "c0", "namespace": "default"}},
                        {"claimRef": {"name": "else", "namespace": "default"}},
                    )
                )
            ),
        )
        for n in range(draw(st.integers(0, 9)))
    ]


@st.composite
def claims(draw: st.DrawFn) -> tuple[list[Any], list[Any]]:
    """Draw bound claims and those to be bound."""
    bound = [
        claim(f"b{n}", bound_to=draw(st.sampled_from(("v0", "v1", "v9"))))
        for n in range(draw(st.sampled_from((0, 0, 0, 1, 2))))
    ]
    delayed = [
        claim(
            f"c{n}",
            draw(st.sampled_from(SIZES)),
            draw(st.sampled_from(CLASSES)),
            annotations=draw(st.sampled_from(({}, {}, {}, {SELECTED_NODE: "n1"}))),
        )
        for n in range(draw(st.integers(0, 3)))
    ]
    return bound, delayed


CAPACITIES = st.lists(
    st.tuples(
        st.sampled_from((*SIZES, None)),
        st.sampled_from((None, {}, {"zone": "x"}, {"zone": "y"})),
        st.sampled_from((None, "1Gi")),
    ),
    max_size=3,
)


def _finder(cluster: Cluster) -> VolumeFinder:
    layer = AssumedObjects(cluster.lister(PersistentVolume), "persistentvolumes")
    return VolumeFinder(cluster, layer)


def _all(cluster: Cluster) -> ManyNodes:
    return ManyNodes(cluster.snapshot, Reach(), CSINodes(cluster.lister(CSINode)))


def _at(found: Found, position: int) -> tuple[list[str], list[tuple[str, str]], list[str]]:
    reasons = [
        text
        for text, mask in (
            (NODE_CONFLICT, found.node_conflict),
            (BIND_CONFLICT, found.bind_conflict),
            (NOT_ENOUGH_SPACE, found.no_space),
            (VOLUME_NOT_EXIST, found.volume_missing),
        )
        if mask[position]
    ]
    solution = found.at(position)
    if solution is None:
        assert reasons
        return reasons, [], []
    assert not reasons
    pairs = [(one.claim.metadata.name, one.volume.metadata.name) for one in solution.bindings]
    return [], pairs, [one.claim.metadata.name for one in solution.provisions]


def _fingerprint(solution: PodVolumes) -> int:
    """Return a number that differs if solutions differ."""
    text = repr(
        [
            [(one.claim.metadata.name, one.volume.metadata.name) for one in solution.bindings],
            [(one.claim.metadata.name, one.capacity) for one in solution.provisions],
        ]
    )
    return zlib.crc32(text.encode())


@pytest.mark.parametrize("few", [8, 0])
@given(volumes(), claims(), CAPACITIES)
def test_all_nodes_at_once_as_one_by_one(
    few: int,
    drawn: list[Any],
    wanted: tuple[list[Any], list[Any]],
    sizes: list[tuple[str | None, dict[str, str] | None, str | None]],
) -> None:
    storage = [
        capacity(f"s{n}", "dyn", size, labels, maximumVolumeSize=largest)
        for n, (size, labels, largest) in enumerate(sizes)
    ]
    cluster = Cluster(NODES, objects=[*FIXED, *drawn, *storage])
    # Many claims are processed differently from few; with 0, any number counts as many.
    with patch.object(finder_module, "_FEW", few), patch.object(reachability, "_FEW", few):
        _compare(cluster, wanted)


def _compare(cluster: Cluster, wanted: tuple[list[Any], list[Any]]) -> None:
    finder = _finder(cluster)
    pod_claims = PodVolumeClaims(*wanted)
    csi_nodes = CSINodes(cluster.lister(CSINode))
    reach = Reach()
    everything = finder.find(pod_claims, ManyNodes(cluster.snapshot, reach, csi_nodes))
    some = np.array([6, 1, 3], dtype=np.intp)
    part = finder.find(pod_claims, ManyNodes(cluster.snapshot.select(some), reach, csi_nodes))
    assert not everything.errors
    for position, info in enumerate(cluster.snapshot.infos()):
        reasons, pairs, provisions = naive.find(cluster, *wanted, info.node)
        expected = (reasons, [] if reasons else pairs, [] if reasons else provisions)
        assert _at(everything, position) == expected, info.name
        assert _at(finder.find(pod_claims, OneNode(info, csi_nodes)), 0) == expected, info.name
    for position, row in enumerate(some.tolist()):
        assert _at(part, position) == _at(everything, row)
    scores = everything.scores(_fingerprint).tolist()
    for position, score in enumerate(scores):
        solution = everything.at(position)
        assert score == (0 if solution is None else _fingerprint(solution))


def test_the_storage_of_new_volumes_is_told_where_scoring_asks() -> None:
    objects = [
        *FIXED,
        capacity("x", "dyn", "5Gi", {"zone": "x"}),
        capacity("y", "dyn", "6Gi", {"zone": "y"}),
    ]
    cluster = Cluster(NODES, objects=objects)
    finder = _finder(cluster)
    places = _all(cluster)
    found = finder.find(PodVolumeClaims([], [claim("c", storage_class="dyn")]), places)
    storage = {}
    for position, name in enumerate(cluster.snapshot.names):
        solution = found.at(position)
        if solution is not None:
            storage[name] = solution.provisions[0].capacity.metadata.name
    assert storage == {"n1": "y", "n3": "x", "n6": "x", "n7": "y"}


def test_a_migrated_volume_is_reached_by_the_drivers_zone() -> None:
    nodes = [
        make_node("old", {"topology.kubernetes.io/zone": "a"}),
        make_node("new", {"topology.kubernetes.io/zone": "a"}),
        make_node("new-zone", {"topology.gke.io/zone": "a"}),
    ]
    gce = volume(
        "v",
        affinity=in_label("topology.kubernetes.io/zone", "a"),
        gcePersistentDisk={"pdName": "d"},
    )
    plugin = "kubernetes.io/gce-pd"
    objects = [gce, csi_node("new", migrated=plugin), csi_node("new-zone", migrated=plugin)]
    cluster = Cluster(nodes, objects=objects)
    csi_nodes = CSINodes(cluster.lister(CSINode))
    wanted = PodVolumeClaims([claim("c", bound_to="v")])
    found = _finder(cluster).find(wanted, _all(cluster))
    assert found.node_conflict.tolist() == [False, True, False]
    for position, info in enumerate(cluster.snapshot.infos()):
        one = _finder(cluster).find(wanted, OneNode(info, csi_nodes))
        assert one.node_conflict[0] == found.node_conflict[position]


def test_a_volume_that_cannot_be_translated_is_a_fault_where_it_was_migrated() -> None:
    azure = volume("v", azureDisk={"diskURI": "u", "kind": "Dedicated"})
    nodes = [make_node("old"), make_node("new")]
    cluster = Cluster(
        nodes, objects=[azure, csi_node("new", migrated="x,kubernetes.io/azure-disk")]
    )
    places = _all(cluster)
    found = _finder(cluster).find(PodVolumeClaims([claim("c", bound_to="v")]), places)
    [(text, mask)] = found.errors
    assert text == ("could not translate pv: kind(Dedicated) is not supported in csi migration")
    assert mask.tolist() == [False, True]


def test_faults_of_claims() -> None:
    cluster = Cluster(NODES, objects=FIXED)
    places = _all(cluster)
    gone = _finder(cluster).find(PodVolumeClaims([], [claim("c", storage_class="gone")]), places)
    [(text, mask)] = gone.errors
    assert text == 'failed to find storage class "gone"'
    assert mask.all()
    selector = {"matchExpressions": [{"key": "k", "operator": "Odd"}]}
    odd = _finder(cluster).find(PodVolumeClaims([], [claim("c", selector=selector)]), places)
    assert odd.errors[0][0] == (
        "error creating internal label selector for claim: default/c: "
        '"Odd" is not a valid label selector operator'
    )


def test_a_claim_named_twice_takes_two_volumes() -> None:
    """As in kube-scheduler, the second use skips the volume that the first has taken."""
    objects = [*FIXED, volume("mine", claimRef={"name": "c", "namespace": "default"}), volume("v")]
    cluster = Cluster(NODES, objects=objects)
    found = _finder(cluster).find(PodVolumeClaims([], [claim("c"), claim("c")]), _all(cluster))
    assert _at(found, 0) == ([], [("c", "mine"), ("c", "v")], [])


def test_many_volumes_with_the_same_reach() -> None:
    wanted = [claim(f"c{n}") for n in range(3)]
    volumes = [volume(f"v{n}", affinity=in_label("zone", "x")) for n in range(9)]
    cluster = Cluster(NODES, objects=[*FIXED, *volumes])
    found = _finder(cluster).find(PodVolumeClaims([], wanted), _all(cluster))
    assert _at(found, 3) == ([], [("c0", "v0"), ("c1", "v1"), ("c2", "v2")], [])
    assert _at(found, 1) == ([BIND_CONFLICT], [], [])


def test_the_largest_volume_of_a_storage() -> None:
    assert volume_limit(capacity("s", "c", "5", {})) == 5
    assert volume_limit(capacity("s", "c", "5", {}, maximumVolumeSize="3")) == 3
    assert volume_limit(capacity("s", "c", None, {})) == -1
