"""Workload: nodes and pods that are created, changed and deleted at random, from a seed."""

from __future__ import annotations

import asyncio
import random as random_module
from collections.abc import Sequence
from typing import Any

from mooring.controlplane.strategic_patch import patched
from tests.soak.api_server import ApiServer
from tests.soak.approver import CALM_FROM, LABEL
from tests.soak.object_store import NODES, PODS, Json
from tests.soak.provisioner import HOSTNAME, Provisioner

ZONE = "topology.kubernetes.io/zone"
NAMESPACE = "default"
SCHEDULER = "default-scheduler"

_PRIORITIES = (0, 0, 0, 0, 10, 100)
_APPS = ("web", "db", "batch")


class Workload:
    """All actors but the scheduler: administrators, controllers, kubelets."""

    def __init__(
        self,
        server: ApiServer,
        random: random_module.Random,
        schedulers: Sequence[str] = (SCHEDULER,),
    ) -> None:
        self._schedulers = schedulers
        self._server = server
        self._store = server.store
        self._random = random
        self._pods = 0
        self._nodes = 0
        self._crowded = random.random() < 0.6
        self._sociable = random.random() < 0.4
        self._approved = random.random() < 0.4
        self._provisioner: Provisioner | None = None
        if random.random() < 0.3:
            self._provisioner = Provisioner(self._store, random, CALM_FROM)
        self._actions: list[Any] = []
        for action, most in (
            (self._add_pod, 12),
            (self._delete_pod, 4),
            (self._recreate_pod, 2),
            (self._finish_pod, 2),
            (self._label_pod, 1),
            (self._open_gate, 2),
            (self._add_node, 2),
            (self._delete_node, 1),
            (self._cordon_node, 1),
            (self._taint_node, 1),
            (self._label_node, 1),
            (self._grow_node, 1),
        ):
            self._actions += [action] * random.randint(most > 10, most)
        server.leaving = lambda: random.choice((0.01, 1.0, random.uniform(0.0, 30.0)))

    async def run(self, seconds: float) -> None:
        """Create some nodes and pods, and change them for some seconds."""
        loop, random = asyncio.get_running_loop(), self._random
        for _ in range(random.randint(1, 4)):
            self._add_node()
        for _ in range(random.randint(0, 12)):
            self._add_pod()
        end = loop.time() + seconds
        pace = random.choice((0.2, 1.0, 3.0))
        number = 40
        while number and loop.time() < end:
            await asyncio.sleep(random.expovariate(1.0 / pace))
            for _ in range(random.choice((1, 1, 1, 3))):
                random.choice(self._actions)()
            number -= 1

    # Pods.

    def _add_pod(self) -> None:
        self._pods += 1
        self._store.create(PODS, self._make_pod(f"pod-{self._pods}"))

    def _make_pod(self, name: str) -> Json:
        random = self._random
        cpu = random.choice((100, 500, 1000, 1500) if self._crowded else (50, 100, 200))
        requests = {"cpu": f"{cpu}m", "memory": f"{random.choice((64, 256, 1024))}Mi"}
        app = random.choice(_APPS)
        spec: Json = {
            "schedulerName": self._some_scheduler(),
            "containers": [{"name": "main", "image": "app", "resources": {"requests": requests}}],
            "priority": random.choice(_PRIORITIES),
            "restartPolicy": "Always",
            "terminationGracePeriodSeconds": 30,
        }
        if random.random() < 0.15:
            spec["nodeSelector"] = {"disk": "ssd"}
        if random.random() < 0.15:
            spec["tolerations"] = [{"key": "dedicated", "operator": "Exists"}]
        if random.random() < 0.1:
            spec["schedulingGates"] = [{"name": "later"}]
        # A pod that is nominated before it waits, and never preempts, keeps its nomination if the
        # scheduler dies meanwhile; kube-scheduler does not clear it either.
        if random.random() < 0.1 and not (self._approved or self._provisioner):
            spec["preemptionPolicy"] = "Never"
        if self._sociable and random.random() < 0.4:
            spec["affinity"] = self._make_affinity(app)
        if random.random() < 0.1:
            spec["topologySpreadConstraints"] = [
                {
                    "maxSkew": 1,
                    "topologyKey": ZONE,
                    "whenUnsatisfiable": random.choice(("DoNotSchedule", "ScheduleAnyway")),
                    "labelSelector": {"matchLabels": {"app": app}},
                }
            ]
        if self._provisioner is not None and random.random() < 0.4:
            claim = {"claimName": self._provisioner.add_claim(NAMESPACE)}
            spec["volumes"] = [{"name": "data", "persistentVolumeClaim": claim}]
        labels = {"app": app}
        if self._approved and random.random() < 0.5:
            labels[LABEL] = "yes"
        meta = {"name": name, "namespace": NAMESPACE, "labels": labels}
        return {
            "apiVersion": "v1",
            "kind": "Pod",
            "metadata": meta,
            "spec": spec,
            "status": {"phase": "Pending"},
        }

    def _some_scheduler(self) -> str:
        names = self._schedulers
        return names[0] if len(names) == 1 else self._random.choice(names)

    def _make_affinity(self, app: str) -> Json:
        side = self._random.choice(("podAffinity", "podAntiAffinity", "podAntiAffinity"))
        term = {
            "topologyKey": self._random.choice((HOSTNAME, ZONE)),
            "labelSelector": {"matchLabels": {"app": app}},
        }
        return {side: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}

    def _some_pod(self) -> Json | None:
        pods = self._store.list(PODS)
        return self._random.choice(pods) if pods else None

    def _delete_pod(self) -> None:
        pod = self._some_pod()
        if pod is not None:
            self._server.delete(PODS, pod["metadata"]["name"], NAMESPACE)

    def _recreate_pod(self) -> None:
        """Replace a pod by another one of the same name, as a StatefulSet may."""
        pod = self._some_pod()
        if pod is not None:
            name = pod["metadata"]["name"]
            self._store.remove(PODS, pod)
            self._store.create(PODS, self._make_pod(name))

    def _finish_pod(self) -> None:
        pod = self._some_pod()
        if pod is not None and pod["spec"].get("nodeName"):
            phase = self._random.choice(("Succeeded", "Failed"))
            self._store.replace(PODS, patched(pod, {"status": {"phase": phase}}))

    def _label_pod(self) -> None:
        pod = self._some_pod()
        if pod is not None:
            labels = {"app": self._random.choice(_APPS)}
            self._store.replace(PODS, patched(pod, {"metadata": {"labels": labels}}))

    def _open_gate(self) -> None:
        for pod in self._store.list(PODS):
            if pod["spec"].get("schedulingGates"):
                self._store.replace(PODS, patched(pod, {"spec": {"schedulingGates": None}}))
                return

    # Nodes.

    def _add_node(self) -> None:
        self._nodes += 1
        random, name = self._random, f"node-{self._nodes}"
        labels = {HOSTNAME: name, ZONE: random.choice("ab")}
        if random.random() < 0.5:
            labels["disk"] = "ssd"
        offer = {
            "cpu": str(random.choice((1, 2, 4))),
            "memory": f"{random.choice((2, 4, 8))}Gi",
            "pods": str(random.choice((4, 10, 110))),
        }
        self._store.create(
            NODES,
            {
                "apiVersion": "v1",
                "kind": "Node",
                "metadata": {"name": name, "labels": labels},
                "spec": {},
                "status": {"allocatable": offer, "capacity": offer},
            },
        )
        if self._provisioner is not None:
            self._provisioner.add_local_volume(name)

    def _some_node(self) -> Json | None:
        nodes = self._store.list(NODES)
        return self._random.choice(nodes) if nodes else None

    def _delete_node(self) -> None:
        """Delete a node; its pods are deleted after a while, and it may be added again, larger."""
        node = self._some_node()
        if node is None:
            return
        self._store.remove(NODES, node)
        loop, name = asyncio.get_running_loop(), node["metadata"]["name"]
        loop.call_later(self._random.uniform(1.0, 30.0), self._collect, name)
        if self._random.random() < 0.4:
            again = {**node, "metadata": {"name": name, "labels": node["metadata"]["labels"]}}
            loop.call_later(self._random.uniform(0.0, 10.0), self._store.create, NODES, again)

    def _collect(self, node_name: str) -> None:
        if self._store.find(NODES, node_name) is not None:
            return
        for pod in self._store.list(PODS):
            if pod["spec"].get("nodeName") == node_name:
                self._store.remove(PODS, pod)

    def _change_node(self, patch: Json) -> None:
        node = self._some_node()
        if node is not None:
            self._store.replace(NODES, patched(node, patch))

    def _cordon_node(self) -> None:
        self._change_node({"spec": {"unschedulable": self._random.choice((True, None))}})

    def _taint_node(self) -> None:
        taint = {"key": "dedicated", "value": "x", "effect": "NoSchedule"}
        self._change_node({"spec": {"taints": self._random.choice(([taint], None))}})

    def _label_node(self) -> None:
        labels = {"disk": self._random.choice(("ssd", None)), ZONE: self._random.choice("ab")}
        self._change_node({"metadata": {"labels": labels}})

    def _grow_node(self) -> None:
        node = self._some_node()
        if node is not None:
            cpu = str(int(node["status"]["allocatable"]["cpu"]) + 1)
            offer = {"cpu": cpu}
            patch = {"status": {"allocatable": offer, "capacity": offer}}
            self._store.replace(NODES, patched(node, patch))
