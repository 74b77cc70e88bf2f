"""Provisioner: claims, volumes and the controllers that bind them, for soaks.

It simulates the volume controller, which binds the claim that a volume names, and a provisioner,
which makes a volume for the node that a claim names, or fails and removes the name. Both act with a
delay, and always see the current state.
"""

# kubernetes: pkg/controller/volume/persistentvolume/pv_controller.go

from __future__ import annotations

import asyncio
import random as random_module

from mooring.api import PersistentVolume, PersistentVolumeClaim, decode_as, encode
from mooring.controlplane.bound_volumes import bound_claim, bound_volume, may_bind
from mooring.controlplane.strategic_patch import patched
from tests.soak.object_store import Json, ObjectStore

CLAIMS = "/api/v1/persistentvolumeclaims"
VOLUMES = "/api/v1/persistentvolumes"
CLASSES = "/apis/storage.k8s.io/v1/storageclasses"

HOSTNAME = "kubernetes.io/hostname"
SELECTED_NODE = "volume.kubernetes.io/selected-node"
#: Storage classes: of existing volumes, and of volumes that are provisioned.
LOCAL, MADE = "local", "made"


class Provisioner:
    """A simulated volume controller and provisioner, with two storage classes."""

    def __init__(
        self, store: ObjectStore, random: random_module.Random, refusing_until: float
    ) -> None:
        self._store = store
        self._random = random
        self._refusing_until = refusing_until
        self._number = 0
        for name, who in ((LOCAL, "kubernetes.io/no-provisioner"), (MADE, "simulated.example")):
            store.create(
                CLASSES,
                {
                    "apiVersion": "storage.k8s.io/v1",
                    "kind": "StorageClass",
                    "metadata": {"name": name},
                    "provisioner": who,
                    "volumeBindingMode": "WaitForFirstConsumer",
                },
            )
        store.listen(self._look)

    def add_claim(self, namespace: str) -> str:
        """Create a claim and return its name."""
        self._number += 1
        name = f"claim-{self._number}"
        self._store.create(
            CLAIMS,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": {"name": name, "namespace": namespace},
                "spec": {
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": self._random.choice((LOCAL, MADE, MADE)),
                    "resources": {"requests": {"storage": "1Gi"}},
                    "volumeMode": "Filesystem",
                },
                "status": {"phase": "Pending"},
            },
        )
        return name

    def add_local_volume(self, node_name: str) -> None:
        """Create a volume that only one node can reach."""
        self._number += 1
        self._create_volume(f"volume-{self._number}", LOCAL, node_name, {})

    def _create_volume(self, name: str, kind: str, node_name: str, more: Json) -> Json:
        term = {"matchExpressions": [{"key": HOSTNAME, "operator": "In", "values": [node_name]}]}
        return self._store.create(
            VOLUMES,
            {
                "apiVersion": "v1",
                "kind": "PersistentVolume",
                "metadata": {"name": name},
                "spec": {
                    "capacity": {"storage": "1Gi"},
                    "accessModes": ["ReadWriteOnce"],
                    "storageClassName": kind,
                    "volumeMode": "Filesystem",
                    "nodeAffinity": {"required": {"nodeSelectorTerms": [term]}},
                    **more,
                },
                "status": {"phase": "Available"},
            },
        )

    def _look(self, collection: str) -> None:
        if collection not in (CLAIMS, VOLUMES):
            return
        (change,) = self._store.since(collection, self._store.version - 1)
        if change.type == "DELETED":
            return
        loop, meta = asyncio.get_running_loop(), change.object["metadata"]
        soon = self._random.choice((0.01, self._random.uniform(0.0, 5.0)))
        if collection == VOLUMES:
            loop.call_later(soon, self._finish, meta["name"])
        elif SELECTED_NODE in meta.get("annotations", {}):
            loop.call_later(soon, self._provision, meta["name"], meta["namespace"])

    def _provision(self, name: str, namespace: str) -> None:
        """Provision the volume of a claim, or fail."""
        claim = self._store.find(CLAIMS, name, namespace)
        if claim is None or claim["spec"].get("volumeName"):
            return
        node_name = claim["metadata"].get("annotations", {}).get(SELECTED_NODE)
        volume_name = f"made-for-{name}"
        if not node_name or self._store.find(VOLUMES, volume_name) is not None:
            return
        refusing = asyncio.get_running_loop().time() < self._refusing_until
        if refusing and self._random.random() < 0.2:
            patch = {"metadata": {"annotations": {SELECTED_NODE: None}}}
            self._store.replace(CLAIMS, patched(claim, patch))
            return
        reference = {"name": name, "namespace": namespace, "uid": claim["metadata"]["uid"]}
        self._create_volume(volume_name, MADE, node_name, {"claimRef": reference})

    def _finish(self, name: str) -> None:
        """Bind the claim that a volume names."""
        volume = self._store.find(VOLUMES, name)
        reference = None if volume is None else volume["spec"].get("claimRef")
        if volume is None or not reference or volume["status"]["phase"] == "Bound":
            return
        claim = self._store.find(CLAIMS, reference["name"], reference["namespace"])
        if claim is None or claim["metadata"]["uid"] != reference.get("uid"):
            return
        old = decode_as(volume, PersistentVolume), decode_as(claim, PersistentVolumeClaim)
        if not may_bind(old[1], old[0]):
            return
        bound = bound_volume(*old)
        self._store.replace(VOLUMES, encode(bound))
        self._store.replace(CLAIMS, encode(bound_claim(old[1], bound)))
