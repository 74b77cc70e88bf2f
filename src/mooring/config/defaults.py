"""The defaults of the configuration file: every number and text that kube-scheduler fills in.

The defaults of a plugin's arguments are in its `Args`, the default plugins with their weights in
`mooring.plugins`.
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


def default_plugins(gates: FeatureGates) -> tuple[tuple[str, int | None], ...]:
    """Return the multiPoint plugins of a profile that names none, in order, with their weights."""
    # Imported here, because the flags need the numbers above alone, and plugins load slowly.
    from mooring.plugins import DEFAULT_PROFILE

    plugins = {row.plugin.name: row.weight for row in DEFAULT_PROFILE if row.is_default(gates)}
    if not gates.release.node_name_first:
        plugins = _before(plugins, "NodeUnschedulable", "NodeName")
    return tuple(plugins.items())


def _before(plugins: Mapping[str, int | None], name: str, other: str) -> dict[str, int | None]:
    """Return plugins with one moved before another."""
    moved: dict[str, int | None] = {}
    for key, weight in plugins.items():
        if key == other:
            moved[name] = plugins[name]
        if key != name:
            moved[key] = weight
    return moved
