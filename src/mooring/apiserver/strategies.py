"""Strategies: what each kind does to its objects at a write (status, generation, checks)."""

# kube-apiserver: pkg/registry/*/*/strategy.go

from __future__ import annotations

from collections.abc import Callable, Collection
from typing import Any

from mooring.api.field_errors import FieldError, forbidden
from mooring.apiserver import (
    admission,
    certificate_requests,
    custom_resource_definitions,
    new_pods,
    refusals,
    service_addresses,
    validation,
)
from mooring.apiserver.auth import claim_status, signers
from mooring.apiserver.defaults import set_defaults
from mooring.apiserver.gated_fields import (
    COMPOSITE_POD_GROUPS,
    POD_GROUPS,
    WORKLOADS,
    drop_gated_fields,
    drop_gated_status,
    set_gated_defaults,
)
from mooring.apiserver.patch import managed
from mooring.apiserver.patch.field_set import FieldSet
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.resource_table import Served
from mooring.apiserver.schema.canonical import zero
from mooring.apiserver.schema.structural import set_custom_defaults
from mooring.apiserver.server_state import ServerState
from mooring.apiserver.validation.custom_objects import check_custom
from mooring.apiserver.validation.pod_groups import check_group_rules
from mooring.apiserver.write import Write

Object = dict[str, Any]

_TEMPLATE_GENERATION = "deprecated.daemonset.template.generation"
_CLAIMS = (claim_status.CLAIMS, "resource.k8s.io/resourceclaimtemplates")
_ADMIN_LABEL = "resource.kubernetes.io/admin-access"
_NO_ADMINS = (
    f"admin access to devices requires the `{_ADMIN_LABEL}: true` label on the containing namespace"
)
_STATUS_PARTS = ("status", "approval")
_TRACKED = ("managedFields", "resourceVersion")
#: The built-in kinds whose metadata cannot be changed by a write of the status.
_STATUS_ONLY = (POD_GROUPS, COMPOSITE_POD_GROUPS)
#: The kinds that a claim's dataSource may name; others are allowed only in dataSourceRef.
_DATA_SOURCES = (
    ("", "PersistentVolumeClaim"),
    ("snapshot.storage.k8s.io", "VolumeSnapshot"),
)
_PRIORITY_CLASSES = "scheduling.k8s.io/priorityclasses"
_GROUP_KINDS = (POD_GROUPS, COMPOSITE_POD_GROUPS, WORKLOADS)
_KEEPS_STATUS = frozenset({"/nodes", "/events"})
_GENERATION = frozenset(
    {
        "/pods",
        "/podtemplates",
        "/replicationcontrollers",
        "apps/deployments",
        "apps/replicasets",
        "apps/statefulsets",
        "apps/daemonsets",
        "batch/jobs",
        "batch/cronjobs",
        "autoscaling/horizontalpodautoscalers",
        "policy/poddisruptionbudgets",
        "networking.k8s.io/ingresses",
        "networking.k8s.io/ingressclasses",
        "networking.k8s.io/networkpolicies",
        _PRIORITY_CLASSES,
        "discovery.k8s.io/endpointslices",
        "resource.k8s.io/deviceclasses",
        "resource.k8s.io/resourceslices",
        "resource.k8s.io/devicetaintrules",
        "apiextensions.k8s.io/customresourcedefinitions",
        "flowcontrol.apiserver.k8s.io/flowschemas",
        "flowcontrol.apiserver.k8s.io/prioritylevelconfigurations",
        "admissionregistration.k8s.io/mutatingwebhookconfigurations",
        "admissionregistration.k8s.io/validatingwebhookconfigurations",
        "admissionregistration.k8s.io/validatingadmissionpolicies",
        "admissionregistration.k8s.io/validatingadmissionpolicybindings",
        "admissionregistration.k8s.io/mutatingadmissionpolicies",
        "admissionregistration.k8s.io/mutatingadmissionpolicybindings",
    }
)


