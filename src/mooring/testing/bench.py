"""A single plugin with a cluster in memory, called as the scheduler would call it."""

from __future__ import annotations

import inspect
from collections.abc import Iterable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

import msgspec
import numpy as np

from mooring.api import KubeObject, Node, Pod
from mooring.config.defaults import API_VERSION, KIND, SCHEDULER_NAME
from mooring.config.resolved_profile import ResolvedProfile
from mooring.cycle.filtering import filter_nodes, filter_one
from mooring.cycle.pre_filter import PreFilterResult, run_pre_filter
from mooring.cycle.profile import Profile
from mooring.cycle.profile_handle import SharedState, make_profiles
from mooring.cycle.scoring import Ranking, rank
from mooring.errors import PluginError
from mooring.framework.features import FeatureGates
from mooring.framework.handle import EventWriter
from mooring.framework.nodes import Nodes
from mooring.framework.plugin import Plugin
from mooring.framework.points import PLANNED_POINTS, Point, points_of
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.framework.what_if import WhatIf
from mooring.registry import Registry, check_contract, default_registry
from mooring.testing.bench_cluster import BenchCluster
from mooring.virtual.driving import drive

if TYPE_CHECKING:
    from mooring.config import LoadResult

#: The answer of Filter for each node, in their order; None if the node passes.
Answers = list[Status | None]


def raise_breach(status: Status | None, plugin: str) -> None:
    """Raise PluginError if the plugin raised an exception or returned an invalid answer.

    An error status that the plugin itself returns is a valid answer.
    """
    if status is None or not status.is_error:
        return
    if status.traceback or f"plugin {plugin}, point " in status.message:
        trace = f"\n{status.traceback}" if status.traceback else ""
        raise PluginError(f"{status.message}{trace}", plugin=plugin)


class Workbench:
    """What is the same for a plugin in all clusters: its class, args and feature gates.

    The plugin is a class, of which each bench creates an instance, or an instance that all share.
    """

    def __init__(
        self,
        plugin: type[Plugin] | Plugin,
        *,
        args: Any = None,
        features: Mapping[str, bool] | None = None,
    ) -> None:
        self.instance = None if inspect.isclass(plugin) else plugin
        self.kind: type[Plugin] = plugin if inspect.isclass(plugin) else type(plugin)
        if not issubclass(self.kind, Plugin):
            raise TypeError(f"expected a plugin class or a plugin, got {plugin!r}")
        if self.instance is not None and args is not None:
            raise TypeError("args belong to a class; the instance has its own")
        check_contract(self.kind)
        self.features = FeatureGates(features)
        self._given = args
        if isinstance(args, msgspec.Struct):
            self.args: Any = args
        elif self.kind.Args is None and args is None:
            self.args = None
        else:
            self.args = self.config.profiles[0].args[self.kind.name]
        points = points_of(self.kind)
        self._alone = ResolvedProfile(
            scheduler_name=SCHEDULER_NAME,
            percentage_of_nodes_to_score=None,
            points={
                point: ((self.kind.name, 1),) if point in points else () for point in PLANNED_POINTS
            },
            args={},
        )

    # Loaded on first use: most tests of a plugin need neither the built-in plugins nor a file.

    @cached_property
    def registry(self) -> Registry:
        """The built-in plugins and the plugin."""
        return _registry_with(self.kind)

    @cached_property
    def config(self) -> LoadResult:
        """A profile that runs the plugin in addition to the defaults."""
        from mooring.config import load_config_data

        return load_config_data(
            _document(self.kind, None if isinstance(self._given, msgspec.Struct) else self._given),
            file=f"args of {self.kind.name}",
            registry=self.registry,
            feature_gates=self.features,
        )

    def place(self, objects: Iterable[KubeObject]) -> Bench:
        """Return a bench with the plugin and a cluster of these objects."""
        cluster = BenchCluster(checked_objects(objects), self.features, self._make_default_profile)
        handle = cluster.handle
        if self.instance is None:
            plugin = self.kind(self.args, handle)
        else:
            plugin = self.instance
            if getattr(plugin, "handle", None) is None:
                plugin.handle = handle
        plugin.start()
        drive(cluster.run_periodic())
        profile = Profile(self._alone, Registry(), handle, {self.kind.name: plugin})
        return Bench(plugin, cluster, profile)

    def _make_default_profile(self, shared: SharedState, events: EventWriter) -> Profile:
        """Return the profile with the default plugins, for a plugin that runs their filters."""
        from mooring.config import default_config

        around = default_config(registry=self.registry, feature_gates=self.features)
        profiles = make_profiles(around.profiles, self.registry, shared, lambda name: events)
        return next(iter(profiles.values()))


