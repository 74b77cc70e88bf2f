"""The built-in plugins; they use only the public plugin contract."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import msgspec

from mooring.framework.features import FeatureGates
from mooring.framework.plugin import Plugin
from mooring.framework.releases import Release
from mooring.plugins.args import InTreeArgs
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


class BuiltIn(msgspec.Struct, frozen=True):
    """A built-in plugin and its part in a default profile."""

    plugin: type[Plugin]
    #: The weight of its scores; None if it has none.
    weight: int | None = None
    #: The feature gate that enables it in a default profile, or its name by release.
    gate: str | Callable[[Release], str] = ""

    def is_default(self, gates: FeatureGates) -> bool:
        """Return whether a profile that names no plugins has this one."""
        gate = self.gate if isinstance(self.gate, str) else self.gate(gates.release)
        return not gate or gates.enabled(gate)


#: Every built-in plugin, in the order of a default profile with every gate enabled.
# kube-scheduler: pkg/scheduler/apis/config/v1/default_plugins.go
DEFAULT_PROFILE: tuple[BuiltIn, ...] = (
    BuiltIn(SchedulingGates),
    BuiltIn(PrioritySort),
    BuiltIn(NodeName),
    BuiltIn(NodeUnschedulable),
    BuiltIn(TaintToleration, weight=3),
    BuiltIn(NodeAffinity, weight=2),
    BuiltIn(NodePorts),
    BuiltIn(DeferredPodScheduling, gate="InPlacePodVerticalScalingSchedulerPreemption"),
    BuiltIn(Fit, weight=1),
    BuiltIn(VolumeRestrictions),
    BuiltIn(NodeVolumeLimits),
    BuiltIn(VolumeBinding),
    BuiltIn(VolumeZone),
    BuiltIn(PodTopologySpread, weight=2),
    BuiltIn(InterPodAffinity, weight=2),
    # Before DefaultPreemption: freeing an idle claim is better than evicting a pod.
    BuiltIn(DynamicResources, weight=2, gate="DynamicResourceAllocation"),
    BuiltIn(DefaultPreemption),
    BuiltIn(BalancedAllocation, weight=1),
    BuiltIn(ImageLocality, weight=1),
    BuiltIn(DefaultBinder),
    BuiltIn(NodeDeclaredFeatures, gate="NodeDeclaredFeatures"),
    BuiltIn(GangScheduling, gate=lambda release: release.gang_scheduling_gate),
    BuiltIn(TopologyPlacementGenerator, gate="TopologyAwareWorkloadScheduling"),
    BuiltIn(PodGroupPodsCount, weight=1, gate="TopologyAwareWorkloadScheduling"),
)
#: Their classes, in the same order.
BUILT_INS: tuple[type[Plugin], ...] = tuple(row.plugin for row in DEFAULT_PROFILE)
#: The types of their arguments, by the name of the plugin.
ARGS_OF_PLUGIN: Mapping[str, type[InTreeArgs]] = {
    plugin.name: plugin.Args
    for plugin in BUILT_INS
    if plugin.Args is not None and issubclass(plugin.Args, InTreeArgs)
}
