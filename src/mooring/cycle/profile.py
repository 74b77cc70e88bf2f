"""Profile: one scheduler name's plugin instances and their compiled call plan.

# kube-scheduler: framework/runtime/framework.go (NewFramework)
"""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import msgspec

from mooring.cycle import timing
from mooring.cycle.timing import PointTimer
from mooring.errors import PluginError
from mooring.framework.handle import Handle
from mooring.framework.plugin import Plugin
from mooring.framework.plugin_errors import error_text, raise_if_external
from mooring.framework.points import METHODS, Point, takes_all
from mooring.framework.state import CycleState
from mooring.observe.metrics import Metrics
from mooring.observe.series import CounterSeries

if TYPE_CHECKING:
    from mooring.config.resolved_profile import ResolvedProfile
    from mooring.registry import Registry

Call = Callable[..., Any]
S = TypeVar("S", bound=msgspec.Struct)

#: Points whose evaluations are counted. # kube-scheduler: framework/runtime/instrumented_plugins.go
_EVALUATED = frozenset({Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE})


class Step(msgspec.Struct, frozen=True):
    """One plugin's bound method at a point."""

    name: str
    call: Call
    #: Calls that did not return Skip; counted in PreFilter and PreScore.
    evaluations: CounterSeries


class FilterStep(msgspec.Struct, frozen=True):
    """One Filter plugin: its node form, its vector form, or both."""

    name: str
    node: Call | None
    vector: Call | None
    #: How many nodes the plugin was called for.
    evaluations: CounterSeries
    #: Whether its answers depend on the pods of a node.
    reads_pods: bool
    #: Whether the vector form may take long (Plugin.filters_slowly).
    is_slow: bool
    #: Records that the cycle goes on.
    progress: Callable[[], None]


class ScoreStep(msgspec.Struct, frozen=True):
    """One Score plugin: its forms, its normalisation and its weight."""

    name: str
    weight: int
    node: Call | None
    vector: Call | None
    normalize: Call | None
    #: How many nodes the plugin was called for.
    evaluations: CounterSeries
    #: Whether its answers depend on the pods of a node.
    reads_pods: bool
    #: Whether `normalize` also takes the nodes that the scores belong to.
    normalizes_with_nodes: bool
    #: Records that the cycle goes on.
    progress: Callable[[], None]


class PlacementScoreStep(msgspec.Struct, frozen=True):
    """One PlacementScore plugin: its method, its normalisation and its weight."""

    name: str
    weight: int
    score: Call | None
    normalize: Call | None


