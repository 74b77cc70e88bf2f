"""Recount: the expected columns and counters, computed in the slow and obvious way."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping

from mooring.api.labels import EVERYTHING
from mooring.cache.counters import Counters
from mooring.cache.image_index import ImageStates
from mooring.cache.pod_index import PodIndex
from mooring.framework.columns import Columns
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import TermKind
from mooring.framework.pod_info import AffinityTerm, PodInfo


def check(
    columns: Columns,
    counters: Counters,
    images: ImageStates,
    index: PodIndex,
    pods: Mapping[str, PodInfo],
) -> None:
    """Raise AssertionError if anything kept incrementally differs from a recount."""
    placed = [info for info in pods.values() if info.pod.spec.node_name in columns.rows]
    by_node: dict[str, list[PodInfo]] = {name: [] for name in columns.names}
    for info in placed:
        by_node[info.pod.spec.node_name].append(info)
    assert len(columns.names) == len(columns.infos) == columns.size == len(columns.rows)
    resources = {"cpu", "memory", "ephemeral-storage", "pods"}
    for row, name in enumerate(columns.names):
        assert columns.rows[name] == row == columns.infos[row].row
        resources |= columns.infos[row].allocatable.keys() | columns.infos[row].requested.keys()
    for row, name in enumerate(columns.names):
        _check_row(columns, row, NodeInfo(columns.infos[row].node, by_node[name]), resources)
    _check_ports(columns)
    _check_images(columns, images)
    _check_counters(columns, counters, placed)
    found = {info.uid for info in index.matching(None, EVERYTHING)}
    assert found == {info.uid for info in placed}, "the pod index differs"


def _check_row(columns: Columns, row: int, truth: NodeInfo, resources: set[str]) -> None:
    name, info = truth.name, columns.infos[row]
    assert set(info.pods) == set(truth.pods), f"{name}: pods differ"
    assert info.used_ports == truth.used_ports, f"{name}: ports differ"
    assert info.pvc_refs == truth.pvc_refs, f"{name}: claims differ"
    for resource in resources:
        requested = truth.requested.get(resource, 0)
        allocatable = truth.allocatable.get(resource, 0)
        assert columns.allocatable(resource)[row] == allocatable, f"{name}: {resource} offered"
        assert columns.requested(resource)[row] == requested, f"{name}: {resource} requested"
        assert columns.free(resource)[row] == allocatable - requested, f"{name}: {resource} free"
    for resource, amount in truth.non_zero_requested.items():
        assert columns.non_zero_requested(resource)[row] == amount, f"{name}: non-zero {resource}"
    assert columns.pod_count[row] == len(truth.pods), f"{name}: pod count"
    assert columns.unschedulable[row] == truth.unschedulable, f"{name}: unschedulable"
    assert columns.taints.values[columns.taints.codes[row]] == (truth.taints or None), name
    for key in (*truth.labels, "no-such-label"):
        column = columns.label(key)
        assert column.values[column.codes[row]] == truth.labels.get(key), f"{name}: label {key}"


def _check_ports(columns: Columns) -> None:
    truth: dict[tuple[str, int], dict[str, set[str]]] = {}
    for info in columns.infos:
        for address, protocol, port in info.used_ports:
            truth.setdefault((protocol, port), {}).setdefault(info.name, set()).add(address)
    assert columns.ports == truth, "the port index differs"


def _check_images(columns: Columns, images: ImageStates) -> None:
    truth: dict[str, set[str]] = {}
    for info in columns.infos:
        for image, _ in info.images():
            truth.setdefault(image, set()).add(info.name)
    for image, nodes in truth.items():
        state = images.state(image)
        assert state is not None and state.num_nodes == len(nodes), f"image {image}"
        found = {columns.names[row] for row in images.rows(image).nonzero()[0]}
        assert found == nodes, f"nodes of image {image}"


def _check_counters(columns: Columns, counters: Counters, placed: list[PodInfo]) -> None:
    for counter in counters.counters():
        for row, name in enumerate(columns.names):
            here = [
                info
                for info in placed
                if info.pod.spec.node_name == name and counter.matches(info.pod)
            ]
            alive = [info for info in here if info.pod.metadata.deletion_timestamp is None]
            question = (counter.namespaces, counter.selector)
            assert counters.matching(*question, terminating=True)[row] == len(here), question
            assert counters.matching(*question, terminating=False)[row] == len(alive), question
    for kind in TermKind:
        truth: Counter[tuple[AffinityTerm, str]] = Counter()
        for info in placed:
            for term in getattr(info, kind.value):
                truth[term, info.pod.spec.node_name] += 1
        found: Counter[tuple[AffinityTerm, str]] = Counter()
        for entry in counters.terms(kind):
            for row in entry.counts.nonzero()[0].tolist():
                found[entry.term, columns.names[row]] = int(entry.counts[row])
        assert found == truth, f"terms of kind {kind.value} differ"