def reset_fields(served: Served, subresource: str) -> FieldSet:
    """Return the fields that a request to the resource or subresource cannot set."""
    if served.custom is not None:
        return managed.custom_reset_fields(served.custom, subresource)
    return managed.reset_fields(served.kind, "status" in served.subresources, subresource)


def kept_fields(obj: Object, subresource: str) -> Collection[str]:
    """Return the fields that a write cannot change, as `prepare_update` restores them."""
    if subresource in _STATUS_PARTS:
        return obj.keys() - {"status", "metadata"}
    return ()


def default(cluster: ServerState, served: Served, obj: Object) -> None:
    """Set the default values of an object."""
    if served.custom is None:
        set_defaults(obj["apiVersion"], obj["kind"], obj)
        set_gated_defaults(cluster, served.store, obj)
    elif served.custom.schema is not None:
        set_custom_defaults(served.custom.schema, obj)


def prepare_create(
    cluster: ServerState, served: Served, obj: Object, *, dry_run: bool = False
) -> None:
    """Set the server-owned fields of a new object."""
    if "status" in served.subresources and served.store not in _KEEPS_STATUS:
        _empty_status(served, obj)
    drop_gated_fields(cluster, served.store, obj, None)
    if served.store in _GENERATION or served.custom is not None:
        obj["metadata"]["generation"] = 1
    if served.store == "/services":
        service_addresses.prepare(cluster, obj, dry_run=dry_run)
    elif served.store == custom_resource_definitions.RESOURCE and dry_run:
        custom_resource_definitions.prepare_dry_run(obj)
    elif (prepare := _CREATES.get(served.store)) is not None:
        prepare(cluster, obj)


def _empty_status(served: Served, obj: Object) -> None:
    field = served.type.fields.get("status") if served.type is not None else None
    obj.pop("status", None)
    if field is not None and field.always:
        obj["status"] = zero(field.kind)


def _namespace(cluster: ServerState, obj: Object) -> None:
    obj["status"] = {"phase": "Active"}
    spec = obj.setdefault("spec", {})
    if "kubernetes" not in (spec.get("finalizers") or ()):
        spec["finalizers"] = [*(spec.get("finalizers") or ()), "kubernetes"]


def _volume(cluster: ServerState, obj: Object) -> None:
    obj["status"] = {"phase": "Pending", "lastPhaseTransitionTime": cluster.timestamp()}


def _claim(cluster: ServerState, obj: Object) -> None:
    obj["status"] = {"phase": "Pending"}
    _same_sources(obj["spec"])


def _same_sources(spec: Object) -> None:
    """Copy a claim's dataSource to dataSourceRef, or back, if only one is set."""
    # kube-apiserver: pkg/api/persistentvolumeclaim/util.go, NormalizeDataSources
    source, reference = spec.get("dataSource"), spec.get("dataSourceRef")
    if (reference or {}).get("namespace"):  # the feature gate is off
        del spec["dataSourceRef"]
        reference = None
    if source is not None and reference is None:
        kind = (source.get("apiGroup") or "", source.get("kind"))
        if kind not in _DATA_SOURCES:
            del spec["dataSource"]
            return
    if source is not None and reference is None:
        spec["dataSourceRef"] = {"apiGroup": None} | source
    elif reference is not None and source is None:
        spec["dataSource"] = {"apiGroup": None} | reference


