"""The part of a configuration that an extender can serve.

kube-scheduler runs its own plugins, so an extender serves the others: those of --plugin, and those
that a configuration file adds to the defaults. It is asked to filter, to prioritize, about the
victims of a preemption, and to bind. A plugin that runs at another point would be ignored there
without a word, so it is refused.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Sequence

from msgspec.structs import replace

from mooring.config import LoadResult
from mooring.config.resolved_profile import ResolvedProfile
from mooring.config.rules import resolve_config
from mooring.errors import ConfigError, ConfigErrors
from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.points import CONFIGURABLE_POINTS, Point, points_of
from mooring.plugins import BUILT_INS
from mooring.registry import Registry

#: The points that requests to an extender can run.
SERVED = (Point.PRE_FILTER, Point.FILTER, Point.PRE_SCORE, Point.SCORE, Point.BIND)

#: Why an extender cannot serve the other points.
REASONS = {
    Point.PRE_ENQUEUE: "kube-scheduler asks no extender before it queues a pod",
    Point.QUEUE_SORT: "kube-scheduler orders its queue without extenders",
    Point.POST_FILTER: (
        "kube-scheduler looks for victims itself, and asks extenders only about those it found; "
        "the Filter plugins answer that"
    ),
    Point.RESERVE: "an extender is not told which node was chosen, nor that the pod lost it",
    Point.PERMIT: "an extender cannot make a chosen pod wait",
    Point.PRE_BIND: "kube-scheduler asks no extender before it binds a pod",
    Point.POST_BIND: "kube-scheduler asks no extender after it has bound a pod",
    Point.PLACEMENT_GENERATE: "kube-scheduler asks no extender about pod groups",
    Point.PLACEMENT_FEASIBLE: "kube-scheduler asks no extender about pod groups",
    Point.PLACEMENT_SCORE: "kube-scheduler asks no extender about pod groups",
    Point.POD_GROUP_POST_FILTER: "kube-scheduler asks no extender about pod groups",
}

_REFUSED = "plugin {} runs at {}, which an extender cannot serve: {}"
_ADVICE = (
    "run it in a scheduler (mooring run), or give a --config whose profile enables it only at "
    "preFilter, filter, preScore, score or bind"
)
_NOTHING = "no plugin to serve: kube-scheduler runs the built-in ones itself"
_NOTHING_ADVICE = "give --plugin FILE.py:Class, or a --config that enables others than the defaults"

_BUILT_IN = frozenset(plugin.name for plugin in BUILT_INS)


def load_served(
    file: str | os.PathLike[str] | None,
    plugins: Sequence[type[Plugin]],
    registry: Registry,
    features: FeatureGates,
) -> LoadResult:
    """Return the configuration of an extender: a file's, or all points of the plugins.

    Raise ConfigError if it has a point that an extender cannot serve, or nothing to serve.
    """
    where = None if file is None else os.fspath(file)
    if file is None:
        # Asked of the classes, because the profile might refuse a second QueueSort first.
        _check(((one.name, point) for one in plugins for point in points_of(one)), where)
    loaded = resolve_config(file, plugins, registry, features)
    if file is not None:
        _check((found for profile in loaded.profiles for found in _added(profile)), where)
    profiles = tuple(served_profile(profile) for profile in loaded.profiles)
    if not any(profile.points[point] for profile in profiles for point in SERVED):
        raise ConfigError(_NOTHING, file=where, advice=_NOTHING_ADVICE)
    return replace(loaded, profiles=profiles)


def _check(found: Iterable[tuple[str, Point]], where: str | None) -> None:
    """Raise ConfigError if a plugin runs at a point that an extender cannot serve."""
    order = list(Point)
    refused = sorted(
        {one for one in found if one[1] in REASONS}, key=lambda one: (one[0], order.index(one[1]))
    )
    errors = [
        ConfigError(
            _REFUSED.format(name, point.label, REASONS[point]),
            file=where,
            advice=_ADVICE if (name, point) == refused[-1] else "",
        )
        for name, point in refused
    ]
    if errors:
        raise ConfigErrors(errors)


def _added(profile: ResolvedProfile) -> Iterator[tuple[str, Point]]:
    """Yield the plugins of a profile that are not built in, with the points they run at.

    Points that a file cannot name are left out, because a file cannot disable them either.
    """
    for point in CONFIGURABLE_POINTS:
        for name in profile.names(point):
            if name not in _BUILT_IN:
                yield name, point


def served_profile(profile: ResolvedProfile) -> ResolvedProfile:
    """Return a profile without the built-in plugins, and with the points that are served.

    Bind keeps DefaultBinder at the end, for the pods that the other Bind plugins leave to the next
    one.
    """
    points = {
        point: tuple(one for one in plugins if point in SERVED and one[0] not in _BUILT_IN)
        for point, plugins in profile.points.items()
    }
    if points[Point.BIND]:
        points[Point.BIND] = tuple(
            sorted(profile.points[Point.BIND], key=lambda one: one[0] in _BUILT_IN)
        )
    return replace(profile, points=points)


def total_weight(profiles: Sequence[ResolvedProfile]) -> int:
    """Return the sum of the weights of the Score plugins; the largest of all profiles."""
    return max(sum(weight for _, weight in profile.points[Point.SCORE]) for profile in profiles)


def served_verbs(profiles: Sequence[ResolvedProfile]) -> list[str]:
    """Return the verbs of kube-scheduler's configuration that some profile answers."""

    def any_at(*points: Point) -> bool:
        return any(profile.points[point] for profile in profiles for point in points)

    filters = any_at(Point.PRE_FILTER, Point.FILTER)
    verbs = {
        "filter": filters,
        "prioritize": any_at(Point.SCORE),
        "preempt": filters,
        "bind": any_at(Point.BIND),
    }
    return [verb for verb, is_served in verbs.items() if is_served]
