"""Pods, and the pod templates of workloads."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidatePodSpec, ValidatePodUpdate)

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import Any

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.apiserver.validation.containers import (
    check_containers,
    check_ephemeral_containers,
    check_init_containers,
)
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import (
    between,
    ip_problems,
    label_key_problems,
    label_problems,
    relaxed_subdomain_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.metadata import check_annotations, check_labels
from mooring.apiserver.validation.pod_resources import check_pod_resources
from mooring.apiserver.validation.resource_amounts import check_requirements
from mooring.apiserver.validation.scheduling import (
    check_affinity,
    check_gates,
    check_spreading,
    check_tolerations,
)
from mooring.apiserver.validation.security import check_pod_security
from mooring.apiserver.validation.variables import check_file_volumes
from mooring.apiserver.validation.volumes import check_volumes
from mooring.apiserver.validation.windows import check_system

_MAX_INT32 = 2**31 - 1
_RESTART_POLICIES = ("Always", "OnFailure", "Never")
_DNS_POLICIES = ("ClusterFirstWithHostNet", "ClusterFirst", "Default", "None")
_PREEMPTION = ("PreemptLowerPriority", "Never")
_UPDATABLE = (
    "`spec.containers[*].image`",
    "`spec.initContainers[*].image`",
    "`spec.activeDeadlineSeconds`",
    "`spec.tolerations` (only additions to existing tolerations)",
    "`spec.terminationGracePeriodSeconds` (allow it to be set to 1 if it was previously negative)",
)
MIRROR = "kubernetes.io/config.mirror"
NO_NEW_CONTAINERS = "pod updates may not add or remove containers"
ONLY_SOME_FIELDS = f"pod updates may not change fields other than {','.join(_UPDATABLE)}"


def check_pod(pod: Object) -> list[FieldError]:
    """Check a new pod, apart from its metadata."""
    spec = pod["spec"]
    problems = _whole_pod(pod)
    mirrored = (pod["metadata"].get("annotations") or {}).get(MIRROR)
    if mirrored is not None and not spec.get("nodeName"):
        why = "must set spec.nodeName if mirror pod annotation is set"
        problems.append(invalid(f"metadata.annotations[{MIRROR}]", mirrored, why))
    if spec.get("ephemeralContainers"):
        problems.append(forbidden("spec.ephemeralContainers", "cannot be set on create"))
    if spec.get("nodeName") and spec.get("schedulingGates"):
        why = "cannot be set until all schedulingGates have been cleared"
        problems.append(forbidden("spec.nodeName", why))
    return problems


def _whole_pod(pod: Object) -> list[FieldError]:
    spec = pod["spec"]
    problems = check_pod_spec(spec, "spec", pod["metadata"].get("name", ""), pod=True)
    if not spec.get("serviceAccountName"):
        why = "must not be specified when serviceAccountName is not set"
        for i, volume in enumerate(spec.get("volumes") or ()):
            for j, source in enumerate((volume.get("projected") or {}).get("sources") or ()):
                if source.get("serviceAccountToken") is not None:
                    where = f"spec.volumes[{i}].projected.sources[{j}].serviceAccountToken"
                    problems.append(forbidden(where, why))
    return problems


def check_template(template: Object, path: str) -> list[FieldError]:
    """Check the pod template of a workload."""
    metadata = template.get("metadata") or {}
    problems = check_labels(metadata.get("labels"), f"{path}.labels")
    problems += check_annotations(metadata.get("annotations"), f"{path}.annotations")
    problems += check_pod_spec(template["spec"], f"{path}.spec")
    if template["spec"].get("ephemeralContainers"):
        why = "ephemeral containers not allowed in pod template"
        problems.append(forbidden(f"{path}.spec.ephemeralContainers", why))
    return problems


def check_pod_spec(
    spec: Object, path: str, pod_name: str = "", *, pod: bool = False
) -> list[FieldError]:
    """Check the spec of a pod, in the order of the API server."""
    volumes, problems = check_volumes(spec.get("volumes"), f"{path}.volumes", pod_name)
    problems += _resource_claims(spec.get("resourceClaims") or (), f"{path}.resourceClaims")
    problems += check_containers(spec.get("containers"), f"{path}.containers", volumes, spec)
    inits = spec.get("initContainers")
    problems += check_init_containers(inits, f"{path}.initContainers", volumes, spec)
    late = spec.get("ephemeralContainers")
    problems += check_ephemeral_containers(late, f"{path}.ephemeralContainers", volumes, spec)
    if spec.get("hostNetwork"):
        problems += _host_ports(spec, path, pod=pod)
    problems += _policies(spec, path)
    problems += check_labels(spec.get("nodeSelector"), f"{path}.nodeSelector")
    problems += check_pod_security(spec, path)
    problems += check_affinity(spec.get("affinity"), f"{path}.affinity")
    problems += _dns(spec, f"{path}.dnsConfig")
    for i, gate in enumerate(spec.get("readinessGates") or ()):
        name = gate["conditionType"]
        where = f"{path}.readinessGates[{i}].conditionType"
        problems += each(where, name, label_key_problems(name))
    problems += check_gates(spec.get("schedulingGates"), f"{path}.schedulingGates")
    spreading = spec.get("topologySpreadConstraints")
    problems += check_spreading(spreading, f"{path}.topologySpreadConstraints")
    problems += _names(spec, path)
    problems += check_tolerations(spec.get("tolerations"), f"{path}.tolerations")
    problems += _host_aliases(spec.get("hostAliases") or (), f"{path}.hostAliases")
    return problems + _late(spec, path)


def _resource_claims(claims: Sequence[Object], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, claim in enumerate(claims):
        where, name = f"{path}[{i}]", claim["name"]
        if not name:
            problems.append(required(f"{where}.name"))
        elif name in seen:
            problems.append(duplicate(f"{where}.name", name))
        else:
            problems += each(f"{where}.name", name, label_problems(name))
            seen.add(name)
        given = [
            field
            for field in ("resourceClaimName", "resourceClaimTemplateName")
            if claim.get(field) is not None
        ]
        if len(given) == 2:
            why = (
                "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"
            )
            problems.append(invalid(where, claim, why))
        elif not given:
            why = "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"
            problems.append(invalid(where, claim, why))
        for field in given:
            problems += each(f"{where}.{field}", claim[field], subdomain_problems(claim[field]))
    return problems


def _host_ports(spec: Object, path: str, *, pod: bool) -> list[FieldError]:
    problems: list[FieldError] = []
    for i, container in enumerate(spec.get("containers") or ()):
        for j, port in enumerate(container.get("ports") or ()):
            host = port.get("hostPort", 0)
            if (pod or host) and host != port["containerPort"]:
                where = f"{path}.containers[{i}].ports[{j}].hostPort"
                why = "must match `containerPort` when `hostNetwork` is true"
                problems.append(invalid(where, host, why))
    return problems


def _policies(spec: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    restart, dns = spec.get("restartPolicy"), spec.get("dnsPolicy")
    if restart not in _RESTART_POLICIES:
        problems.append(not_supported(f"{path}.restartPolicy", restart, _RESTART_POLICIES))
    if dns not in _DNS_POLICIES:
        problems.append(not_supported(f"{path}.dnsPolicy", dns, _DNS_POLICIES))
    return problems


def _dns(spec: Object, path: str) -> list[FieldError]:
    config = spec.get("dnsConfig")
    if spec.get("dnsPolicy") == "None":
        if config is None:
            return [required(path, "must provide `dnsConfig` when `dnsPolicy` is None")]
        if not config.get("nameservers"):
            why = "must provide at least one DNS nameserver when `dnsPolicy` is None"
            return [required(f"{path}.nameservers", why)]
    if config is None:
        return []
    problems: list[FieldError] = []
    servers = config.get("nameservers") or []
    if len(servers) > 3:
        why = "must not have more than 3 nameservers"
        problems.append(invalid(f"{path}.nameservers", servers, why))
    for i, server in enumerate(servers):
        problems += each(f"{path}.nameservers[{i}]", server, ip_problems(server))
    searches = config.get("searches") or []
    if len(searches) > 32:
        why = "must not have more than 32 search paths"
        problems.append(invalid(f"{path}.searches", searches, why))
    for i, search in enumerate(searches):
        bare = search.removesuffix(".")
        if search != ".":
            problems += each(f"{path}.searches[{i}]", bare, relaxed_subdomain_problems(bare))
    for i, option in enumerate(config.get("options") or ()):
        if not option.get("name"):
            problems.append(required(f"{path}.options[{i}]", "must not be empty"))
    return problems


def _names(spec: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for field in ("serviceAccountName", "nodeName"):
        if name := spec.get(field):
            problems += each(f"{path}.{field}", name, subdomain_problems(name))
    deadline = spec.get("activeDeadlineSeconds")
    if deadline is not None and not 1 <= deadline <= _MAX_INT32:
        why = between(1, _MAX_INT32)
        problems.append(invalid(f"{path}.activeDeadlineSeconds", deadline, why))
    for field in ("hostname", "subdomain"):
        if name := spec.get(field):
            problems += each(f"{path}.{field}", name, label_problems(name))
    return problems


def _host_aliases(aliases: Sequence[Object], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for i, alias in enumerate(aliases):
        problems += each(f"{path}[{i}].ip", alias["ip"], ip_problems(alias["ip"]))
        for j, name in enumerate(alias.get("hostnames") or ()):
            problems += each(f"{path}[{i}].hostnames[{j}]", name, subdomain_problems(name))
    return problems


def _late(spec: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if name := spec.get("priorityClassName"):
        problems += each(f"{path}.priorityClassName", name, subdomain_problems(name))
    if (name := spec.get("runtimeClassName")) is not None:
        problems += each(f"{path}.runtimeClassName", name, subdomain_problems(name))
    policy = spec.get("preemptionPolicy")
    if policy == "":
        problems.append(required(f"{path}.preemptionPolicy"))
    elif policy is not None and policy not in _PREEMPTION:
        problems.append(not_supported(f"{path}.preemptionPolicy", policy, _PREEMPTION))
    # The API server checks overhead as if it were a container's limits.
    overhead = {"limits": spec.get("overhead")}
    problems += check_requirements(overhead, f"{path}.overhead")
    problems += check_pod_resources(spec, f"{path}.resources")
    problems += check_file_volumes(spec, path)
    if (system := spec.get("os")) is not None:
        if not system["name"]:
            problems.append(required(f"{path}.os.name"))
        elif system["name"] not in ("linux", "windows"):
            problems.append(not_supported(f"{path}.os", system["name"], ("linux", "windows")))
    problems += check_system(spec, path)
    if (group := spec.get("schedulingGroup")) is not None:
        problems += _scheduling_group(group, f"{path}.schedulingGroup.podGroupName")
    return problems


def _scheduling_group(group: Object, path: str) -> list[FieldError]:
    name = group.get("podGroupName")
    if name is None:
        return [invalid(path, None, "must specify one of: `podGroupName`")]
    return each(path, name, subdomain_problems(name))


# -- changes ------------------------------------------------------------------------------


def check_pod_update(pod: Object, old: Object) -> list[FieldError]:
    """Check an update of a pod: hardly anything in its spec may change."""
    problems = _whole_pod(pod)
    new_spec, old_spec = pod["spec"], old["spec"]
    for field in ("containers", "initContainers"):
        new, before = new_spec.get(field) or [], old_spec.get(field) or []
        if len(new) != len(before):
            return [*problems, forbidden(f"spec.{field}", NO_NEW_CONTAINERS)]
    deadline, before_deadline = (one.get("activeDeadlineSeconds") for one in (new_spec, old_spec))
    where = "spec.activeDeadlineSeconds"
    if deadline is not None:
        if not 0 <= deadline <= _MAX_INT32:
            return [*problems, invalid(where, deadline, between(0, _MAX_INT32))]
        if before_deadline is not None and before_deadline < deadline:
            why = "must be less than or equal to previous value"
            return [*problems, invalid(where, deadline, why)]
    elif before_deadline is not None:
        why = "must not update from a positive integer to nil value"
        problems.append(invalid(where, None, why))
    problems += _added_tolerations(new_spec, old_spec)
    problems += _deleted_gates(new_spec, old_spec)
    return problems + _other_fields(new_spec, old_spec)


def _added_tolerations(new: Object, old: Object) -> list[FieldError]:
    given = {_without_seconds(one) for one in new.get("tolerations") or ()}
    for before in old.get("tolerations") or ():
        if _without_seconds(before) not in given:
            why = "existing toleration can not be modified except its tolerationSeconds"
            return [forbidden("spec.tolerations", why)]
    return check_tolerations(new.get("tolerations"), "spec.tolerations")


def _without_seconds(toleration: Object) -> frozenset[tuple[str, Any]]:
    return frozenset(
        (key, value) for key, value in toleration.items() if key != "tolerationSeconds"
    )


def _deleted_gates(new: Object, old: Object) -> list[FieldError]:
    before = {gate["name"] for gate in old.get("schedulingGates") or ()}
    return [
        forbidden(
            f"spec.schedulingGates[{i}].name",
            f"only deletion is allowed, but found new scheduling gate '{gate['name']}'",
        )
        for i, gate in enumerate(new.get("schedulingGates") or ())
        if gate["name"] not in before
    ]


def _other_fields(new: Object, old: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    munged = copy.deepcopy(new)
    for field in ("containers", "initContainers"):
        for container, before in zip(munged.get(field) or (), old.get(field) or (), strict=True):
            _take(container, before, "image")
    for field in ("activeDeadlineSeconds", "schedulingGates", "tolerations"):
        _take(munged, old, field)
    grace = old.get("terminationGracePeriodSeconds")
    if grace is not None and grace < 0 and munged.get("terminationGracePeriodSeconds") == 1:
        munged["terminationGracePeriodSeconds"] = grace
    if old.get("schedulingGates"):
        problems += _gated(munged, old)
    if munged != old:
        problems.append(forbidden("spec", f"{ONLY_SOME_FIELDS}\n{_difference(old, munged)}"))
    return problems


def _take(target: Object, source: Object, field: str) -> None:
    if field in source:
        target[field] = source[field]
    else:
        target.pop(field, None)


def _gated(munged: Object, old: Object) -> list[FieldError]:
    """Check that node selection of a gated pod becomes stricter, never looser."""
    problems: list[FieldError] = []
    before, now = old.get("nodeSelector") or {}, munged.get("nodeSelector")
    if any((now or {}).get(key) != value for key, value in before.items()):
        why = "only additions to spec.nodeSelector are allowed (no mutations or deletions)"
        problems.append(invalid("spec.nodeSelector", now, why))
    _take(munged, old, "nodeSelector")
    affinity = munged.get("affinity")
    old_nodes = (old.get("affinity") or {}).get("nodeAffinity")
    new_nodes = (affinity or {}).get("nodeAffinity")
    if new_nodes == old_nodes:
        return problems
    problems += _node_affinity_change(new_nodes or {}, old_nodes or {})
    if affinity is None:
        munged["affinity"] = {"nodeAffinity": old_nodes}
    elif old.get("affinity") is None and not (
        affinity.get("podAffinity") or affinity.get("podAntiAffinity")
    ):
        munged.pop("affinity")
    elif old_nodes is None:
        affinity.pop("nodeAffinity", None)
    else:
        affinity["nodeAffinity"] = old_nodes
    return problems


def _node_affinity_change(new: Object, old: Object) -> list[FieldError]:
    name = "requiredDuringSchedulingIgnoredDuringExecution"
    before = (old.get(name) or {}).get("nodeSelectorTerms") or []
    now = (new.get(name) or {}).get("nodeSelectorTerms") or []
    path = f"spec.affinity.nodeAffinity.{name}.nodeSelectorTerms"
    if before and len(before) != len(now):
        why = "no additions/deletions to non-empty NodeSelectorTerms list are allowed"
        return [invalid(path, now or None, why)]
    why = "only additions are allowed (no mutations or deletions)"
    problems: list[FieldError] = []
    for i, (was, now_term) in enumerate(zip(before, now, strict=False)):
        kept = all(
            all(one in (now_term.get(part) or []) for one in was.get(part) or [])
            for part in ("matchExpressions", "matchFields")
        )
        empty = not (was.get("matchExpressions") or was.get("matchFields"))
        if not kept or (empty and now_term != was):
            problems.append(invalid(f"{path}[{i}]", now_term, why))
    return problems


def _difference(old: Object, new: Object) -> str:
    """Return how two specs differ, field by field."""
    return "\n".join(
        f"-  {key}: {old.get(key)!r}\n+  {key}: {new.get(key)!r}"
        for key in sorted({**old, **new})
        if old.get(key) != new.get(key)
    )


def check_binding(binding: Object) -> list[FieldError]:
    """Check the binding of a pod to a node."""
    problems: list[FieldError] = []
    target = binding["target"]
    if target.get("kind") not in (None, "", "Node"):
        problems.append(not_supported("target.kind", target["kind"], ("Node", "<empty>")))
    name = target.get("name") or ""
    if not name:
        problems.append(required("target.name"))
    elif target.get("kind") in (None, "", "Node"):
        problems += each("target.name", name, subdomain_problems(name))
    return problems
