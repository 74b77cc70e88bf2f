"""Which plugins run at which point: merge a profile with the defaults, expand multiPoint."""

# kube-scheduler: apis/config/v1/default_plugins.go (mergePluginSet),
# framework/runtime/framework.go (updatePluginList, expandMultiPointPlugins, getValidScoreWeights)

from __future__ import annotations

from collections.abc import Iterable, Mapping

import msgspec

from mooring.api.field_errors import FieldError
from mooring.config.defaults import default_plugins
from mooring.config.types import PluginRef, Plugins, PluginSet, ProfileConfig
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.framework.points import CONFIGURABLE_POINTS, IMPLICIT_POINTS, Point

#: The plugins of each point of PLANNED_POINTS, in running order; the weight matters only at Score
#: and PlacementScore.
PointPlan = dict[Point, tuple[tuple[str, int], ...]]

MAX_TOTAL_SCORE = 2**63 - 1

#: The default plugins of QueueSort and PlacementGenerate.
DEFAULT_QUEUE_SORT = "PrioritySort"
DEFAULT_PLACEMENT_GENERATE = "TopologyPlacementGenerator"

_ALL = "*"


def merge_plugins(custom: Plugins | None, gates: FeatureGates) -> Plugins:
    """Return a profile's plugins with the defaults merged in, as kube-scheduler prints them."""
    defaults = PluginSet(
        enabled=tuple(
            PluginRef(name=name, weight=weight) for name, weight in default_plugins(gates)
        )
    )
    custom = custom or Plugins()
    if gates.release.pod_groups and custom.pod_group_post_filter is None:
        custom = msgspec.structs.replace(custom, pod_group_post_filter=PluginSet())
    return Plugins(
        **{
            field: _merge(defaults if field == "multi_point" else PluginSet(), plugin_set)
            for field in Plugins.__struct_fields__
            if (plugin_set := getattr(custom, field)) is not None
        }
    )


def _merge(defaults: PluginSet, custom: PluginSet) -> PluginSet:
    disabled = {plugin.name for plugin in custom.disabled}
    # If a plugin is named twice, the last entry replaces the default; the first stays as a
    # duplicate, which `expand_profile` refuses.
    last = {plugin.name: index for index, plugin in enumerate(custom.enabled)}
    replaced = set()
    enabled = []
    if _ALL not in disabled:
        for plugin in defaults.enabled:
            if plugin.name in disabled:
                continue
            index = last.get(plugin.name)
            if index is not None:
                replaced.add(index)
            enabled.append(plugin if index is None else custom.enabled[index])
    enabled += [one for index, one in enumerate(custom.enabled) if index not in replaced]
    return PluginSet(
        enabled=tuple(enabled),
        disabled=tuple(PluginRef(name=plugin.name) for plugin in custom.disabled),
    )


def expand_profile(
    profile: ProfileConfig, points_of: Mapping[str, frozenset[Point]]
) -> tuple[PointPlan, list[FieldError]]:
    """Return the plugins of each point in order, and the errors found.

    The profile's plugins must be merged already. `points_of` maps each registered plugin to the
    points it implements. The path of an error is the plugin set's key and the plugin's name.
    """
    plugins = profile.plugins or Plugins()
    errors: list[FieldError] = []
    plan: PointPlan = {}
    for point in CONFIGURABLE_POINTS:
        if point is Point.POD_GROUP_POST_FILTER and plugins.pod_group_post_filter is None:
            # The emulated release does not have the point.
            plan[point] = ()
            continue
        here = _explicit(plugins.at(point.key), point, points_of, errors)
        if plugins.multi_point.enabled:
            here = _expand(here, plugins, point, points_of, errors)
        plan[point] = tuple((name, 0) for name in here)
    for point in IMPLICIT_POINTS:
        plan[point] = tuple(
            (name, 0) for name in _implicit_plugins(plugins, plan, point, points_of)
        )
    for point in (Point.SCORE, Point.PLACEMENT_SCORE):
        weights = _score_weights(plugins, point, points_of, errors)
        plan[point] = tuple((name, weights.get(name, 1)) for name, _ in plan[point])
    name = profile.scheduler_name or ""
    if len(plan[Point.QUEUE_SORT]) != 1:
        text = (
            f'only one queue sort plugin required for profile with scheduler name "{name}", '
            f"but got {len(plan[Point.QUEUE_SORT])}"
        )
        errors.append(FieldError("queueSort", text, advice=_queue_sort_advice(plan, points_of)))
    if not plan[Point.BIND]:
        text = f'at least one bind plugin is needed for profile with scheduler name "{name}"'
        errors.append(FieldError("bind", text))
    if len(plan[Point.PLACEMENT_GENERATE]) > 1:
        text = (
            "at most one placement generate plugin is allowed for profile with scheduler name "
            f'"{name}"'
        )
        advice = _only_one("generate placements", Point.PLACEMENT_GENERATE, plan)
        errors.append(FieldError("placementGenerate", text, advice=advice))
    return plan, errors


