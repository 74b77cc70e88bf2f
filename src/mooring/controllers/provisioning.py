"""The volumes that a provisioner would create."""

# kubernetes-csi/external-provisioner: pkg/controller/{controller,topology}.go

from __future__ import annotations

from mooring.api import CSINode, Node, PersistentVolumeClaim, StorageClass
from mooring.api import volume_claims as claims_of
from mooring.controllers.writer import Object

PROVISIONED_BY = "pv.kubernetes.io/provisioned-by"


def new_volume(
    claim: PersistentVolumeClaim,
    storage_class: StorageClass,
    node: Node | None,
    csi_node: CSINode | None,
) -> Object:
    """Return the volume for a claim: of its size, accessible from its node's topology."""
    name = f"pvc-{claim.metadata.uid}"
    provisioner = storage_class.provisioner
    spec: Object = {
        "capacity": {claims_of.STORAGE: claim.spec.resources.requests.get(claims_of.STORAGE, "0")},
        "accessModes": list(claim.spec.access_modes),
        "persistentVolumeReclaimPolicy": storage_class.reclaim_policy or "Delete",
        "storageClassName": storage_class.metadata.name,
        "volumeMode": claim.spec.volume_mode or claims_of.FILESYSTEM,
        "claimRef": {
            "apiVersion": "v1",
            "kind": "PersistentVolumeClaim",
            "namespace": claim.metadata.namespace,
            "name": claim.metadata.name,
            "uid": claim.metadata.uid,
        },
        "csi": {"driver": provisioner, "volumeHandle": name},
    }
    if storage_class.mount_options:
        spec["mountOptions"] = list(storage_class.mount_options)
    topology = _topology(node, csi_node, provisioner)
    if topology:
        term = {
            "matchExpressions": [
                {"key": key, "operator": "In", "values": [value]}
                for key, value in sorted(topology.items())
            ]
        }
        spec["nodeAffinity"] = {"required": {"nodeSelectorTerms": [term]}}
    return {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": name, "annotations": {PROVISIONED_BY: provisioner}},
        "spec": spec,
    }


def _topology(node: Node | None, csi_node: CSINode | None, driver: str) -> dict[str, str]:
    """Return the node labels that restrict access to a volume; empty for no restriction."""
    if node is None or csi_node is None:
        return {}
    labels = node.metadata.labels
    return {
        key: labels[key]
        for one in csi_node.spec.drivers
        if one.name == driver
        for key in one.topology_keys
        if key in labels
    }
