"""The defaults of the configuration file: every number and list that kube-scheduler fills in.

The defaults of a plugin's arguments are in its `Args`.
"""

# kube-scheduler: pkg/scheduler/apis/config/v1/defaults.go, default_plugins.go

from __future__ import annotations

from collections.abc import Mapping

from mooring.api.durations import Duration
from mooring.framework.features import FeatureGates

API_VERSION = "kubescheduler.config.k8s.io/v1"
KIND = "KubeSchedulerConfiguration"

PARALLELISM = 16
#: 0 means the adaptive percentage: as the cluster grows, a smaller share of nodes is scored.
PERCENTAGE_OF_NODES_TO_SCORE = 0
POD_INITIAL_BACKOFF_SECONDS = 1
POD_MAX_BACKOFF_SECONDS = 10
SCHEDULER_NAME = "default-scheduler"
ENABLE_PROFILING = True

LEADER_ELECT = True
LEASE_DURATION = Duration.from_seconds(15)
RENEW_DEADLINE = Duration.from_seconds(10)
RETRY_PERIOD = Duration.from_seconds(2)
RESOURCE_LOCK = "leases"
RESOURCE_NAME = "kube-scheduler"
RESOURCE_NAMESPACE = "kube-system"

CONTENT_TYPE = "application/vnd.kubernetes.protobuf"
QPS = 50.0
BURST = 100

#: For extenders that set no timeout. # kube-scheduler: pkg/scheduler/extender.go
EXTENDER_TIMEOUT = Duration.from_seconds(5)

_DEFAULT_PLUGINS: tuple[tuple[str, int | None], ...] = (
    ("SchedulingGates", None),
    ("PrioritySort", None),
    ("NodeName", None),
    ("NodeUnschedulable", None),
    ("TaintToleration", 3),
    ("NodeAffinity", 2),
    ("NodePorts", None),
    ("NodeResourcesFit", 1),
    ("VolumeRestrictions", None),
    ("NodeVolumeLimits", None),
    ("VolumeBinding", None),
    ("VolumeZone", None),
    ("PodTopologySpread", 2),
    ("InterPodAffinity", 2),
    # Before DefaultPreemption: freeing an idle claim is better than evicting a pod.
    ("DynamicResources", 2),
    ("DefaultPreemption", None),
    ("NodeResourcesBalancedAllocation", 1),
    ("ImageLocality", 1),
    ("DefaultBinder", None),
)
_TOPOLOGY_PLUGINS: tuple[tuple[str, int | None], ...] = (
    ("TopologyPlacementGenerator", None),
    ("PodGroupPodsCount", 1),
)


def default_plugins(gates: FeatureGates) -> tuple[tuple[str, int | None], ...]:
    """Return the multiPoint plugins of a profile that names none, in order, with their weights."""
    plugins = dict(_DEFAULT_PLUGINS)
    if not gates.release.node_name_first:
        plugins = _before(plugins, "NodeUnschedulable", "NodeName")
    if gates.enabled("InPlacePodVerticalScalingSchedulerPreemption"):
        plugins = _before(plugins, "DeferredPodScheduling", "NodeResourcesFit")
    if not gates.enabled("DynamicResourceAllocation"):
        del plugins["DynamicResources"]
    if gates.enabled("NodeDeclaredFeatures"):
        plugins["NodeDeclaredFeatures"] = None
    if gates.enabled(gates.release.gang_scheduling_gate):
        plugins["GangScheduling"] = None
    if gates.enabled("TopologyAwareWorkloadScheduling"):
        plugins.update(_TOPOLOGY_PLUGINS)
    return tuple(plugins.items())


def _before(plugins: Mapping[str, int | None], name: str, other: str) -> dict[str, int | None]:
    """Return plugins with one added or moved before another."""
    found: dict[str, int | None] = {}
    for one, weight in plugins.items():
        if one == other:
            found[name] = plugins.get(name)
        if one != name:
            found[one] = weight
    return found
