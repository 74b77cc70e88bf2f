"""Affinity terms of pods, and clusters that hold them."""

from __future__ import annotations

from typing import Any

from hypothesis import strategies as st

from mooring.api import Pod
from tests.plugins.clusters import (
    ZONE,
    Cluster,
    make_node,
)
from tests.plugins.inter_pod_affinity import clusters, naive

SPACES = naive.Namespaces(clusters.NAMESPACES)


def draw_cluster(data: st.DataObject) -> tuple[Cluster, Pod]:
    nodes = data.draw(clusters.nodes())
    cluster = Cluster(nodes, data.draw(clusters.pods(nodes)), clusters.NAMESPACES)
    return cluster, data.draw(clusters.pod())


def term(app: str, key: str = ZONE) -> dict[str, Any]:
    return {"topologyKey": key, "labelSelector": {"matchLabels": {"app": app}}}


def required(side: str, *terms: dict[str, Any]) -> dict[str, Any]:
    return {side: {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def preferred(side: str, weight: int, term: dict[str, Any]) -> dict[str, Any]:
    preference = {"weight": weight, "podAffinityTerm": term}
    return {side: {"preferredDuringSchedulingIgnoredDuringExecution": [preference]}}


NODES = [make_node("a", {ZONE: "x"}), make_node("b", {ZONE: "y"}), make_node("c")]
