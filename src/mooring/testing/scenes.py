"""Clusters and pods generated from a seed: small, and with something for every kind of rule.

They contain nothing that is impossible in a real cluster: a host port is used once per node, a
ReadWriteOncePod claim by one pod, claims have distinct names, and allocatable is at most capacity.
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from typing import Any

import msgspec

from mooring.api import KubeObject, Node, Pod
from mooring.testing.builders import HOSTNAME, ZONE, make_node, make_pod
from mooring.testing.generated_objects import (
    CLAIMS,
    NAMESPACES,
    ONE_POD_CLAIM,
    make_surroundings,
)
from mooring.testing.plugin_constants import Words

RACK = "rack"
GPU = "example.com/gpu"
IMAGES = {"app:1": 200 * 2**20, "db:2": 900 * 2**20, "tool": 30 * 2**20}
PORTS = (80, 443, 8080)
TAINTS = ("gpu=true:NoSchedule", "spot:PreferNoSchedule", "old:PreferNoSchedule", "down:NoExecute")
FEATURES = ("RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport")

_VALUES = ("true", "false", "0", "1", "3", "17")


class Scene(msgspec.Struct, frozen=True):
    """One generated cluster, with the pods to run a plugin on."""

    nodes: Sequence[Node]
    #: Pods on nodes.
    placed: Sequence[Pod]
    #: Pods without a node.
    pending: Sequence[Pod]
    #: Pods that name a node and do not run there: a scheduler never gets them, but NodeName is
    #: about them.
    named: Sequence[Pod]
    #: Everything else.
    objects: Sequence[KubeObject]

    @property
    def asked(self) -> list[Pod]:
        """Return the pods to run the plugin on."""
        return [*self.pending, *self.named]

    def objects_with(
        self,
        nodes: Sequence[Node] | None = None,
        add: Sequence[Pod] = (),
        without: Pod | None = None,
    ) -> list[KubeObject]:
        """Return all objects, with other nodes, added pods, or without one pod."""
        added = {pod.uid for pod in add}
        kept = [pod for pod in (*self.placed, *self.pending) if pod is not without]
        return [
            *(self.nodes if nodes is None else nodes),
            *self.objects,
            *(pod for pod in kept if pod.uid not in added),
            *add,
        ]


class SceneMaker:
    """A generator of scenes from a source of random numbers."""

    def __init__(self, rng: random.Random, words: Words) -> None:
        self._rng = rng
        self._words = words
        self._keys: list[str] = []
        self._values: list[str] = []
        #: Claims for a single pod that a pod of the scene already uses.
        self._held: set[str] = set()

    def make(
        self,
        nodes: Sequence[Node] = (),
        pods: Sequence[Pod] = (),
        objects: Sequence[KubeObject] = (),
    ) -> Scene:
        """Return a scene that contains the given objects."""
        rng = self._rng
        self._choose_words()
        self._held.clear()
        made = [self._node(f"n{index}") for index in range(rng.randint(1, 7))]
        names = [node.name for node in made]
        placed = []
        for name in names:
            ports = list(PORTS)
            for index in range(rng.randint(0, 3)):
                taken = [ports.pop(rng.randrange(len(ports)))] if rng.random() < 0.3 else []
                placed.append(self._pod(f"{name}-{index}", node=name, host_ports=taken))
        pending = [self._pending(f"p{index}") for index in range(4)]
        return Scene(
            nodes=[*made, *nodes],
            placed=[*placed, *(pod for pod in pods if pod.node_name)],
            pending=[*(pod for pod in pods if not pod.node_name), *pending],
            named=[make_pod("named", node=rng.choice(names))] if rng.random() < 0.3 else [],
            objects=[*make_surroundings(rng, names), *objects],
        )

    def _node(self, name: str) -> Node:
        rng = self._rng
        cpu, memory = rng.randint(1, 8), rng.randint(1, 16)
        labels = self._labels(0.7)
        for key, values in ((ZONE, "xyz"), (RACK, "12")):
            if rng.random() < 0.8:
                labels[key] = rng.choice(values)
        return make_node(
            name,
            cpu=cpu,
            memory=f"{memory}Gi",
            pods=rng.choice((2, 3, 110)),
            resources={GPU: rng.randint(0, 2)} if rng.random() < 0.4 else None,
            capacity={"cpu": cpu + rng.randint(0, 2), "memory": f"{memory + rng.randint(0, 2)}Gi"},
            labels=labels,
            annotations=self._labels(0.7),
            taints=rng.sample(TAINTS, rng.choice((0, 0, 0, 1, 2))),
            unschedulable=rng.random() < 0.15,
            images={image: size for image, size in IMAGES.items() if rng.random() < 0.4},
            status={"declaredFeatures": [one for one in FEATURES if rng.random() < 0.5]},
        )

    def _choose_words(self) -> None:
        """Choose a few words for a scene, so that nodes differ in the labels that a rule reads."""
        rng, words = self._rng, self._words
        keys = [key for key in words.keys if key not in (HOSTNAME, ZONE, RACK)]
        self._keys = rng.sample(keys, min(len(keys), 3))
        self._values = [rng.choice(words.values or _VALUES), rng.choice((*words.values, *_VALUES))]

    def _labels(self, chance: float) -> dict[str, str]:
        """Return labels that have each of the scene's keys with this probability."""
        rng = self._rng
        return {key: rng.choice(self._values) for key in self._keys if rng.random() < chance}

    def _pod(self, name: str, **more: Any) -> Pod:
        """Return a pod with random fields; `more` overrides them."""
        rng = self._rng
        namespace = rng.choice(NAMESPACES)
        spec: dict[str, Any] = {}
        if rng.random() < 0.3:
            spec["topologySpreadConstraints"] = [self._spread() for _ in range(rng.randint(1, 2))]
        if rng.random() < 0.1:
            spec |= {"hostNetwork": True, "hostUsers": False}
        if rng.random() < 0.2:
            spec["volumes"] = [self._disk()]
        fields: dict[str, Any] = {
            "namespace": namespace,
            "cpu": rng.choice((None, "100m", "1", "3")),
            "memory": rng.choice((None, "128Mi", "2Gi", "9Gi")),
            "requests": {GPU: 1} if rng.random() < 0.1 else None,
            "labels": {**rng.choice(({"app": "web"}, {"app": "db"}, {})), **self._labels(0.3)},
            "annotations": self._labels(0.3),
            "priority": rng.choice((None, 0, 5, 10)),
            "image": rng.choice(("", *IMAGES)),
            "tolerations": rng.sample(("gpu", "spot", "down:NoExecute", ""), rng.choice((0, 1, 2))),
            "affinity": self._affinity() if rng.random() < 0.5 else None,
            "claims": self._claims(namespace, "node" in more) if rng.random() < 0.3 else (),
            "spec": spec,
        }
        return make_pod(name, **{**fields, **more})

    def _claims(self, namespace: str, placed: bool) -> list[str]:
        claim = f"{namespace}-{self._rng.choice(CLAIMS)}"
        if placed and claim.endswith(ONE_POD_CLAIM):
            if claim in self._held:
                return []
            self._held.add(claim)
        return [claim]

    def _pending(self, name: str) -> Pod:
        rng = self._rng
        kind = rng.randrange(8)
        if kind == 0:
            return make_pod(name, namespace=rng.choice(NAMESPACES))
        if kind == 1:
            return make_pod(name, namespace="red", spec={"volumes": [self._disk()]})
        if kind == 2:
            claim = {"name": "c", "resourceClaimName": rng.choice(("device", "missing"))}
            return make_pod(name, namespace="red", spec={"resourceClaims": [claim]})
        if kind == 3:
            selector = self._labels(1.0) or {RACK: rng.choice("12")}
            return self._pod(name, node_selector=selector)
        ports = rng.sample(PORTS, rng.randint(1, 2)) if rng.random() < 0.4 else ()
        gates = ["wait"] if rng.random() < 0.1 else ()
        return self._pod(name, host_ports=ports, gates=gates)

    def _disk(self) -> dict[str, Any]:
        return {"name": "d", "gcePersistentDisk": {"pdName": self._rng.choice(("d1", "d2"))}}

    def _spread(self) -> dict[str, Any]:
        rng = self._rng
        return {
            "maxSkew": rng.randint(1, 2),
            "topologyKey": rng.choice((HOSTNAME, ZONE, RACK)),
            "whenUnsatisfiable": rng.choice(("DoNotSchedule", "ScheduleAnyway")),
            "labelSelector": self._selector(),
            **rng.choice(({}, {}, {"nodeTaintsPolicy": "Honor"}, {"nodeAffinityPolicy": "Ignore"})),
        }

    def _selector(self) -> dict[str, Any]:
        exists = {"matchExpressions": [{"key": "app", "operator": "Exists"}]}
        return self._rng.choice(
            ({"matchLabels": {"app": "web"}}, {"matchLabels": {"app": "db"}}, exists)
        )

    def _affinity(self) -> dict[str, Any]:
        rng = self._rng
        affinity: dict[str, Any] = {}
        for side in ("podAffinity", "podAntiAffinity"):
            if rng.random() < 0.5:
                affinity[side] = self._pod_affinity()
        if rng.random() < 0.5:
            terms = [{"matchExpressions": [self._expression()]} for _ in range(rng.randint(1, 2))]
            affinity["nodeAffinity"] = (
                {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
                if rng.random() < 0.5
                else {
                    "preferredDuringSchedulingIgnoredDuringExecution": [
                        {"weight": rng.randint(1, 100), "preference": term} for term in terms
                    ]
                }
            )
        return affinity

    def _pod_affinity(self) -> dict[str, Any]:
        rng = self._rng
        term: dict[str, Any] = {
            "topologyKey": rng.choice((HOSTNAME, ZONE, RACK)),
            "labelSelector": self._selector(),
        }
        if rng.random() < 0.3:
            term["namespaceSelector"] = rng.choice(({}, {"matchLabels": {"team": "one"}}))
        if rng.random() < 0.5:
            return {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
        weighed = {"weight": rng.randint(1, 100), "podAffinityTerm": term}
        return {"preferredDuringSchedulingIgnoredDuringExecution": [weighed]}

    def _expression(self) -> dict[str, Any]:
        rng = self._rng
        key, values = rng.choice(((ZONE, "xyz"), (RACK, "12")))
        operator = rng.choice(("In", "NotIn", "Exists", "DoesNotExist", "Gt"))
        if operator == "Gt":
            return {"key": RACK, "operator": "Gt", "values": ["1"]}
        if operator in ("Exists", "DoesNotExist"):
            return {"key": key, "operator": operator}
        return {"key": key, "operator": operator, "values": rng.sample(values, rng.randint(1, 2))}
