"""Defaults of the groups other than core, apps and batch."""

# kubernetes: pkg/apis/{autoscaling,networking,rbac,storage,scheduling,discovery,resource,
# admissionregistration}/*/defaults.go,
# apiextensions-apiserver: pkg/apis/apiextensions/v1/defaults.go

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from mooring.controlplane.field_defaults import CSI_DRIVER_SPEC, STORAGE_CLASS, fill
from mooring.controlplane.priority_classes import PREEMPT_LOWER_PRIORITY

Object = dict[str, Any]

_RBAC = "rbac.authorization.k8s.io"
_HTTPS = 443
_HOUR = 3600
_SCALE_PERIOD = 15


def _autoscaler(autoscaler: Object) -> None:
    autoscaler["spec"].setdefault("minReplicas", 1)
    # kube-apiserver converts v1 to v2, which defaults to this metric.
    autoscaler["spec"].setdefault("targetCPUUtilizationPercentage", 80)


def _autoscaler_v2(autoscaler: Object) -> None:
    spec = autoscaler["spec"]
    spec.setdefault("minReplicas", 1)
    if not spec.get("metrics"):
        target = {"type": "Utilization", "averageUtilization": 80}
        spec["metrics"] = [{"type": "Resource", "resource": {"name": "cpu", "target": target}}]
    if (behavior := spec.get("behavior")) is not None:
        behavior["scaleUp"] = {
            "stabilizationWindowSeconds": 0,
            "selectPolicy": "Max",
            "policies": [
                {"type": "Pods", "value": 4, "periodSeconds": _SCALE_PERIOD},
                {"type": "Percent", "value": 100, "periodSeconds": _SCALE_PERIOD},
            ],
            **_given(behavior.get("scaleUp")),
        }
        behavior["scaleDown"] = {
            "selectPolicy": "Max",
            "policies": [{"type": "Percent", "value": 100, "periodSeconds": _SCALE_PERIOD}],
            **_given(behavior.get("scaleDown")),
        }


def _given(rules: Object | None) -> Object:
    return {name: value for name, value in (rules or {}).items() if value is not None}


def _network_policy_port(port: Object) -> None:
    port.setdefault("protocol", "TCP")


def _network_policy(policy: Object) -> None:
    spec = policy.get("spec") or {}
    if not spec.get("policyTypes"):
        spec["policyTypes"] = ["Ingress", "Egress"] if spec.get("egress") else ["Ingress"]


def _ingress_class(ingress_class: Object) -> None:
    parameters = ingress_class["spec"].get("parameters")
    if parameters is not None and parameters.get("scope") is None:
        parameters["scope"] = "Cluster"


def _role_binding(binding: Object) -> None:
    if not binding["roleRef"].get("apiGroup"):
        binding["roleRef"]["apiGroup"] = _RBAC


def _subject(subject: Object) -> None:
    if not subject.get("apiGroup") and subject.get("kind") in ("User", "Group"):
        subject["apiGroup"] = _RBAC


def _storage_class(storage_class: Object) -> None:
    fill(storage_class, STORAGE_CLASS)


def _csi_driver(driver: Object) -> None:
    fill(driver["spec"], CSI_DRIVER_SPEC)


def _priority_class(priority_class: Object) -> None:
    priority_class.setdefault("preemptionPolicy", PREEMPT_LOWER_PRIORITY)


def _endpoint_port(port: Object) -> None:
    port.setdefault("name", "")
    port.setdefault("protocol", "TCP")


def _device_request(request: Object) -> None:
    if request.setdefault("allocationMode", "ExactCount") == "ExactCount":
        request.setdefault("count", 1)


def _webhook(webhook: Object) -> None:
    webhook.setdefault("failurePolicy", "Fail")
    webhook.setdefault("matchPolicy", "Equivalent")
    webhook.setdefault("namespaceSelector", {})
    webhook.setdefault("objectSelector", {})
    webhook.setdefault("timeoutSeconds", 10)


def _mutating_webhook(webhook: Object) -> None:
    _webhook(webhook)
    webhook.setdefault("reinvocationPolicy", "Never")


def _rule(rule: Object) -> None:
    rule.setdefault("scope", "*")


def _service_reference(reference: Object) -> None:
    reference.setdefault("port", _HTTPS)


def _policy_spec(spec: Object) -> None:
    spec.setdefault("failurePolicy", "Fail")


def _match_resources(match: Object) -> None:
    match.setdefault("matchPolicy", "Equivalent")
    match.setdefault("namespaceSelector", {})
    match.setdefault("objectSelector", {})


def _token_request_spec(spec: Object) -> None:
    if spec.get("expirationSeconds") is None:
        spec["expirationSeconds"] = _HOUR


def _definition(definition: Object) -> None:
    spec, status = definition["spec"], definition["status"]
    names = spec["names"]
    if not names.get("singular"):
        names["singular"] = names.get("kind", "").lower()
    if not names.get("listKind") and names.get("kind"):
        names["listKind"] = f"{names['kind']}List"
    if spec.get("conversion") is None:
        spec["conversion"] = {"strategy": "None"}
    if not status.get("storedVersions"):
        stored = [one["name"] for one in spec.get("versions") or () if one.get("storage")]
        status["storedVersions"] = stored[:1] or None


DEFAULTERS: dict[str, Callable[[Object], None]] = {
    "autoscaling.v1.HorizontalPodAutoscaler": _autoscaler,
    "autoscaling.v2.HorizontalPodAutoscaler": _autoscaler_v2,
    "networking.v1.NetworkPolicyPort": _network_policy_port,
    "networking.v1.NetworkPolicy": _network_policy,
    "networking.v1.IngressClass": _ingress_class,
    "rbac.v1.ClusterRoleBinding": _role_binding,
    "rbac.v1.RoleBinding": _role_binding,
    "rbac.v1.Subject": _subject,
    "storage.v1.StorageClass": _storage_class,
    "storage.v1.CSIDriver": _csi_driver,
    "scheduling.v1.PriorityClass": _priority_class,
    "discovery.v1.EndpointPort": _endpoint_port,
    **dict.fromkeys(
        (
            "resource.v1.ExactDeviceRequest",
            "resource.v1.DeviceSubRequest",
            "resource.v1beta2.ExactDeviceRequest",
            "resource.v1beta2.DeviceSubRequest",
            "resource.v1beta1.DeviceSubRequest",
        ),
        _device_request,
    ),
    "admissionregistration.v1.ValidatingWebhook": _webhook,
    "admissionregistration.v1.MutatingWebhook": _mutating_webhook,
    "admissionregistration.v1.RuleWithOperations": _rule,
    "admissionregistration.v1.NamedRuleWithOperations": _rule,
    "admissionregistration.v1.ServiceReference": _service_reference,
    "admissionregistration.v1.ValidatingAdmissionPolicySpec": _policy_spec,
    "admissionregistration.v1.MutatingAdmissionPolicySpec": _policy_spec,
    "admissionregistration.v1.MatchResources": _match_resources,
    "authentication.v1.TokenRequestSpec": _token_request_spec,
    "apiextensions.v1.CustomResourceDefinition": _definition,
    "apiextensions.v1.ServiceReference": _service_reference,
}