class Profile:
    """The plugin instances of one scheduler name, and what to call at every point, in order.

    Instances belong to the profile: two profiles that name the same plugin have one each.
    They are made here unless they are passed in.
    """

    def __init__(
        self,
        resolved: ResolvedProfile,
        registry: Registry,
        handle: Handle,
        plugins: Mapping[str, Plugin] | None = None,
    ) -> None:
        self.name = resolved.scheduler_name
        self.resolved = resolved
        self.handle = handle
        self.recorder = PointTimer(handle.metrics, self.name, handle.clock.now)
        #: The profile's own percentage of nodes to score; None if the global one applies.
        self.percentage_of_nodes_to_score = resolved.percentage_of_nodes_to_score
        self.plugins = _instances(resolved, registry, handle) if plugins is None else plugins
        self.pre_enqueue = self._steps(Point.PRE_ENQUEUE, "pre_enqueue")
        self.pre_filter = self._steps(Point.PRE_FILTER, "pre_filter")
        self.add_pod = self._steps(Point.PRE_FILTER, "add_pod", optional=True)
        self.remove_pod = self._steps(Point.PRE_FILTER, "remove_pod", optional=True)
        self.filter = tuple(
            FilterStep(
                plugin.name,
                _method(plugin, "filter"),
                _method(plugin, "filter_nodes"),
                self._evaluations(plugin, Point.FILTER),
                plugin.reads_pods,
                plugin.filters_slowly,
                handle.progress,
            )
            for plugin, _ in self._at(Point.FILTER, "filter", "filter_nodes")
        )
        self.post_filter = self._steps(Point.POST_FILTER, "post_filter")
        self.pre_score = self._steps(Point.PRE_SCORE, "pre_score")
        self.score = tuple(
            ScoreStep(
                plugin.name,
                weight,
                _method(plugin, "score"),
                _method(plugin, "score_nodes"),
                _method(plugin, "normalize_score"),
                self._evaluations(plugin, Point.SCORE),
                plugin.reads_pods,
                _normalizes_with_nodes(plugin),
                handle.progress,
            )
            for plugin, weight in self._at(Point.SCORE, "score", "score_nodes")
        )
        self.placement_generate = self._steps(Point.PLACEMENT_GENERATE, "generate_placements")
        self.placement_feasible = self._steps(Point.PLACEMENT_FEASIBLE, "placement_feasible")
        self.placement_score = tuple(
            PlacementScoreStep(
                plugin.name,
                weight,
                _method(plugin, "score_placement"),
                _method(plugin, "normalize_placement_scores"),
            )
            for plugin, weight in self._at(Point.PLACEMENT_SCORE, "score_placement")
        )
        self.pod_group_post_filter = self._steps(
            Point.POD_GROUP_POST_FILTER, "pod_group_post_filter"
        )
        self.assumed_status = self._steps(Point.RESERVE, "assumed_status", optional=True)
        self.reserve = self._steps(Point.RESERVE, "reserve", optional=True)
        self.unreserve = self._steps(Point.RESERVE, "unreserve", optional=True)[::-1]
        self.permit = self._steps(Point.PERMIT, "permit")
        self.pre_bind_pre_flight = self._steps(Point.PRE_BIND, "pre_bind_pre_flight", optional=True)
        self.pre_bind = self._steps(Point.PRE_BIND, "pre_bind")
        self.bind = self._steps(Point.BIND, "bind")
        self.post_bind = self._steps(Point.POST_BIND, "post_bind")
        #: Filter plugins that have no vector form.
        self.node_form_filters = frozenset(step.name for step in self.filter if step.vector is None)
        #: Whether a Score plugin has no vector form.
        self.scores_node_by_node = any(step.vector is None for step in self.score)

    def of(self, state: CycleState) -> Profile:
        """Return this profile, or its timed copy if the plugins of this attempt are timed."""
        return self.timed if state.record_plugin_metrics else self

    @cached_property
    def timed(self) -> Profile:
        """A copy of this profile in which every call of a plugin is timed."""
        other = copy.copy(self)
        other.timed = other
        timed = self.recorder.timed
        other.pre_filter = _timed(self.recorder, timing.PRE_FILTER, self.pre_filter)
        other.add_pod = _timed(self.recorder, timing.ADD_POD, self.add_pod)
        other.remove_pod = _timed(self.recorder, timing.REMOVE_POD, self.remove_pod)
        other.filter = tuple(
            FilterStep(
                step.name,
                step.node and timed(step.name, timing.FILTER, step.node),
                step.vector and self.recorder.timed_vector(step.name, timing.FILTER, step.vector),
                step.evaluations,
                step.reads_pods,
                step.is_slow,
                step.progress,
            )
            for step in self.filter
        )
        other.post_filter = _timed(self.recorder, timing.POST_FILTER, self.post_filter)
        other.pre_score = _timed(self.recorder, timing.PRE_SCORE, self.pre_score)
        other.score = tuple(
            ScoreStep(
                step.name,
                step.weight,
                step.node and timed(step.name, timing.SCORE, step.node),
                step.vector and timed(step.name, timing.SCORE, step.vector),
                step.normalize and timed(step.name, timing.NORMALIZE, step.normalize),
                step.evaluations,
                step.reads_pods,
                step.normalizes_with_nodes,
                step.progress,
            )
            for step in self.score
        )
        other.reserve = _timed(self.recorder, timing.RESERVE, self.reserve)
        other.unreserve = _timed(self.recorder, timing.UNRESERVE, self.unreserve)
        other.permit = _timed(self.recorder, timing.PERMIT, self.permit)
        other.pre_bind_pre_flight = _timed(
            self.recorder, timing.PRE_BIND_PRE_FLIGHT, self.pre_bind_pre_flight
        )
        other.pre_bind = _timed(self.recorder, timing.PRE_BIND, self.pre_bind)
        other.bind = _timed(self.recorder, timing.BIND, self.bind)
        other.post_bind = _timed(self.recorder, timing.POST_BIND, self.post_bind)
        return other

    def uncounted(self, metrics: Metrics) -> Profile:
        """Return a copy whose cycles are counted in other metrics than those of the scheduler."""
        other = copy.copy(self)
        other.recorder = PointTimer(metrics, self.name, self.handle.clock.now)
        other.pre_filter = tuple(map(_uncounted, self.pre_filter))
        other.filter = tuple(map(_uncounted, self.filter))
        other.pre_score = tuple(map(_uncounted, self.pre_score))
        other.score = tuple(map(_uncounted, self.score))
        return other

    def start(self) -> None:
        """Start the plugins; raise PluginError if one fails."""
        for name, plugin in self.plugins.items():
            try:
                plugin.start()
            except BaseException as error:
                raise_if_external(error)
                text = f"start: {error_text(error)}"
                raise PluginError(text, plugin=name) from error

    def queue_sort(self) -> Plugin | None:
        """Return the plugin that orders the queue."""
        named = self.resolved.names(Point.QUEUE_SORT)
        return self.plugins[named[0]] if named else None

    def _at(self, point: Point, *methods: str) -> Iterator[tuple[Plugin, int]]:
        for name, weight in self.resolved.points[point]:
            plugin = self.plugins[name]
            if not any(_method(plugin, method) for method in methods):
                # kube-scheduler: updatePluginList
                raise PluginError(
                    f'plugin "{name}" does not extend {point.label} plugin',
                    plugin=name,
                    point=point.label,
                )
            yield plugin, weight

    def _evaluations(self, plugin: Plugin, point: Point) -> CounterSeries:
        if point not in _EVALUATED:
            return CounterSeries()
        return self.handle.metrics.plugin_evaluations[plugin.name, point.label, self.name]

    def _steps(self, point: Point, method: str, *, optional: bool = False) -> tuple[Step, ...]:
        if not optional:
            found = [plugin for plugin, _ in self._at(point, method)]
        else:
            found = [self.plugins[name] for name in self.resolved.names(point)]
        return tuple(
            Step(plugin.name, call, self._evaluations(plugin, point))
            for plugin in found
            if (call := _method(plugin, method)) is not None
        )