def _job(cluster: ServerState, obj: Object) -> None:
    """Give a job a unique selector and labels, unless it sets manualSelector."""
    # kube-apiserver: pkg/registry/batch/job/strategy.go, generateSelector
    spec, metadata = obj["spec"], obj["metadata"]
    if spec.get("manualSelector"):
        return
    template = spec.setdefault("template", {}).setdefault("metadata", {})
    # In Go, labels that default from the template are the same map, so the job gets them too.
    shared = bool(template.get("labels")) and metadata.get("labels") == template["labels"]
    labels = template.setdefault("labels", {})
    named = (("job-name", metadata.get("name", "")), ("controller-uid", metadata["uid"]))
    for name, value in named:
        labels.setdefault(name, value)
        labels.setdefault(f"batch.kubernetes.io/{name}", value)
    selector = spec.setdefault("selector", {}).setdefault("matchLabels", {})
    selector.setdefault("batch.kubernetes.io/controller-uid", metadata["uid"])
    if shared or not metadata.get("labels"):
        metadata["labels"] = dict(labels)


def _slice(cluster: ServerState, obj: Object) -> None:
    """Set the time at which device taints were added."""
    for device in obj["spec"].get("devices") or ():
        for taint in device.get("taints") or ():
            taint.setdefault("timeAdded", cluster.timestamp())


def _taint_rule(cluster: ServerState, obj: Object) -> None:
    """Set the time at which the rule's taint was added."""
    obj["spec"]["taint"].setdefault("timeAdded", cluster.timestamp())


def _change_taint_rule(cluster: ServerState, obj: Object, old: Object) -> None:
    """Set the time at which the rule's taint got its present effect."""
    # kube-apiserver: pkg/registry/resource/devicetaintrule/strategy.go
    taint, before = obj["spec"]["taint"], old["spec"]["taint"]
    same_time = taint.get("timeAdded") == before.get("timeAdded")
    if same_time and taint.get("effect") != before.get("effect"):
        taint["timeAdded"] = cluster.timestamp()
    taint.setdefault("timeAdded", cluster.timestamp())


def _admin_problems(cluster: ServerState, served: Served, obj: Object) -> list[FieldError]:
    """Return a problem for each admin access request in a namespace not labelled for it."""
    # kube-apiserver: pkg/registry/resource/utils.go, AuthorizedForAdmin
    if served.store not in _CLAIMS or _is_for_admins(cluster, obj):
        return []
    spec = obj["spec"].get("spec") if served.store == _CLAIMS[1] else obj["spec"]
    requests = ((spec or {}).get("devices") or {}).get("requests") or ()
    return [
        forbidden(f"spec.devices.requests[{i}].adminAccess", _NO_ADMINS)
        for i, request in enumerate(requests)
        if (request.get("exactly") or {}).get("adminAccess")
    ]


def _admin_status_problems(cluster: ServerState, obj: Object, old: Object) -> list[FieldError]:
    """Return the problem of an allocation with admin access that was not granted before."""
    # kube-apiserver: pkg/registry/resource/utils.go, AuthorizedForAdminStatus
    if _admin_results(old) or _is_for_admins(cluster, obj):
        return []
    path = "status.allocation.devices.results[{}].adminAccess"
    return [forbidden(path.format(i), _NO_ADMINS) for i in _admin_results(obj)[:1]]


def _admin_results(claim: Object) -> list[int]:
    """Return which results of a claim's allocation have admin access."""
    allocation = (claim.get("status") or {}).get("allocation") or {}
    results = (allocation.get("devices") or {}).get("results") or ()
    return [i for i, result in enumerate(results) if result.get("adminAccess")]


def _is_for_admins(cluster: ServerState, obj: Object) -> bool:
    name = obj["metadata"].get("namespace") or ""
    namespace = cluster.lookup("/namespaces", "", name) or {"metadata": {}}
    return (namespace["metadata"].get("labels") or {}).get(_ADMIN_LABEL) == "true"


def _account(cluster: ServerState, obj: Object) -> None:
    """Drop everything but the names from a service account's secrets."""
    # kube-apiserver: pkg/registry/core/serviceaccount/strategy.go, cleanSecretReferences
    for secret in obj.get("secrets") or ():
        for name in set(secret) - {"name"}:
            del secret[name]