def _implicit_plugins(
    plugins: Plugins, plan: PointPlan, point: Point, points_of: Mapping[str, frozenset[Point]]
) -> list[str]:
    """Return the plugins of a point that a file cannot name, those of multiPoint first.

    These are all plugins that the profile enables at another point and that implement this one.
    """
    # kube-scheduler asks only GangScheduling, and only if the profile enables it.
    multi = (plugin.name for plugin in plugins.multi_point.enabled)
    others = (name for named in plan.values() for name, _ in named)
    names = dict.fromkeys((*multi, *others))
    return [name for name in names if point in points_of.get(name, ())]


def _queue_sort_advice(plan: PointPlan, points_of: Mapping[str, frozenset[Point]]) -> str:
    """Return what to do about a profile that has not exactly one plugin that orders the queue."""
    sorting = [name for name, _ in plan[Point.QUEUE_SORT]]
    if len(sorting) > 1:
        return _only_one("order the queue", Point.QUEUE_SORT, plan)
    able = sorting_plugins(plan, points_of)
    name = able[0] if able else DEFAULT_QUEUE_SORT
    return f"set queueSort.enabled: [{{name: {name}}}]"


def _only_one(purpose: str, point: Point, plan: PointPlan) -> str:
    """Return advice on how to keep a single plugin, other than the default, at a point."""
    names = [name for name, _ in plan[point]]
    defaults = (DEFAULT_QUEUE_SORT, DEFAULT_PLACEMENT_GENERATE)
    kept = next(name for name in names if name not in defaults)
    dropped = ", ".join(f"{{name: {name}}}" for name in names if name != kept)
    return f"to {purpose} with {kept} alone, set {point.key}.disabled: [{dropped}]"


def sorting_plugins(plan: PointPlan, points_of: Mapping[str, frozenset[Point]]) -> list[str]:
    """Return the plugins that run at some point and could order the queue, sorted."""
    running = {name for point, plugins in plan.items() for name, _ in plugins}
    return sorted(name for name in running if Point.QUEUE_SORT in points_of.get(name, ()))


def _explicit(
    plugin_set: PluginSet,
    point: Point,
    points_of: Mapping[str, frozenset[Point]],
    errors: list[FieldError],
) -> list[str]:
    names: dict[str, None] = {}
    kind = f"{point.label}Plugin"
    for plugin in plugin_set.enabled:
        place = f"{point.key}/{plugin.name}"
        if plugin.name not in points_of:
            errors.append(FieldError(place, f'{kind} "{plugin.name}" does not exist'))
        elif point not in points_of[plugin.name]:
            text = f'plugin "{plugin.name}" does not extend {kind} plugin'
            errors.append(FieldError(place, text))
        elif plugin.name in names:
            text = f'plugin "{plugin.name}" already registered as "{kind}"'
            errors.append(FieldError(place, text))
        else:
            names[plugin.name] = None
    return list(names)


def _expand(
    here: list[str],
    plugins: Plugins,
    point: Point,
    points_of: Mapping[str, frozenset[Point]],
    errors: list[FieldError],
) -> list[str]:
    disabled = {plugin.name for plugin in plugins.at(point.key).disabled}
    if _ALL in disabled:
        return here
    explicit = frozenset(here)
    multi: dict[str, None] = {}
    overridden = set()
    for plugin in plugins.multi_point.enabled:
        name = plugin.name
        if name not in points_of:
            errors.append(FieldError(f"multiPoint/{name}", f'Plugin "{name}" does not exist'))
        elif point not in points_of[name] or name in disabled:
            continue
        elif name in explicit:
            overridden.add(name)
        elif name in multi:
            text = f'plugin "{name}" already registered as "{point.label}Plugin"'
            errors.append(FieldError(f"multiPoint/{name}", text))
        else:
            multi[name] = None
    return [
        *(name for name in here if name in overridden),
        *multi,
        *(name for name in here if name not in overridden),
    ]


def _score_weights(
    plugins: Plugins,
    point: Point,
    points_of: Mapping[str, frozenset[Point]],
    errors: list[FieldError],
) -> dict[str, int]:
    weights: dict[str, int] = {}
    total = 0
    for plugin in (*plugins.at(point.key).enabled, *plugins.multi_point.enabled):
        if point not in points_of.get(plugin.name, ()) or plugin.name in weights:
            continue
        weights[plugin.name] = plugin.weight or 1
        score = weights[plugin.name] * MAX_NODE_SCORE
        # In Go, the remaining score overflows after a negative weight, so any further plugin fails.
        if total < 0 or score > MAX_TOTAL_SCORE - total:
            text = f"score plugins: total score of {point.label} plugins could overflow"
            errors.append(FieldError(point.key, text))
            break
        total += score
    return weights


def enabled_names(plugins: Plugins) -> set[str]:
    """Return every plugin that is enabled at some point or by multiPoint."""
    sets: Iterable[PluginSet] = (plugin_set for _, plugin_set in plugins.sets())
    return {plugin.name for plugin_set in sets for plugin in plugin_set.enabled}
