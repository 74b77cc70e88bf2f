"""Extenders for tests: plugins, and a cluster whose objects a test puts in."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from mooring import Plugin, Status
from mooring.api import KubeObject, Node, Pod
from mooring.api.kinds import encode
from mooring.client.client import Client
from mooring.client.no_server import NoServer
from mooring.config.load import load_config_data
from mooring.extender.extender_cluster import ExtenderCluster
from mooring.extender.extender_profiles import load_served, served_profile, total_weight
from mooring.extender.extender_verbs import ExtenderVerbs
from mooring.framework.features import FeatureGates
from mooring.observe.clock import VirtualClock
from mooring.observe.metrics import Metrics
from mooring.registry import default_registry

CLOSED = "node(s) were closed"


class OpenNodes(Plugin):
    """Keep pods off nodes that are labelled closed=true."""

    reads_pods = False

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.unschedulable(CLOSED), nodes.label_is("closed", "true")


class Stars(Plugin):
    """Score nodes by their label stars."""

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return int(node.labels.get("stars", 0))


def make_cluster(
    plugins: Sequence[type[Plugin]],
    objects: Iterable[KubeObject] = (),
    *,
    config: dict[str, Any] | None = None,
    live: bool = True,
    client: Client | None = None,
    clock: Any = None,
) -> ExtenderCluster:
    """Return a cluster with some nodes and pods, whose informers are not started."""
    registry, gates = default_registry(plugins), FeatureGates()
    if config is None:
        profiles = load_served(None, plugins, registry, gates).profiles
    else:
        loaded = load_config_data(config, registry=registry, feature_gates=gates)
        profiles = tuple(map(served_profile, loaded.profiles))
    cluster = ExtenderCluster(
        profiles,
        client=client or Client(NoServer()),
        is_live=live,
        registry=registry,
        features=gates,
        clock=clock or VirtualClock(),
        metrics=Metrics(),
    )
    for one in objects:
        if isinstance(one, Node):
            cluster.cache.add_node(one)
        elif isinstance(one, Pod) and one.spec.node_name:
            cluster.cache.add_pod(one)
    return cluster


def make_verbs(
    plugins: Sequence[type[Plugin]], objects: Iterable[KubeObject] = (), **more: Any
) -> ExtenderVerbs:
    """Return the verbs of plugins on a cluster with some objects."""
    managed = more.pop("managed", ())
    return verbs_of(make_cluster(plugins, objects, **more), managed)


def verbs_of(cluster: ExtenderCluster, managed: Iterable[str] = ()) -> ExtenderVerbs:
    """Return the verbs of a cluster."""
    weight = total_weight([one.resolved for one in cluster.profiles.values()])
    return ExtenderVerbs(cluster, weight=weight, managed=frozenset(managed))


def body(**fields: Any) -> bytes:
    """Return a request; objects are written as documents."""
    return json.dumps({name: _plain(value) for name, value in fields.items()}).encode()


def _plain(value: Any) -> Any:
    if isinstance(value, Node | Pod):
        return encode(value)
    if isinstance(value, dict):
        return {name: _plain(one) for name, one in value.items()}
    return [_plain(one) for one in value] if isinstance(value, list | tuple) else value
