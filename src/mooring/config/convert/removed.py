"""Plugins that no longer exist: what replaces each, or why nothing does."""

from __future__ import annotations

from mooring.config.convert.default_plugins import (
    CAPACITY_RATIO,
    LEAST_ALLOCATED,
    MOST_ALLOCATED,
    SELECTOR_SPREADS,
)

#: The limits of each cloud's disks: these are all CSI volumes now, counted by one plugin.
VOLUME_LIMITS = ("EBSLimits", "GCEPDLimits", "AzureDiskLimits", "CinderLimits")
VOLUME_LIMITS_GONE = (
    "{name} no longer exists: its volumes are CSI volumes now, which NodeVolumeLimits counts"
)

AVOID_PODS = "NodePreferAvoidPods"
AVOID_PODS_GONE = (
    "NodePreferAvoidPods no longer exists and is left out: to keep pods off a node, give the node "
    "a taint with the effect PreferNoSchedule, which TaintToleration scores"
)

SELECTOR_SPREAD_GONE = (
    "{name} no longer exists: PodTopologySpread's default constraints take its place"
)

NODE_LABEL = "NodeLabel"
NODE_LABEL_GONE = (
    "NodeLabel no longer exists: NodeAffinity's addedAffinity asks for the labels, and a node that "
    'is refused says "node(s) didn\'t match scheduler-enforced node affinity"'
)
NODE_LABEL_NEEDS_AFFINITY = (
    "NodeLabel no longer exists, and NodeAffinity, which would ask for the labels by its "
    "addedAffinity, does not run here: enable NodeAffinity at filter (the predicate "
    "MatchNodeSelector), or take NodeLabel out"
)
NODE_LABEL_SCORE = (
    "NodeLabel no longer exists and no plugin scores as it did: take it out, and give NodeAffinity "
    "the args addedAffinity.preferredDuringSchedulingIgnoredDuringExecution with one term for each "
    "label (operator Exists or DoesNotExist)"
)

SERVICE_AFFINITY = "ServiceAffinity"
SERVICE_AFFINITY_FILTER = (
    "ServiceAffinity no longer exists: take it out, and give the pods of the service a podAffinity "
    "whose topologyKey is the label"
)
SERVICE_AFFINITY_SCORE = (
    "ServiceAffinity no longer exists: take it out, and give PodTopologySpread the args "
    "defaultingType: List and defaultConstraints with, for each label, topologyKey: LABEL, "
    "maxSkew: 1, whenUnsatisfiable: ScheduleAnyway"
)

RESOURCE_LIMITS = "NodeResourceLimits"
RESOURCE_LIMITS_GONE = (
    "NodeResourceLimits no longer exists and nothing takes its place: take it out"
)

#: Point -> plugin -> why it is refused there.
REFUSED = {
    "preFilter": {SERVICE_AFFINITY: SERVICE_AFFINITY_FILTER},
    "filter": {SERVICE_AFFINITY: SERVICE_AFFINITY_FILTER},
    "preScore": {RESOURCE_LIMITS: RESOURCE_LIMITS_GONE},
    "score": {SERVICE_AFFINITY: SERVICE_AFFINITY_SCORE, RESOURCE_LIMITS: RESOURCE_LIMITS_GONE},
}

#: Plugins that v1beta2 removed. # kube-scheduler 1.22: apis/config/validation/validation.go
REMOVED_IN_V1BETA2 = {
    NODE_LABEL: "use NodeAffinity with the args addedAffinity",
    SERVICE_AFFINITY: "use podAffinity in the pods, or PodTopologySpread with defaultConstraints",
    AVOID_PODS: "give the node a taint with the effect PreferNoSchedule",
    LEAST_ALLOCATED: "use NodeResourcesFit with scoringStrategy.type: LeastAllocated",
    MOST_ALLOCATED: "use NodeResourcesFit with scoringStrategy.type: MostAllocated",
    CAPACITY_RATIO: "use NodeResourcesFit with scoringStrategy.type: RequestedToCapacityRatio",
}

MISPLACED = "{name} no longer exists, and took no part in {point}: take it out"
IDLE_STRATEGY = (
    "{name} was no default plugin in this version, so disabling it had no effect and is left out: "
    "to stop scoring by resources, disable NodeResourcesFit at score"
)
IDLE_REMOVED = "{name} no longer exists: disabling it has no effect and is left out"
UNUSED_ARGS = "{name} no longer exists, and this file does not enable it: its args are left out"
TWO_STRATEGIES = (
    "{first} and {second} cannot both score: both are NodeResourcesFit's scoringStrategy now, and "
    "it has one; keep one of them"
)
#: kube-scheduler 1.22: apis/config/validation/validation.go
CONFLICT = (
    'was conflict with ["{name}"] in version "{version}" '
    '(KubeSchedulerConfiguration is version "{version}")'
)
REMOVED = (
    'was removed in version "kubescheduler.config.k8s.io/v1beta2" '
    '(KubeSchedulerConfiguration is version "{version}"): {instead}'
)

ALL_REMOVED = frozenset(
    (*VOLUME_LIMITS, *REMOVED_IN_V1BETA2, *SELECTOR_SPREADS, RESOURCE_LIMITS),
)
