"""What the plugins of the scheduler-plugins family had in each configuration version.

Written by tools/family_schema.py from the published module sigs.k8s.io/scheduler-plugins v0.19.9 to
v0.27.8, and v0.34.7 for v1; do not edit. Per plugin: versions, its extension points in them, and
its arguments with their defaults (None: it has none).
"""

from __future__ import annotations

from typing import Any, NamedTuple


class FamilyPlugin(NamedTuple):
    """The points and arguments of a plugin in some versions."""

    versions: str
    points: str
    args: dict[str, Any]


TABLE: dict[str, tuple[FamilyPlugin, ...]] = {
    "CapacityScheduling": (
        FamilyPlugin("v1beta1", "preFilter postFilter reserve", {"kubeConfigPath": None}),
        FamilyPlugin("v1beta2 v1beta3 v1", "preFilter postFilter reserve", {}),
    ),
    "Coscheduling": (
        FamilyPlugin(
            "v1alpha2",
            "queueSort preFilter reserve permit",
            {
                "permitWaitingTimeSeconds": 10,
                "podGroupGCIntervalSeconds": 30,
                "podGroupExpirationTimeSeconds": 600,
            },
        ),
        FamilyPlugin(
            "v1beta1",
            "queueSort preFilter postFilter reserve permit postBind",
            {
                "permitWaitingTimeSeconds": 60,
                "deniedPGExpirationTimeSeconds": 20,
                "kubeMaster": None,
                "kubeConfigPath": None,
            },
        ),
        FamilyPlugin(
            "v1beta2 v1beta3",
            "queueSort preFilter postFilter reserve permit postBind",
            {
                "permitWaitingTimeSeconds": 60,
                "deniedPGExpirationTimeSeconds": 20,
                "podGroupBackoffSeconds": 0,
            },
        ),
        FamilyPlugin(
            "v1",
            "queueSort preFilter postFilter reserve permit",
            {
                "permitWaitingTimeSeconds": 60,
                "podGroupBackoffSeconds": 0,
                "podGroupRejectPercentage": 10,
            },
        ),
    ),
    "CrossNodePreemption": (FamilyPlugin("v1beta1 v1beta2 v1beta3 v1", "postFilter", {}),),
    "LoadVariationRiskBalancing": (
        FamilyPlugin(
            "v1beta1 v1beta2 v1beta3 v1",
            "score",
            {
                "metricProvider": None,
                "watcherAddress": None,
                "safeVarianceMargin": 1.0,
                "safeVarianceSensitivity": 1.0,
            },
        ),
    ),
    "LowRiskOverCommitment": (
        FamilyPlugin("v1beta2", "preScore score", {}),
        FamilyPlugin(
            "v1beta3 v1",
            "preScore score",
            {
                "metricProvider": None,
                "watcherAddress": None,
                "smoothingWindowSize": 5,
                "riskLimitWeights": {"cpu": 0.5, "memory": 0.5},
            },
        ),
    ),
    "NetworkOverhead": (
        FamilyPlugin("v1beta2", "preFilter filter score", {}),
        FamilyPlugin(
            "v1beta3 v1",
            "preFilter filter score",
            {
                "namespaces": ["default"],
                "weightsName": "UserDefined",
                "networkTopologyName": "nt-default",
            },
        ),
    ),
    "NodeResourceTopologyMatch": (
        FamilyPlugin(
            "v1beta1",
            "filter score",
            {
                "kubeconfigpath": "/etc/kubernetes/scheduler.conf",
                "masteroverride": None,
                "namespaces": ["default"],
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                },
            },
        ),
        FamilyPlugin(
            "v1beta2 v1beta3 v1",
            "filter score reserve postBind",
            {
                "scoringStrategy": {
                    "type": "LeastAllocated",
                    "resources": [{"name": "cpu", "weight": 1}, {"name": "memory", "weight": 1}],
                },
                "cacheResyncPeriodSeconds": None,
                "discardReservedNodes": None,
                "cache": {},
            },
        ),
    ),
    "NodeResourcesAllocatable": (
        FamilyPlugin(
            "v1beta1 v1beta2 v1beta3 v1",
            "score",
            {
                "resources": [{"name": "cpu", "weight": 1048576}, {"name": "memory", "weight": 1}],
                "mode": "Least",
            },
        ),
    ),
    "Peaks": (FamilyPlugin("v1", "score", {}),),
    "PodState": (FamilyPlugin("v1beta1 v1beta2 v1beta3 v1", "score", {}),),
    "PreemptionToleration": (
        FamilyPlugin("v1beta1", "postFilter", {}),
        FamilyPlugin(
            "v1beta2 v1beta3 v1",
            "postFilter",
            {"minCandidateNodesPercentage": None, "minCandidateNodesAbsolute": None},
        ),
    ),
    "QOSSort": (FamilyPlugin("v1alpha2 v1beta1 v1beta2 v1beta3 v1", "queueSort", {}),),
    "SySched": (
        FamilyPlugin(
            "v1",
            "score",
            {"defaultProfileNamespace": "default", "defaultProfileName": "all-syscalls"},
        ),
    ),
    "TargetLoadPacking": (
        FamilyPlugin(
            "v1beta1 v1beta2 v1beta3 v1",
            "score",
            {
                "defaultRequests": {"cpu": "1000m"},
                "defaultRequestsMultiplier": "1.5",
                "targetUtilization": 40,
                "metricProvider": None,
                "watcherAddress": None,
            },
        ),
    ),
    "TopologicalSort": (
        FamilyPlugin("v1beta2", "queueSort", {}),
        FamilyPlugin("v1beta3 v1", "queueSort", {"namespaces": ["default"]}),
    ),
}