_CREATES: dict[str, Callable[[ServerState, Object], None]] = {
    "/namespaces": _namespace,
    "/pods": new_pods.prepare_create,
    "/persistentvolumes": _volume,
    "/serviceaccounts": _account,
    "resource.k8s.io/resourceslices": _slice,
    "resource.k8s.io/devicetaintrules": _taint_rule,
    "/persistentvolumeclaims": _claim,
    "batch/jobs": _job,
    custom_resource_definitions.RESOURCE: custom_resource_definitions.prepare,
}


def check_create(cluster: ServerState, served: Served, obj: Object) -> None:
    """Refuse a new object that is invalid."""
    if served.custom is not None:
        problems = check_custom(served.custom, obj)
        problems += custom_resource_definitions.check_scale(served.custom, obj)
    else:
        problems = validation.check_create(_asked(served, obj), obj["kind"], obj)
        problems += _admin_problems(cluster, served, obj)
        problems += _group_problems(cluster, served, obj, None)
    _refuse(served, obj, problems)


def _group_problems(
    cluster: ServerState, served: Served, obj: Object, old: Object | None
) -> list[FieldError]:
    """Return what the declared rules of pod groups and workloads refuse."""
    if served.store not in _GROUP_KINDS:
        return []
    return check_group_rules(served.kind, obj, old, cluster.features)


def _asked(served: Served, obj: Object) -> str:
    """Return the version whose rules apply to an object: for Events, the request's."""
    version: str = served.group_version if served.store == "/events" else obj["apiVersion"]
    return version


def _refuse(served: Served, obj: Object, problems: list[FieldError]) -> None:
    if problems:
        name = obj["metadata"].get("name") or ""
        group = "" if served.store == "/events" else served.group
        raise refusals.invalid(served.kind, group, name, problems)


def prepare_update(
    cluster: ServerState, served: Served, obj: Object, old: Object, subresource: str
) -> None:
    """Restore what a write must not change, and update the generation.

    The generation increases if anything but metadata and status changed.
    """
    if subresource in _STATUS_PARTS:
        for name in (set(obj) | set(old)) - {"status", "metadata"}:
            _keep(obj, old, name)
        _keep_metadata(served, obj, old)
        drop_gated_status(cluster, served.store, obj, old)
        if served.store == claim_status.CLAIMS:
            claim_status.drop_deallocated(obj, old)
        elif served.store == signers.REQUESTS:
            certificate_requests.prepare_part(cluster, obj, old, subresource)
        return
    drop_gated_fields(cluster, served.store, obj, old)
    if "status" in served.subresources:
        _keep(obj, old, "status")
    if served.store == "/pods" and subresource in ("resize", "ephemeralcontainers"):
        new_pods.prepare_part(obj, old, subresource)
    if served.store == "/namespaces" and subresource != "finalize":
        _keep(obj, old, "spec")
    if served.store == "/services":
        service_addresses.prepare(cluster, obj, old)
    elif served.store == custom_resource_definitions.RESOURCE:
        custom_resource_definitions.prepare(cluster, obj)
    elif served.store == "/serviceaccounts":
        _account(cluster, obj)
    elif served.store == "/persistentvolumeclaims":
        _same_sources(obj["spec"])
    elif served.store == signers.REQUESTS:
        _keep(obj, old, "spec")
    elif served.store == "apps/daemonsets":
        _count_template(obj, old)
    elif served.store == "resource.k8s.io/devicetaintrules":
        _change_taint_rule(cluster, obj, old)
    counted = served.store in _GENERATION and served.store != _PRIORITY_CLASSES
    counted = counted or served.store == "storage.k8s.io/csidrivers"
    if counted or served.custom is not None:
        ignored = ("metadata", "status")
        before = {key: value for key, value in old.items() if key not in ignored}
        after = {key: value for key, value in obj.items() if key not in ignored}
        if served.store == "apps/deployments":  # annotations control rollouts
            before["annotations"] = old["metadata"].get("annotations") or {}
            after["annotations"] = obj["metadata"].get("annotations") or {}
        if before != after:
            obj["metadata"]["generation"] = int(old["metadata"].get("generation") or 0) + 1