def _uncounted(step: S) -> S:
    return msgspec.structs.replace(step, evaluations=CounterSeries())


def _timed(recorder: PointTimer, point: str, steps: Sequence[Step]) -> tuple[Step, ...]:
    return tuple(
        Step(step.name, recorder.timed(step.name, point, step.call), step.evaluations)
        for step in steps
    )


def _method(plugin: Plugin, name: str) -> Call | None:
    try:
        found = getattr(plugin, name, None)
    except BaseException as error:
        raise_if_external(error)
        raise PluginError(f"{name}: {error_text(error)}", plugin=plugin.name) from error
    return found if callable(found) else None


def _normalizes_with_nodes(plugin: Plugin) -> bool:
    call = _method(plugin, "normalize_score")
    return call is not None and takes_all(METHODS["normalize_score"][1], call)


def _handle_for(handle: Handle, plugin: type[Plugin]) -> Handle:
    """Return the handle of a plugin; other handles than ProfileHandle are for all plugins."""
    make: Callable[[type[Plugin]], Handle] | None = getattr(handle, "for_plugin", None)
    return handle if make is None else make(plugin)


def _instances(resolved: ResolvedProfile, registry: Registry, handle: Handle) -> dict[str, Plugin]:
    instances: dict[str, Plugin] = {}
    for name in resolved.plugins:
        plugin = registry.get(name)
        if plugin is None:
            raise PluginError(f'plugin "{name}" is not registered', plugin=name)
        try:
            instances[name] = plugin(resolved.args.get(name), _handle_for(handle, plugin))
        except BaseException as error:
            raise_if_external(error)
            text = f"initializing: {error_text(error)}"
            raise PluginError(text, plugin=name) from error
    return instances
