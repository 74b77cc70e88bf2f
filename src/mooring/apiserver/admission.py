"""Admission: completes objects, and refuses what a namespace or a class does not allow."""

# kube-apiserver: plugin/pkg/admission

from __future__ import annotations

from typing import Any

from msgspec import convert

from mooring.api import Node, NodeSelector, NodeTerms, decode_as
from mooring.api.scheduling import GROUP_FINALIZER
from mooring.apiserver import limits, priorities, quota, refusals
from mooring.apiserver.auth import escalation, signers
from mooring.apiserver.gated_fields import (
    COMPOSITE_POD_GROUPS,
    NODE_ALLOCATABLE,
    POD_GROUPS,
    RESOURCE_SLICES,
)
from mooring.apiserver.http import RequestUser
from mooring.apiserver.priorities import PRIORITY_CLASSES
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_store import Stored
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.write import Write
from mooring.controlplane.default_values import default_class_name, has_storage_class
from mooring.controlplane.priority_classes import SYSTEM_PRIORITIES

Object = dict[str, Any]

TOKEN_PATH = "/var/run/secrets/kubernetes.io/serviceaccount"
TOKEN_VOLUME = "kube-api-access-"
#: kube-apiserver: pkg/serviceaccount/legacy.go, WarnOnlyBoundTokenExpirationSeconds
TOKEN_SECONDS = 3607

_MIRROR = "kubernetes.io/config.mirror"
_EVICTING_TAINTS = ("node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable")
_GRACE = 300
_CONTAINERS = ("initContainers", "containers")
_PERMANENT = frozenset({"default", "kube-system", "kube-public"})


def admit_create(write: Write, obj: Object) -> None:
    """Complete a new object, or refuse it."""
    namespace = obj["metadata"].get("namespace")
    if namespace:
        _check_namespace(write, namespace, obj)
    escalation.check(write, obj, None)
    store = write.served.store
    if store == "/pods":
        _admit_pod(write.cluster, obj)
    elif store == "/persistentvolumeclaims":
        _default_class(write.cluster, obj)
    elif store == PRIORITY_CLASSES:
        priorities.check_default_class(write.cluster, obj)
    elif store in (POD_GROUPS, COMPOSITE_POD_GROUPS):
        _admit_group(write, obj)
    elif store == signers.REQUESTS:
        _sign_by(write.request.user, obj)


def admit_update(write: Write, old: Object, obj: Object) -> None:
    """Complete a changed object, or refuse it."""
    escalation.check(write, obj, old)
    if write.served.store == "/pods":
        spec, before = obj.get("spec") or {}, old.get("spec") or {}
        for name in ("priority", "preemptionPolicy"):
            if spec.get(name) is None and before.get(name) is not None:
                spec[name] = before[name]
        if not write.subresource and "DefaultTolerationSeconds" not in write.cluster.disabled:
            _tolerate(spec)
    elif write.served.store == PRIORITY_CLASSES:
        priorities.check_default_class(write.cluster, obj)


def validate(write: Write, obj: Object, old: Object | None = None) -> list[quota.Charge]:
    """Refuse a valid object that its namespace does not allow; return the charges to quotas."""
    if write.subresource == "resize" and old is not None and obj["spec"] != old["spec"]:
        _check_node(write.cluster, obj)
    signers.check(write, obj, old)
    if write.subresource:
        return []
    store = write.served.store
    if store == "/pods" and old is None:
        _check_overhead(write.cluster, obj)
        limits.check_pod(write.cluster, obj)
    elif store == "/persistentvolumeclaims":
        limits.check_claim(write.cluster, obj)
    elif store == RESOURCE_SLICES and NODE_ALLOCATABLE in write.cluster.features:
        _check_declared(write.cluster, obj)
    return quota.check(write.cluster, write.served, obj, old)


def _check_node(cluster: ServerState, pod: Object) -> None:
    # kube-apiserver: plugin/pkg/admission/podresize/admission.go
    name = pod["spec"].get("nodeName")
    if name and cluster.lookup("/nodes", "", name) is None:
        raise _forbidden(pod, f'node "{name}" not found')


def _check_declared(cluster: ServerState, resource_slice: Object) -> None:
    """Refuse devices that consume resources of a node that does not declare the feature."""
    # kube-apiserver: plugin/pkg/admission/nodedeclaredfeatures/admission.go
    spec = resource_slice["spec"]
    for device in spec.get("devices") or ():
        if not device.get("nodeAllocatableResources"):
            continue
        place = device if spec.get("perDeviceNodeSelection") else spec
        if name := place.get("nodeName"):
            found = cluster.lookup("/nodes", "", name)
            if found is None:
                why = f'node "{name}" not found for device "{device["name"]}"'
                raise _slice_forbidden(resource_slice, why)
            reached = [found]
        else:
            reached = [
                stored.object
                for stored in cluster.store.items("/nodes")
                if _is_reached(stored, place)
            ]
        for node in reached:
            if NODE_ALLOCATABLE not in (node["status"].get("declaredFeatures") or ()):
                why = (
                    f'node "{node["metadata"]["name"]}" does not support {NODE_ALLOCATABLE} feature'
                )
                raise _slice_forbidden(resource_slice, why)


