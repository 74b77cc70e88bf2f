"""Defaults of pods, their containers and volumes."""

# kubernetes: pkg/apis/core/v1/{defaults.go,conversion.go}

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from typing import Any

import msgspec

from mooring.api.pod import Pod
from mooring.api.quantity import Quantity
from mooring.controlplane.field_defaults import POD_SPEC, fill
from mooring.controlplane.pod_defaults import default_pod, with_limits
from mooring.errors import ObjectError

Object = dict[str, Any]

_MODE = 0o644
_HOUR = 3600
_VOLUME_NAME = "name"
_PART = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_HOST = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?(?:\.[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?)*"
_REFERENCE = re.compile(
    rf"(?:(?:{_HOST}|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_PART}(?:/{_PART})*"
    r"(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_TAG = re.compile(r":([^/@:]+)(?:@.*)?$")


def image_tag(image: str) -> str:
    """Return the tag of an image, `latest` if it names neither a tag nor a digest.

    Return "" if the name is malformed, or has a digest but no tag.
    """
    if _REFERENCE.fullmatch(image) is None:
        return ""
    match = _TAG.search(image.partition("@")[0])
    if match is not None:
        return match[1]
    return "" if "@" in image else "latest"


def pull_policy(image: str) -> str:
    """Return the default pull policy of an image."""
    return "Always" if image_tag(image) == "latest" else "IfNotPresent"


def _container(container: Object) -> None:
    if not container.get("imagePullPolicy"):
        container["imagePullPolicy"] = pull_policy(container.get("image", ""))
    container.setdefault("terminationMessagePath", "/dev/termination-log")
    container.setdefault("terminationMessagePolicy", "File")


def _containers(spec: Object) -> Iterable[Object]:
    yield from spec.get("containers") or ()
    yield from spec.get("initContainers") or ()


def _pod(pod: Object) -> None:
    spec = pod["spec"]
    for container in _containers(spec):
        resources = container["resources"]
        if limits := resources.get("limits"):
            resources["requests"] = with_limits(resources.get("requests") or {}, limits)
    if spec.get("resources"):
        _pod_resources(pod)
    spec.setdefault("enableServiceLinks", True)
    if spec.get("hostNetwork"):
        for container in _containers(spec):
            for port in container.get("ports") or ():
                if not port.get("hostPort"):
                    port["hostPort"] = port["containerPort"]


def _pod_resources(pod: Object) -> None:
    """Set the defaults of pod-level requests and limits, with the scheduler's own code."""
    # The priority class is not known here, and does not affect resources.
    kept = {name: value for name, value in pod["spec"].items() if name != "priorityClassName"}
    try:
        spec = default_pod(msgspec.convert(pod | {"spec": kept}, Pod), {}).spec
    except (ObjectError, msgspec.ValidationError):
        return  # validation reports the problem
    if spec.resources is None:
        return
    for name, amounts in (("limits", spec.resources.limits), ("requests", spec.resources.requests)):
        if amounts:
            given = pod["spec"]["resources"].setdefault(name, {})
            for resource, amount in amounts.items():
                given.setdefault(resource, str(Quantity(amount)))


def _pod_spec(spec: Object) -> None:
    fill(spec, POD_SPEC)
    if spec.get("securityContext") is None:
        spec["securityContext"] = {}


def _convert_pod(pod: Object) -> None:
    if (pod["spec"].get("terminationGracePeriodSeconds") or 0) < 0:
        pod["spec"]["terminationGracePeriodSeconds"] = 1


def _convert_pod_spec(spec: Object) -> None:
    account = spec.get("serviceAccountName") or spec.get("serviceAccount")
    if account:
        spec["serviceAccountName"] = spec["serviceAccount"] = account


def _convert_pod_status(status: Object) -> None:
    first, listed = status.get("podIP"), status.get("podIPs")
    if first and (not listed or listed[0].get("ip") != first):
        status["podIPs"] = [{"ip": first}]
    elif listed:
        status["podIP"] = listed[0].get("ip", "")


def _volume(volume: Object) -> None:
    if all(value is None for name, value in volume.items() if name != _VOLUME_NAME):
        volume["emptyDir"] = {}
    image = volume.get("image")
    if image is not None and not image.get("pullPolicy"):
        image["pullPolicy"] = pull_policy(image.get("reference", ""))


def _default_mode(source: Object) -> None:
    source.setdefault("defaultMode", _MODE)


def _token(projection: Object) -> None:
    projection.setdefault("expirationSeconds", _HOUR)


def _probe(probe: Object) -> None:
    probe.setdefault("timeoutSeconds", 1)
    probe.setdefault("periodSeconds", 10)
    probe.setdefault("successThreshold", 1)
    probe.setdefault("failureThreshold", 3)
    if (grpc := probe.get("grpc")) is not None and grpc.get("service") is None:
        grpc["service"] = ""


def _http_get(action: Object) -> None:
    action.setdefault("path", "/")
    action.setdefault("scheme", "HTTP")


def _field_selector(selector: Object) -> None:
    selector.setdefault("apiVersion", "v1")


def _host_path(source: Object) -> None:
    source.setdefault("type", "")


DEFAULTERS: dict[str, Callable[[Object], None]] = {
    "core.v1.Pod": _pod,
    "core.v1.PodSpec": _pod_spec,
    "core.v1.Container": _container,
    "core.v1.EphemeralContainer": _container,
    "core.v1.Volume": _volume,
    "core.v1.SecretVolumeSource": _default_mode,
    "core.v1.ConfigMapVolumeSource": _default_mode,
    "core.v1.DownwardAPIVolumeSource": _default_mode,
    "core.v1.ProjectedVolumeSource": _default_mode,
    "core.v1.ServiceAccountTokenProjection": _token,
    "core.v1.Probe": _probe,
    "core.v1.HTTPGetAction": _http_get,
    "core.v1.ObjectFieldSelector": _field_selector,
    "core.v1.HostPathVolumeSource": _host_path,
}


CONVERSIONS: dict[str, Callable[[Object], None]] = {
    "core.v1.Pod": _convert_pod,
    "core.v1.PodSpec": _convert_pod_spec,
    "core.v1.PodStatus": _convert_pod_status,
}
