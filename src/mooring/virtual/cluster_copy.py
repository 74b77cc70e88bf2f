"""ClusterCopy: the objects of a cluster and a scheduler's rules, for questions about them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec
from msgspec.structs import replace

from mooring.api import CustomResource, KubeObject, find_kind
from mooring.config.load import LoadResult
from mooring.config.resolved_profile import ResolvedProfile
from mooring.errors import ConfigError
from mooring.framework.features import FeatureGates
from mooring.framework.points import Point
from mooring.registry import Registry
from mooring.scheduler.running_scheduler import RunningScheduler

#: The highest weight of a Score plugin.
MOST_WEIGHT = 2**31 - 1


class ClusterCopy(msgspec.Struct, frozen=True):
    """The objects of a cluster, and the rules that are applied to them."""

    objects: Sequence[KubeObject]
    config: LoadResult
    registry: Registry
    features: FeatureGates
    #: Objects of kinds that are not in the table of kinds, by "plural.version.group".
    custom: Mapping[str, Sequence[CustomResource]] = msgspec.field(default_factory=dict)


def copy_cluster(
    running: RunningScheduler, config: LoadResult, registry: Registry, features: FeatureGates
) -> ClusterCopy:
    """Copy the objects that a scheduler holds; call it on the scheduler's event loop."""
    objects: list[KubeObject] = []
    custom: dict[str, Sequence[CustomResource]] = {}
    for informer in running.informers:
        found = list(informer.store)
        if found and isinstance(found[0], CustomResource) and not _is_known(found[0]):
            custom[informer.name] = found
        else:
            objects += found
    return ClusterCopy(objects, config, registry, features, custom)


def _is_known(obj: CustomResource) -> bool:
    return find_kind(obj.api_version, obj.kind) is not None


def with_weights(config: LoadResult, weights: Mapping[str, int], profile: str = "") -> LoadResult:
    """Return a configuration with other weights of Score plugins; see `change_weights`."""
    profiles = [one for one in config.profiles if profile in ("", one.scheduler_name)]
    if not profiles:
        names = ", ".join(one.scheduler_name for one in config.profiles)
        raise ConfigError(f'there is no profile "{profile}"; profiles: {names}')
    scoring = {name for one in profiles for name in one.names(Point.SCORE)}
    for name, weight in weights.items():
        if name not in scoring:
            known = ", ".join(sorted(scoring))
            raise ConfigError(f'no Score plugin is called "{name}"; Score plugins: {known}')
        if not 0 <= weight <= MOST_WEIGHT:
            raise ConfigError(f"the weight of {name} must be 0 to {MOST_WEIGHT}, got {weight}")
    changed = tuple(_weighted(one, weights) if one in profiles else one for one in config.profiles)
    return replace(config, profiles=changed)


def _weighted(profile: ResolvedProfile, weights: Mapping[str, int]) -> ResolvedProfile:
    points = dict(profile.points)
    for point in (Point.PRE_SCORE, Point.SCORE):
        points[point] = tuple(
            (name, weights.get(name, weight))
            for name, weight in points[point]
            if weights.get(name) != 0
        )
    return replace(profile, points=points)
