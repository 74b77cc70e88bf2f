"""The built-in plugins; they use only the public plugin contract."""

from __future__ import annotations

from mooring.framework.plugin import Plugin
from mooring.plugins.default_binder import DefaultBinder
from mooring.plugins.default_preemption import DefaultPreemption
from mooring.plugins.deferred_pod_scheduling import DeferredPodScheduling
from mooring.plugins.dynamic_resources import DynamicResources
from mooring.plugins.gang_scheduling import GangScheduling
from mooring.plugins.image_locality import ImageLocality
from mooring.plugins.inter_pod_affinity import InterPodAffinity
from mooring.plugins.node_affinity import NodeAffinity
from mooring.plugins.node_declared_features import NodeDeclaredFeatures
from mooring.plugins.node_name import NodeName
from mooring.plugins.node_ports import NodePorts
from mooring.plugins.node_resources import BalancedAllocation, Fit
from mooring.plugins.node_unschedulable import NodeUnschedulable
from mooring.plugins.pod_group_pods_count import PodGroupPodsCount
from mooring.plugins.pod_topology_spread import PodTopologySpread
from mooring.plugins.priority_sort import PrioritySort
from mooring.plugins.scheduling_gates import SchedulingGates
from mooring.plugins.taint_toleration import TaintToleration
from mooring.plugins.topology_placement_generator import TopologyPlacementGenerator
from mooring.plugins.volumes import (
    NodeVolumeLimits,
    VolumeBinding,
    VolumeRestrictions,
    VolumeZone,
)

#: Every built-in plugin, in the order of a default profile with every gate enabled.
BUILT_INS: tuple[type[Plugin], ...] = (
    SchedulingGates,
    PrioritySort,
    NodeName,
    NodeUnschedulable,
    TaintToleration,
    NodeAffinity,
    NodePorts,
    DeferredPodScheduling,
    Fit,
    VolumeRestrictions,
    NodeVolumeLimits,
    VolumeBinding,
    VolumeZone,
    PodTopologySpread,
    InterPodAffinity,
    DynamicResources,
    DefaultPreemption,
    BalancedAllocation,
    ImageLocality,
    DefaultBinder,
    NodeDeclaredFeatures,
    GangScheduling,
    TopologyPlacementGenerator,
    PodGroupPodsCount,
)
