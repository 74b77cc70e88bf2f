"""The plugins that each older version ran by default, and the points of today's default plugins.

A *version* of the file fixed its default plugins and their weights: kube-scheduler 1.25 read both
v1beta2 and v1beta3, and gave TaintToleration the weight 1 in the first and 3 in the second.
Conversion therefore keeps the plugins and weights of the version. What a *release* added since then
(SchedulingGates, DynamicResources, NodeDeclaredFeatures, a PreFilter for VolumeZone …) does not
depend on the version, so conversion leaves it, and the relative order of the default plugins, as
they are today.
"""

# kube-scheduler 1.18: algorithmprovider/registry.go; 1.22: apis/config/v1beta1/default_plugins.go;
# 1.25: apis/config/v1beta2/default_plugins.go

from __future__ import annotations

from functools import cache

from mooring.config.defaults import default_plugins
from mooring.framework.features import FeatureGates
from mooring.framework.points import CONFIGURABLE_POINTS, GROUP_POINTS
from mooring.framework.releases import NEWEST, RELEASES, Release, parse_versions
from mooring.plugins import BUILT_INS
from mooring.registry import PointsByName, Registry

#: Point -> the plugins that run there, with weights at score.
DefaultPlugins = dict[str, tuple[tuple[str, int | None], ...]]

LEAST_ALLOCATED = "NodeResourcesLeastAllocated"
MOST_ALLOCATED = "NodeResourcesMostAllocated"
CAPACITY_RATIO = "RequestedToCapacityRatio"
FIT = "NodeResourcesFit"
SPREAD = "PodTopologySpread"
#: SelectorSpread's name until 1.18, and its name from 1.19 on.
SELECTOR_SPREADS = ("DefaultPodTopologySpread", "SelectorSpread")

#: The points that a file can name, in the order of a scheduling attempt.
POINTS: tuple[str, ...] = tuple(
    point.key for point in CONFIGURABLE_POINTS if point not in GROUP_POINTS
)


def _plain(names: str) -> tuple[tuple[str, None], ...]:
    return tuple((name, None) for name in names.split())


_FILTERS = (
    "NodeUnschedulable NodeName TaintToleration NodeAffinity NodePorts NodeResourcesFit "
    "VolumeRestrictions EBSLimits GCEPDLimits NodeVolumeLimits AzureDiskLimits VolumeBinding "
    "VolumeZone PodTopologySpread InterPodAffinity"
)

V1BETA2: DefaultPlugins = {
    "queueSort": _plain("PrioritySort"),
    "preFilter": _plain(
        "NodeResourcesFit NodePorts VolumeRestrictions PodTopologySpread InterPodAffinity "
        "VolumeBinding NodeAffinity"
    ),
    "filter": _plain(_FILTERS),
    "postFilter": _plain("DefaultPreemption"),
    "preScore": _plain("InterPodAffinity PodTopologySpread TaintToleration NodeAffinity"),
    "score": (
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("InterPodAffinity", 1),
        (FIT, 1),
        ("NodeAffinity", 1),
        (SPREAD, 2),
        ("TaintToleration", 1),
    ),
    "reserve": _plain("VolumeBinding"),
    "permit": (),
    "preBind": _plain("VolumeBinding"),
    "bind": _plain("DefaultBinder"),
    "postBind": (),
}

V1BETA1: DefaultPlugins = {
    **V1BETA2,
    "score": (
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("InterPodAffinity", 1),
        (LEAST_ALLOCATED, 1),
        ("NodeAffinity", 1),
        ("NodePreferAvoidPods", 10000),
        (SPREAD, 2),
        ("TaintToleration", 1),
    ),
}

#: For v1alpha2, and for v1alpha1's algorithmSource.provider DefaultProvider. Preemption and volume
#: binding were not plugins yet.
V1ALPHA: DefaultPlugins = {
    "queueSort": _plain("PrioritySort"),
    "preFilter": _plain("NodeResourcesFit NodePorts InterPodAffinity PodTopologySpread"),
    "filter": _plain(_FILTERS),
    "postFilter": (),
    "preScore": _plain(
        "InterPodAffinity DefaultPodTopologySpread TaintToleration PodTopologySpread"
    ),
    "score": (
        ("NodeResourcesBalancedAllocation", 1),
        ("ImageLocality", 1),
        ("InterPodAffinity", 1),
        (LEAST_ALLOCATED, 1),
        ("NodeAffinity", 1),
        ("NodePreferAvoidPods", 10000),
        ("DefaultPodTopologySpread", 1),
        ("TaintToleration", 1),
        (SPREAD, 1),
    ),
    "reserve": (),
    "permit": (),
    "preBind": (),
    "bind": _plain("DefaultBinder"),
    "postBind": (),
}

#: For algorithmSource.provider ClusterAutoscalerProvider, which prefers full nodes to empty ones.
CLUSTER_AUTOSCALER: DefaultPlugins = {
    **V1ALPHA,
    "score": tuple(
        (MOST_ALLOCATED if name == LEAST_ALLOCATED else name, weight)
        for name, weight in V1ALPHA["score"]
    ),
}


def _in_tree_points() -> dict[str, frozenset[str]]:
    registry = Registry(BUILT_INS)
    releases = [PointsByName(registry, release) for release in RELEASES]
    common = {
        name: frozenset.intersection(*(one[name] for one in releases)) for name in registry.names()
    }
    return {
        name: frozenset(point.key for point in points if point.key)
        for name, points in common.items()
    }


#: The points at which built-in plugins take part in every release, and which a converted file may
#: name.
IN_TREE_POINTS = _in_tree_points()


@cache
def today(release: Release = NEWEST) -> dict[str, int | None]:
    """Return the default plugins of a release, in order, with their weights."""
    version = parse_versions((release.version,))
    return dict(default_plugins(FeatureGates(version=version)))


def today_at(point: str, release: Release = NEWEST) -> list[str]:
    """Return the names of a release's default plugins that take part at a point, in order.

    >>> today_at("bind")
    ['DefaultBinder']
    """
    return [name for name in today(release) if point in IN_TREE_POINTS[name]]
