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
    "PodState": "mooring.contrib.pod_state:PodState",
    "PreemptionToleration": "mooring.contrib.preemption_toleration:PreemptionToleration",
    "QOSSort": "mooring.contrib.qos_sort:QOSSort",
}
