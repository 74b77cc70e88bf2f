"""The predicates and priorities that a Policy could name, and the plugins behind them."""

# kube-scheduler 1.22: framework/plugins/legacy_registry.go

from __future__ import annotations

from mooring.config.convert import removed
from mooring.config.convert.default_plugins import (
    CAPACITY_RATIO,
    FIT,
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    SPREAD,
)

#: Predicates that always ran.
MANDATORY = ("PodToleratesNodeTaints", "CheckNodeUnschedulable")
#: The predicates that run if a Policy has no `predicates`.
DEFAULT_PREDICATES = (
    "NoVolumeZoneConflict",
    "MaxEBSVolumeCount",
    "MaxGCEPDVolumeCount",
    "MaxAzureDiskVolumeCount",
    "MaxCSIVolumeCountPred",
    "MatchInterPodAffinity",
    "NoDiskConflict",
    "GeneralPredicates",
    "PodToleratesNodeTaints",
    "CheckVolumeBinding",
    "CheckNodeUnschedulable",
    "EvenPodsSpread",
)
#: The priorities that score if a Policy has no `priorities`.
DEFAULT_PRIORITIES = {
    "SelectorSpreadPriority": 1,
    "InterPodAffinityPriority": 1,
    "LeastRequestedPriority": 1,
    "BalancedResourceAllocation": 1,
    "NodePreferAvoidPodsPriority": 10000,
    "NodeAffinityPriority": 1,
    "TaintTolerationPriority": 1,
    "ImageLocalityPriority": 1,
    "EvenPodsSpreadPriority": 2,
}

#: Predicate -> the plugins that implement it, in the order in which predicates ran.
PREDICATES: dict[str, tuple[str, ...]] = {
    "CheckNodeUnschedulable": ("NodeUnschedulable",),
    "GeneralPredicates": (FIT, "NodeName", "NodePorts", "NodeAffinity"),
    "HostName": ("NodeName",),
    "PodFitsHostPorts": ("NodePorts",),
    "MatchNodeSelector": ("NodeAffinity",),
    "PodFitsResources": (FIT,),
    "NoDiskConflict": ("VolumeRestrictions",),
    "PodToleratesNodeTaints": ("TaintToleration",),
    "CheckNodeLabelPresence": (removed.NODE_LABEL,),
    "CheckServiceAffinity": (removed.SERVICE_AFFINITY,),
    "MaxEBSVolumeCount": ("EBSLimits",),
    "MaxGCEPDVolumeCount": ("GCEPDLimits",),
    "MaxCSIVolumeCountPred": ("NodeVolumeLimits",),
    "MaxAzureDiskVolumeCount": ("AzureDiskLimits",),
    "MaxCinderVolumeCount": ("CinderLimits",),
    "CheckVolumeBinding": ("VolumeBinding",),
    "NoVolumeZoneConflict": ("VolumeZone",),
    "EvenPodsSpread": (SPREAD,),
    "MatchInterPodAffinity": ("InterPodAffinity",),
}
#: Priority -> the plugin that implements it.
PRIORITIES: dict[str, str] = {
    "SelectorSpreadPriority": SPREAD,
    "TaintTolerationPriority": "TaintToleration",
    "NodeAffinityPriority": "NodeAffinity",
    "ImageLocalityPriority": "ImageLocality",
    "InterPodAffinityPriority": "InterPodAffinity",
    "NodePreferAvoidPodsPriority": removed.AVOID_PODS,
    "MostRequestedPriority": MOST_ALLOCATED,
    "BalancedResourceAllocation": "NodeResourcesBalancedAllocation",
    "LeastRequestedPriority": LEAST_ALLOCATED,
    "EvenPodsSpreadPriority": SPREAD,
    CAPACITY_RATIO: CAPACITY_RATIO,
    removed.NODE_LABEL: removed.NODE_LABEL,
    removed.SERVICE_AFFINITY: removed.SERVICE_AFFINITY,
}
#: Other spellings, kept by 1.22 "for compatibility reasons".
ALIASES = {
    "PodFitsPorts": "PodFitsHostPorts",
    "ServiceSpreadingPriority": "SelectorSpreadPriority",
}
EQUAL_PRIORITY = "EqualPriority"
#: kube-scheduler 1.22: apis/config/types.go, MaxWeight
MAX_WEIGHT = (2**63 - 1) // 10
