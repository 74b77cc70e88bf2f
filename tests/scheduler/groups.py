"""A scheduler with pod groups, whose API server is a few dictionaries."""

from __future__ import annotations

from typing import Any

from mooring.api import CompositePodGroup, Pod, WorkloadPodGroup
from mooring.framework.plugin import Plugin
from mooring.testing import make_composite_pod_group, make_node, make_pod, make_pod_group
from tests.app.world import World

CONDITION = "PodGroupInitiallyScheduled"
NOBODY = "pod group preemption: No preemption victims found for incoming preemptor"
UNSCHEDULABLE = "pod group is unschedulable"


class GroupWorld(World):
    """A World with the gate of pod groups on, and shortcuts for groups and their pods."""

    def __init__(
        self, *plugins: type[Plugin], gates: dict[str, bool] | None = None, **options: Any
    ) -> None:
        super().__init__(*plugins, gates={"GenericWorkload": True, **(gates or {})}, **options)

    def add_nodes(self, *names: str, cpu: int = 2, **options: Any) -> None:
        for name in names:
            self.nodes.add(make_node(name, cpu=cpu, **options))

    def add_group(self, name: str = "g", **options: Any) -> WorkloadPodGroup:
        group = make_pod_group(name, metadata={"uid": f"group-{name}"}, **options)
        self.groups.add(group)
        return group

    def add_composite(self, name: str, **options: Any) -> CompositePodGroup:
        group = make_composite_pod_group(name, metadata={"uid": f"composite-{name}"}, **options)
        self.informers.lister(CompositePodGroup).add(group)
        return group

    def add_pod(self, name: str, **options: Any) -> Pod:
        options.setdefault("cpu", 1)
        pod = make_pod(name, metadata={"uid": name}, **options)
        self.pods.add(pod)
        return pod

    def gang(self, name: str, count: int, min_count: int | None = None, **options: Any) -> None:
        """Add a gang and its pods, named after it."""
        priority = options.get("priority")
        topology = options.pop("topology", "")
        mode = options.pop("mode", "single")
        parent = options.pop("parent", None)
        self.add_group(
            name,
            parent=parent,
            min_count=min_count or count,
            priority=priority,
            topology=topology,
            disruption_mode=mode,
        )
        for index in range(count):
            self.add_pod(f"{name}-{index}", group=name, **options)

    def bound(self) -> dict[str, str]:
        """Return the nodes of the pods that are bound, by the pods' names."""
        return {pod.name: pod.spec.node_name for pod in self.pods if pod.spec.node_name}

    def told(self, name: str) -> tuple[str, str]:
        """Return the reason and message that were last written for a pod or group."""
        found = [(entry[1], entry[2]) for entry in self.client.writes if entry[0] == name]
        told = [entry for entry in found if entry[0] not in ("bound", "nominated")]
        return told[-1] if told else ("", "")
