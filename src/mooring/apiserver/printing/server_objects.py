"""Printers of the objects that extend the API server or tell it how to work."""

# kube-apiserver: pkg/printers/internalversion/printers.go
# kube-aggregator: pkg/registry/apiservice/etcd/etcd.go
# apiextensions-apiserver: pkg/registry/customresourcedefinition/tableconvertor

from __future__ import annotations

import datetime
from typing import Any

from mooring.apiserver.printing.printer import (
    NONE,
    UNSET,
    Object,
    Printer,
    TableColumn,
    age,
    at,
    columns,
    map_text,
    name,
)

_ADMISSION = "admissionregistration.k8s.io"
_CERTIFICATES = "certificates.k8s.io"


def condition_status(obj: Object, type: str) -> str | None:
    """Return the status of an object's condition, None if it has no such condition."""
    for one in at(obj, "status.conditions", ()):
        if one.get("type") == type:
            return str(one.get("status", ""))
    return None


def parameter_kind(obj: Object) -> str:
    """Return the kind of a policy's parameters."""
    kind = at(obj, "spec.paramKind")
    return UNSET if kind is None else f"{kind.get('apiVersion', '')}/{kind.get('kind', '')}"


def parameter(obj: Object) -> str:
    """Return the parameter object of a policy binding."""
    reference = at(obj, "spec.paramRef") or {}
    if not reference.get("name"):
        return UNSET
    return f"{reference.get('namespace') or '*'}/{reference['name']}"


def _policy(count: str) -> Printer:
    """Return the printer of admission policies, which counts the entries of a field."""
    return Printer(
        columns(f"Name, {count.title()}:integer, ParamKind, Age"),
        lambda obj, now: [
            name(obj),
            len(at(obj, f"spec.{count}", ())),
            parameter_kind(obj),
            age(obj, now),
        ],
    )


_POLICY_BINDING = Printer(
    columns("Name, PolicyName, ParamRef, Age"),
    lambda obj, now: [name(obj), at(obj, "spec.policyName", ""), parameter(obj), age(obj, now)],
)
_WEBHOOKS = Printer(
    columns("Name, Webhooks:integer, Age"),
    lambda obj, now: [name(obj), len(obj.get("webhooks") or ()), age(obj, now)],
)


def _definition(obj: Object, now: datetime.datetime) -> list[Any]:
    versions = sorted(
        one["name"] + ("(storage)" if one.get("storage") else "")
        for one in at(obj, "spec.versions", ())
        if one.get("served")
    )
    return [
        name(obj),
        at(obj, "spec.scope", ""),
        ",".join(versions),
        at(obj, "metadata.creationTimestamp"),
        at(obj, "spec.group", ""),
        at(obj, "spec.names.kind", ""),
        ",".join(at(obj, "spec.names.shortNames", ())),
        condition_status(obj, "Established") == "True",
    ]


def _api_service(obj: Object, now: datetime.datetime) -> list[Any]:
    service = at(obj, "spec.service")
    where = "Local"
    if service is not None:
        where = f"{service.get('namespace', '')}/{service.get('name', '')}"
    state = "Unknown"
    for one in at(obj, "status.conditions", ()):
        if one.get("type") == "Available":
            state = str(one.get("status", ""))
            if state != "True" and one.get("reason"):
                state = f"{state} ({one['reason']})"
            break
    return [name(obj), where, state, age(obj, now)]


def _component_status(obj: Object, now: datetime.datetime) -> list[Any]:
    for one in obj.get("conditions") or ():
        if one.get("type") == "Healthy":
            state = "Healthy" if one.get("status") == "True" else "Unhealthy"
            return [name(obj), state, one.get("message", ""), one.get("error", "")]
    return [name(obj), "Unknown", "", ""]


def _flow_schema(obj: Object, now: datetime.datetime) -> list[Any]:
    dangling = condition_status(obj, "Dangling")
    return [
        name(obj),
        at(obj, "spec.priorityLevelConfiguration.name", ""),
        at(obj, "spec.matchingPrecedence", 0),
        at(obj, "spec.distinguisherMethod.type", NONE),
        age(obj, now),
        "?" if dangling is None else dangling,
    ]


def _pod_certificate_request(obj: Object, now: datetime.datetime) -> list[Any]:
    state = "Pending"
    for one in at(obj, "status.conditions", ()):
        if one.get("type") in ("Issued", "Denied", "Failed"):
            state = one["type"]
    fields = ("podName", "serviceAccountName", "nodeName", "signerName")
    return [
        name(obj),
        *(at(obj, f"spec.{field}", "") for field in fields),
        state,
        map_text(at(obj, "spec.unverifiedUserAnnotations")),
    ]


def _migration(obj: Object, now: datetime.datetime) -> list[Any]:
    group = at(obj, "spec.resource.group", "")
    resource = at(obj, "spec.resource.resource", "")
    state = "Unknown"
    for one in at(obj, "status.conditions", ()):
        if one.get("status") == "True" and one.get("type") in ("Running", "Failed", "Succeeded"):
            state = one["type"]
    return [name(obj), f"{resource}.{group}" if group else resource, state]


PRINTERS = {
    "/ComponentStatus": Printer(columns("Name, Status, Message, Error"), _component_status),
    "apiextensions.k8s.io/CustomResourceDefinition": Printer(
        columns(
            "Name, Scope, Versions, Created At:date; Group, Kind, ShortNames, Established:boolean"
        ),
        _definition,
    ),
    "apiregistration.k8s.io/APIService": Printer(
        columns("Name, Service, Available, Age"), _api_service
    ),
    f"{_ADMISSION}/ValidatingAdmissionPolicy": _policy("validations"),
    f"{_ADMISSION}/ValidatingAdmissionPolicyBinding": _POLICY_BINDING,
    f"{_ADMISSION}/MutatingAdmissionPolicy": _policy("mutations"),
    f"{_ADMISSION}/MutatingAdmissionPolicyBinding": _POLICY_BINDING,
    f"{_ADMISSION}/MutatingWebhookConfiguration": _WEBHOOKS,
    f"{_ADMISSION}/ValidatingWebhookConfiguration": _WEBHOOKS,
    "flowcontrol.apiserver.k8s.io/FlowSchema": Printer(
        columns(
            "Name, PriorityLevel, MatchingPrecedence, DistinguisherMethod, Age, MissingPL",
        ),
        _flow_schema,
    ),
    f"{_CERTIFICATES}/ClusterTrustBundle": Printer(
        columns("Name, SignerName"),
        lambda obj, now: [name(obj), at(obj, "spec.signerName", "") or NONE],
    ),
    f"{_CERTIFICATES}/PodCertificateRequest": Printer(
        columns(
            "Name, PodName, ServiceAccountName, NodeName, SignerName, State, "
            "UnverifiedUserAnnotations"
        ),
        _pod_certificate_request,
    ),
    "storagemigration.k8s.io/StorageVersionMigration": Printer(
        # The name of a migration has no format, unlike that of all other kinds.
        (TableColumn("Name"), TableColumn("Resource"), TableColumn("Status")),
        _migration,
    ),
}
