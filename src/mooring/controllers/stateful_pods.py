"""The pods of a StatefulSet: their names, their numbers and their claims."""

# kubernetes: pkg/controller/statefulset/stateful_set_utils.go

from __future__ import annotations

from mooring.api import CustomResource, Pod
from mooring.controllers import controlled_pods
from mooring.controllers.owners import reference_to
from mooring.controllers.revisions import HASH_LABEL
from mooring.controllers.writer import Object

POD_NAME = "statefulset.kubernetes.io/pod-name"
POD_INDEX = "apps.kubernetes.io/pod-index"


def first_ordinal(stateful_set: CustomResource) -> int:
    """Return the number of the first pod."""
    found: int = stateful_set.get("spec.ordinals.start", 0)
    return found


def ordinal_of(stateful_set: CustomResource, pod: Pod) -> int:
    """Return the number of a pod, or -1 if its name has none."""
    prefix, _, text = pod.metadata.name.rpartition("-")
    return int(text) if text.isdecimal() and prefix == stateful_set.metadata.name else -1


def make_pod(stateful_set: CustomResource, number: int, template: Object, revision: str) -> Object:
    """Return the pod of this number."""
    name = f"{stateful_set.metadata.name}-{number}"
    pod = controlled_pods.pod_of(
        template, stateful_set, name, generateName=f"{stateful_set.metadata.name}-"
    )
    pod["metadata"]["labels"] = {
        **pod["metadata"].get("labels", {}),
        POD_NAME: name,
        POD_INDEX: str(number),
        HASH_LABEL: revision,
    }
    spec = {**pod["spec"], "hostname": name}
    if service := stateful_set.get("spec.serviceName"):
        spec["subdomain"] = service
    claims = _claim_names(stateful_set, name)
    kept = [one for one in spec.get("volumes", ()) if one["name"] not in claims]
    mounted = [
        {"name": volume, "persistentVolumeClaim": {"claimName": claim}}
        for volume, claim in claims.items()
    ]
    if kept or mounted:
        spec["volumes"] = kept + mounted
    return {**pod, "spec": spec}


def _claim_names(stateful_set: CustomResource, pod: str) -> dict[str, str]:
    templates = stateful_set.get("spec.volumeClaimTemplates") or ()
    return {one["metadata"]["name"]: f"{one['metadata']['name']}-{pod}" for one in templates}


def make_claims(stateful_set: CustomResource, number: int) -> list[Object]:
    """Return the claims of a pod's volumes."""
    pod = f"{stateful_set.metadata.name}-{number}"
    labels = stateful_set.get("spec.selector.matchLabels") or {}
    policy = stateful_set.get("spec.persistentVolumeClaimRetentionPolicy") or {}
    claims = []
    for template in stateful_set.get("spec.volumeClaimTemplates") or ():
        metadata = {
            key: value for key, value in template["metadata"].items() if key != "creationTimestamp"
        }
        name = metadata["name"]
        metadata |= {
            "name": f"{name}-{pod}",
            "namespace": stateful_set.metadata.namespace,
            "labels": {**metadata.get("labels", {}), **labels},
        }
        if policy.get("whenDeleted") == "Delete":
            owner = reference_to(stateful_set)
            del owner["blockOwnerDeletion"]
            metadata["ownerReferences"] = [owner]
        claims.append(
            {
                "apiVersion": "v1",
                "kind": "PersistentVolumeClaim",
                "metadata": metadata,
                "spec": template["spec"],
            }
        )
    return claims