def _count_template(obj: Object, old: Object) -> None:
    """Count the changes of a DaemonSet's template in its annotation."""
    # kube-apiserver: pkg/registry/apps/daemonset/strategy.go, pkg/apis/apps/v1/conversion.go
    count = int((old["metadata"].get("annotations") or {}).get(_TEMPLATE_GENERATION) or 0)
    if obj["spec"].get("template") != old["spec"].get("template"):
        count += 1
    annotations = obj["metadata"].get("annotations") or {}
    obj["metadata"]["annotations"] = annotations | {_TEMPLATE_GENERATION: str(count)}


def _keep_metadata(served: Served, obj: Object, old: Object) -> None:
    """Restore the metadata that a write of the status must not change."""
    if served.custom is not None or served.store in _STATUS_ONLY:
        tracked = {k: obj["metadata"][k] for k in _TRACKED if k in obj["metadata"]}
        kept = {k: v for k, v in old["metadata"].items() if k not in _TRACKED}
        obj["metadata"] = kept | tracked
    elif served.store == "apps/deployments":
        _keep(obj["metadata"], old["metadata"], "labels")
    elif served.store == "/pods":
        new_pods.prepare_status(obj, old)


def _keep(obj: Object, old: Object, name: str) -> None:
    if name in old:
        obj[name] = old[name]
    else:
        obj.pop(name, None)


def check_update(write: Write, obj: Object, old: Object) -> None:
    """Refuse a changed object that is invalid, or whose writer has no right to what it changes."""
    cluster, served, subresource = write.cluster, write.served, write.subresource
    if served.custom is not None:
        problems = check_custom(served.custom, obj, old)
        problems += custom_resource_definitions.check_scale(served.custom, obj)
    else:
        version = _asked(served, obj)
        problems = validation.check_update(version, obj["kind"], obj, old, subresource)
        problems += _group_problems(cluster, served, obj, old)
        if served.store == claim_status.CLAIMS and subresource == "status":
            problems += _admin_status_problems(cluster, obj, old)
            problems += claim_status.check_rights(write, obj, old)
    _refuse(served, obj, problems)


def check_delete(cluster: ServerState, served: Served, obj: Object) -> None:
    """Refuse a deletion that is not allowed."""
    refusal = admission.forbid_delete(served.store, obj["metadata"]["name"])
    if refusal is not None:
        raise refusal


def begin_deletion(cluster: ServerState, served: Served, obj: Object) -> None:
    """Mark an object whose deletion begins as terminating, if its kind has such a phase."""
    if served.store == "/namespaces":
        obj["status"] = (obj.get("status") or {}) | {"phase": "Terminating"}


def namespace_terminating(obj: Object) -> Refusal:
    """Return the refusal to delete a namespace that is being deleted."""
    name = obj["metadata"]["name"]
    return refusals.conflict(
        "namespaces",
        "",
        name,
        "The system is ensuring all content is removed from this namespace.  Upon completion, "
        "this namespace will automatically be purged by the system.",
    )


def after_write(cluster: ServerState, served: Served, obj: Object, old: Object | None) -> None:
    """Serve the resources of a custom resource definition that was written."""
    if served.store == custom_resource_definitions.RESOURCE:
        custom_resource_definitions.serve(cluster, obj)


def before_delete(cluster: ServerState, served: Served, obj: Object) -> None:
    """Delete the custom resources of a definition, so that none outlives it if a write fails."""
    if served.store == custom_resource_definitions.RESOURCE:
        custom_resource_definitions.empty(cluster, obj)


def after_delete(cluster: ServerState, served: Served, obj: Object) -> None:
    """Stop serving the resources of a custom resource definition that was deleted."""
    if served.store == custom_resource_definitions.RESOURCE:
        custom_resource_definitions.withdraw(cluster, obj)