def _is_reached(stored: Stored, place: Object) -> bool:
    """Return whether a node reaches a slice or a device."""
    selector = place.get("nodeSelector")
    if selector is None:
        return bool(place.get("allNodes"))
    return NodeTerms.parse(convert(selector, NodeSelector)).matches(decode_as(stored.object, Node))


def _slice_forbidden(resource_slice: Object, why: str) -> Refusal:
    name = resource_slice["metadata"].get("name") or ""
    return refusals.forbidden("resourceslices", "resource.k8s.io", name, why)


def forbid_delete(resource: str, name: str) -> Refusal | None:
    """Return the refusal of a deletion, or None if it is allowed."""
    if resource == "/namespaces" and name in _PERMANENT:
        return refusals.forbidden("namespaces", "", name, "this namespace may not be deleted")
    if resource == PRIORITY_CLASSES and name in SYSTEM_PRIORITIES:
        why = "this is a system priority class and cannot be deleted"
        return refusals.forbidden("priorityclasses", "scheduling.k8s.io", name, why)
    return None


def _sign_by(user: RequestUser, request: Object) -> None:
    """Record the requesting user in a CertificateSigningRequest."""
    # kube-apiserver: pkg/registry/certificates/certificates/strategy.go
    spec = request["spec"]
    for name in ("username", "uid", "groups", "extra"):
        spec.pop(name, None)
    spec["username"] = user.name
    if user.uid:
        spec["uid"] = user.uid
    if user.groups:
        spec["groups"] = list(user.groups)
    if user.extra:
        spec["extra"] = {key: list(values) for key, values in user.extra.items()}


def _check_namespace(write: Write, namespace: str, obj: Object) -> None:
    # apiserver: pkg/admission/plugin/namespace/lifecycle/admission.go
    if write.served.store.startswith("authorization"):
        return
    found = write.cluster.lookup("/namespaces", "", namespace)
    if found is None:
        raise refusals.not_found("namespaces", "", namespace)
    if found["metadata"].get("deletionTimestamp"):
        served = write.served
        why = (
            f"unable to create new content in namespace {namespace} because it is being terminated"
        )
        refusal = refusals.forbidden(served.name, served.group, obj["metadata"]["name"], why)
        refusal.status["details"]["causes"] = [
            {
                "reason": "NamespaceTerminating",
                "message": f"namespace {namespace} is being terminated",
                "field": "metadata.namespace",
            }
        ]
        raise refusal


def _admit_pod(cluster: ServerState, pod: Object) -> None:
    limits.give_defaults(cluster, pod)
    mirrored = _MIRROR in (pod["metadata"].get("annotations") or {})
    if "ServiceAccount" not in cluster.disabled:
        if mirrored:
            _check_mirror(pod)
        else:
            _service_account(cluster, pod)
    if "DefaultTolerationSeconds" not in cluster.disabled:
        _tolerate(pod["spec"])
    if "Priority" not in cluster.disabled:
        priorities.set_pod_priority(cluster, pod)
    _runtime_class(cluster, pod)


def _admit_group(write: Write, group: Object) -> None:
    cluster = write.cluster
    if "Priority" not in cluster.disabled:
        priorities.set_group_priority(cluster, write.served.name, group)
    if write.served.store == POD_GROUPS and "PodGroupProtection" not in cluster.disabled:
        # kube-apiserver: plugin/pkg/admission/scheduling/podgroupprotection/admission.go
        finalizers = group["metadata"].get("finalizers") or []
        if GROUP_FINALIZER not in finalizers:
            group["metadata"]["finalizers"] = [*finalizers, GROUP_FINALIZER]


def _forbidden(pod: Object, why: str) -> Refusal:
    name = pod["metadata"].get("name") or ""
    return refusals.forbidden("pods", "", name, why)


def _check_mirror(pod: Object) -> None:
    """Refuse a mirror pod, which a kubelet reports, if it names service accounts or secrets."""
    spec = pod["spec"]
    if spec.get("serviceAccountName"):
        raise _forbidden(pod, "a mirror pod may not reference service accounts")
    volumes = spec.get("volumes") or ()
    containers = [one for name in _CONTAINERS for one in spec.get(name) or ()]
    given = [value for one in containers for value in one.get("env") or ()]
    keys = [(one.get("valueFrom") or {}).get("secretKeyRef") for one in given]
    if any(one.get("secret") for one in volumes) or any(keys):
        raise _forbidden(pod, "a mirror pod may not reference secrets")


