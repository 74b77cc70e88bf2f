"""Plugins that come with Mooring but are in no default profile; they use the public API only.

The plugins of the scheduler-plugins family are registered by name out of the box: a configuration
that names one of them needs no `--plugin`. Their modules are loaded when they are first named.
"""

from __future__ import annotations

#: The plugins that are registered by name: "module:Class" of each.
PLUGINS: dict[str, str] = {
    "CapacityScheduling": "mooring.contrib.capacity_scheduling:CapacityScheduling",
    "Coscheduling": "mooring.contrib.coscheduling:Coscheduling",
    "CrossNodePreemption": "mooring.contrib.cross_node_preemption:CrossNodePreemption",
    "LoadVariationRiskBalancing": (
        "mooring.contrib.load_variation_risk_balancing:LoadVariationRiskBalancing"
    ),
    "LowRiskOverCommitment": "mooring.contrib.low_risk_over_commitment:LowRiskOverCommitment",
    "NetworkOverhead": "mooring.contrib.network_overhead:NetworkOverhead",
    "NodeMetadata": "mooring.contrib.node_metadata:NodeMetadata",
    "NodeResourceTopologyMatch": (
        "mooring.contrib.node_resource_topology:NodeResourceTopologyMatch"
    ),
    "NodeResourcesAllocatable": (
        "mooring.contrib.node_resources_allocatable:NodeResourcesAllocatable"
    ),
    "Peaks": "mooring.contrib.peaks:Peaks",
    "PodState": "mooring.contrib.pod_state:PodState",
    "PreemptionToleration": "mooring.contrib.preemption_toleration:PreemptionToleration",
    "QOSSort": "mooring.contrib.qos_sort:QOSSort",
    "SySched": "mooring.contrib.sysched:SySched",
    "TargetLoadPacking": "mooring.contrib.target_load_packing:TargetLoadPacking",
    "TopologicalSort": "mooring.contrib.topological_sort:TopologicalSort",
}