class Bench:
    """One plugin and one cluster. Faults of the plugin raise PluginError."""

    def __init__(self, plugin: Plugin, cluster: BenchCluster, profile: Profile) -> None:
        self.plugin = plugin
        self.cluster = cluster.objects
        self._cache = cluster.cache
        self.profile = profile

    @property
    def nodes(self) -> Nodes:
        """Return the nodes of the cluster."""
        return self._cache.nodes

    def pre_filter(self, state: CycleState, pod: Pod) -> PreFilterResult:
        """Run PreFilter."""
        result = run_pre_filter(self.profile, state, pod, self.nodes)
        raise_breach(result.status, self.plugin.name)
        return result

    def filter(self, state: CycleState, pod: Pod) -> Answers:
        """Run PreFilter and Filter on all nodes."""
        nodes = self.nodes
        result = self.pre_filter(state, pod)
        if result.status is not None:
            return [result.status] * len(nodes)
        answers = self.ask_nodes(state, pod, nodes)
        if result.node_names is None:
            return answers
        return [
            answer if name in result.node_names else result.outside
            for name, answer in zip(nodes.names, answers, strict=True)
        ]

    def ask_nodes(self, state: CycleState, pod: Pod, nodes: Nodes) -> Answers:
        """Run Filter on some nodes at once: in vector form, if the plugin has one."""
        answers: Answers = [None] * len(nodes)
        verdicts = filter_nodes(self.profile, state, pod, nodes)
        raise_breach(verdicts.error, self.plugin.name)
        for position, status in verdicts.each(nodes):
            answers[position] = status
        return answers

    def ask_each(self, state: CycleState, pod: Pod, nodes: Nodes) -> Answers:
        """Run Filter on some nodes one by one: in node form, if the plugin has one."""
        answers: Answers = []
        for position in range(len(nodes)):
            one = nodes.alone(position) if isinstance(nodes, WhatIf) else _one(nodes, position)
            answers.append(filter_one(self.profile, state, pod, one))
            raise_breach(answers[-1], self.plugin.name)
        return answers

    def rank(self, state: CycleState, pod: Pod, nodes: Nodes) -> Ranking:
        """Run PreScore, Score and NormalizeScore."""
        ranking = rank(self.profile, state, pod, nodes, keep_raw=True)
        if ranking.error is not None:
            raise PluginError(
                f"{ranking.error.message}\n{ranking.error.traceback}".rstrip(),
                plugin=self.plugin.name,
            )
        return ranking


def _one(nodes: Nodes, position: int) -> Nodes:
    row = position if nodes.rows is None else int(nodes.rows[position])
    return nodes.select(np.array([row], dtype=np.intp))


def _registry_with(plugin: type[Plugin]) -> Registry:
    registry = default_registry()
    known = registry.get(plugin.name)
    if known is None:
        registry.register(plugin)
    elif known is not plugin:
        # The plugin replaces an installed one of the same name, or its module was reloaded.
        registry = Registry([one for one in registry if one.name != plugin.name])
        registry.register(plugin)
    return registry


def _document(plugin: type[Plugin], args: Any) -> dict[str, Any]:
    """Return the configuration of a profile that runs the plugin in addition to the defaults."""
    enabled = [{"name": plugin.name}]
    plugins: dict[str, Any] = {"multiPoint": {"enabled": enabled}}
    points = points_of(plugin)
    if Point.QUEUE_SORT in points:
        plugins["queueSort"] = {"disabled": [{"name": "*"}], "enabled": enabled}
    if Point.PLACEMENT_GENERATE in points:
        # Only the first plugin is asked.
        plugins["placementGenerate"] = {"disabled": [{"name": "*"}], "enabled": enabled}
    if Point.POD_GROUP_POST_FILTER in points:
        # Alone, because one of the others usually ends the point before it.
        plugins["podGroupPostFilter"] = {"disabled": [{"name": "*"}], "enabled": enabled}
    if Point.BIND in points and plugin.name != "DefaultBinder":
        # Before DefaultBinder, which always binds.
        binders = [*enabled, {"name": "DefaultBinder"}]
        plugins["bind"] = {"disabled": [{"name": "*"}], "enabled": binders}
    profile: dict[str, Any] = {"plugins": plugins}
    if args is not None:
        profile["pluginConfig"] = [{"name": plugin.name, "args": args}]
    return {"apiVersion": API_VERSION, "kind": KIND, "profiles": [profile]}


def checked_objects(objects: Iterable[KubeObject]) -> list[KubeObject]:
    """Return the objects; raise ValueError if a pod is on a node that is not among them."""
    found = list(objects)
    names = {obj.name for obj in found if isinstance(obj, Node)}
    for obj in found:
        if isinstance(obj, Pod) and obj.node_name and obj.node_name not in names:
            raise ValueError(
                f"pod {obj.key} is on node {obj.node_name}, which is not among the nodes: "
                f"{', '.join(sorted(names)) or 'none'}"
            )
    return found