def _service_account(cluster: ServerState, pod: Object) -> None:
    # kube-apiserver: plugin/pkg/admission/serviceaccount/admission.go
    spec, namespace = pod["spec"], pod["metadata"]["namespace"]
    name = spec.get("serviceAccountName") or "default"
    spec["serviceAccountName"] = spec["serviceAccount"] = name
    account = cluster.lookup("/serviceaccounts", namespace, name)
    if account is None:
        where = f"{namespace}/{name}"
        why = f'error looking up service account {where}: serviceaccount "{name}" not found'
        raise _forbidden(pod, why)
    mount = spec.get("automountServiceAccountToken")
    if mount is None:
        mount = account.get("automountServiceAccountToken", True)
    if mount:
        _mount_token(cluster, spec)
    secrets = account.get("imagePullSecrets")
    if not spec.get("imagePullSecrets") and secrets:
        spec["imagePullSecrets"] = [{"name": one.get("name", "")} for one in secrets]


def _mount_token(cluster: ServerState, spec: Object) -> None:
    there = next(
        (
            one["name"]
            for one in spec.get("volumes") or ()
            if one.get("name", "").startswith(TOKEN_VOLUME)
        ),
        "",
    )
    name = there or f"{TOKEN_VOLUME}{cluster.suffix()}"
    needed = False
    for container in (*(spec.get("initContainers") or ()), *(spec.get("containers") or ())):
        mounts = container.setdefault("volumeMounts", [])
        if all(one.get("mountPath") != TOKEN_PATH for one in mounts):
            mounts.append({"name": name, "readOnly": True, "mountPath": TOKEN_PATH})
            needed = True
    if needed and not there:
        spec.setdefault("volumes", []).append({"name": name, "projected": _token_volume()})


def _token_volume() -> Object:
    root = {"name": "kube-root-ca.crt", "items": [{"key": "ca.crt", "path": "ca.crt"}]}
    field = {"apiVersion": "v1", "fieldPath": "metadata.namespace"}
    return {
        "sources": [
            {"serviceAccountToken": {"expirationSeconds": TOKEN_SECONDS, "path": "token"}},
            {"configMap": root},
            {"downwardAPI": {"items": [{"path": "namespace", "fieldRef": field}]}},
        ],
        "defaultMode": 420,
    }


def _tolerate(spec: Object) -> None:
    # kube-apiserver: plugin/pkg/admission/defaulttolerationseconds/admission.go
    tolerations = spec.get("tolerations") or []
    missing = [
        taint
        for taint in _EVICTING_TAINTS
        if not any(
            one.get("key") in (None, "", taint) and one.get("effect") in (None, "", "NoExecute")
            for one in tolerations
        )
    ]
    if missing:
        spec["tolerations"] = [
            *tolerations,
            *(
                {
                    "key": taint,
                    "operator": "Exists",
                    "effect": "NoExecute",
                    "tolerationSeconds": _GRACE,
                }
                for taint in missing
            ),
        ]


def _runtime_class(cluster: ServerState, pod: Object) -> None:
    """Give a pod the overhead, node selector and tolerations of its runtime class."""
    # kube-apiserver: plugin/pkg/admission/runtimeclass/admission.go
    spec = pod["spec"]
    name = spec.get("runtimeClassName") or ""
    found = cluster.lookup("node.k8s.io/runtimeclasses", "", name) if name else None
    if name and found is None:
        raise _forbidden(pod, f'pod rejected: RuntimeClass "{name}" not found')
    overhead = ((found or {}).get("overhead") or {}).get("podFixed")
    given = spec.get("overhead")
    if overhead:
        if given and given != overhead:
            why = "Pod's Overhead doesn't match RuntimeClass's defined Overhead"
            raise _forbidden(pod, f"pod rejected: {why}")
        spec["overhead"] = dict(overhead)
    place = (found or {}).get("scheduling") or {}
    for key, value in (place.get("nodeSelector") or {}).items():
        there = spec.setdefault("nodeSelector", {}).setdefault(key, value)
        if there != value:
            why = f"conflict: runtimeClass.scheduling.nodeSelector[{key}] = {value}"
            raise _forbidden(pod, f"{why}; pod.spec.nodeSelector[{key}] = {there}")
    if tolerations := place.get("tolerations"):
        have = spec.get("tolerations") or []
        spec["tolerations"] = [*have, *(one for one in tolerations if one not in have)]


def _check_overhead(cluster: ServerState, pod: Object) -> None:
    name = pod["spec"].get("runtimeClassName") or ""
    found = cluster.lookup("node.k8s.io/runtimeclasses", "", name) if name else None
    if pod["spec"].get("overhead") is not None and not (found or {}).get("overhead"):
        why = "Pod Overhead set without corresponding RuntimeClass defined Overhead"
        raise _forbidden(pod, f"pod rejected: {why}")


def _default_class(cluster: ServerState, claim: Object) -> None:
    # kube-apiserver: plugin/pkg/admission/storage/storageclass/setdefault/admission.go
    spec = claim.get("spec") or {}
    annotations = claim["metadata"].get("annotations") or {}
    if has_storage_class(spec.get("storageClassName"), annotations):
        return
    classes = (
        stored.object["metadata"] for stored in cluster.store.items("storage.k8s.io/storageclasses")
    )
    name = default_class_name(
        (one["name"], one.get("annotations") or {}, one["creationTimestamp"]) for one in classes
    )
    if name is not None:
        spec["storageClassName"] = name
