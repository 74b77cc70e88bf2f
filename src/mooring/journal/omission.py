"""What a journal leaves out of objects: it decides nothing, and may hold secrets.

These are the environment, command, arguments, probes and hooks of containers, also in the templates
of workloads, and the annotation in which `kubectl apply` keeps a copy of the whole object.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import CustomResource, KubeObject, Pod
from mooring.api.containers import Container
from mooring.api.meta import ObjectMeta
from mooring.api.pod import PodSpec, PodTemplateSpec

LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration"

#: The fields of a container that are left out, as they are spelled in JSON.
OMITTED = frozenset(
    {
        "env",
        "envFrom",
        "command",
        "args",
        "livenessProbe",
        "readinessProbe",
        "startupProbe",
        "lifecycle",
    }
)
_CONTAINERS = frozenset({"containers", "initContainers", "ephemeralContainers"})


def encode_object(obj: KubeObject) -> msgspec.Raw:
    """Return an object as JSON, without what is left out."""
    if isinstance(obj, CustomResource):
        return msgspec.Raw(msgspec.json.encode(_bare_value(obj.raw, "")))
    return msgspec.Raw(msgspec.json.encode(_bare(obj)))


def _bare(obj: Any) -> Any:
    changes: dict[str, Any] = {}
    if LAST_APPLIED in obj.metadata.annotations:
        changes["metadata"] = _bare_metadata(obj.metadata)
    if isinstance(obj, Pod):
        spec: Any = _bare_pod_spec(obj.spec)
        if spec is not obj.spec:
            changes["spec"] = spec
    else:
        template = getattr(getattr(obj, "spec", None), "template", None)
        if isinstance(template, PodTemplateSpec):
            changes["spec"] = replace(obj.spec, template=_bare_template(template))
    return replace(obj, **changes) if changes else obj


def _bare_metadata(metadata: ObjectMeta) -> ObjectMeta:
    kept = {key: value for key, value in metadata.annotations.items() if key != LAST_APPLIED}
    return replace(metadata, annotations=kept)


def _bare_template(template: PodTemplateSpec) -> PodTemplateSpec:
    metadata = _bare_value(template.metadata, "")
    return replace(template, metadata=metadata, spec=_bare_pod_spec(template.spec))


def _bare_pod_spec(spec: PodSpec) -> PodSpec:
    containers = _bare_containers(spec.containers)
    init = _bare_containers(spec.init_containers)
    ephemeral = _bare_containers(spec.ephemeral_containers)
    if (
        containers is spec.containers
        and init is spec.init_containers
        and ephemeral is spec.ephemeral_containers
    ):
        return spec
    return replace(
        spec, containers=containers, init_containers=init, ephemeral_containers=ephemeral
    )


def _bare_containers(containers: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return containers without what is left out; the same tuple if there is nothing."""
    for container in containers:
        if _says_more(container):
            break
    else:
        return containers
    return tuple(
        replace(
            container,
            env=(),
            env_from=(),
            command=(),
            args=(),
            liveness_probe=None,
            readiness_probe=None,
            startup_probe=None,
            lifecycle=None,
        )
        for container in containers
    )


def _says_more(container: Container) -> bool:
    return bool(
        container.env
        or container.env_from
        or container.command
        or container.args
        or container.liveness_probe
        or container.readiness_probe
        or container.startup_probe
        or container.lifecycle
    )


def _bare_value(value: Any, key: str) -> Any:
    """Return a JSON value without what is left out; `key` is its name in the map around it."""
    if isinstance(value, dict):
        return {
            name: _bare_value(each, name)
            for name, each in value.items()
            if not (key == "annotations" and name == LAST_APPLIED)
        }
    if isinstance(value, list):
        if key in _CONTAINERS:
            value = [_without_omitted(each) for each in value]
        return [_bare_value(each, "") for each in value]
    return value


def _without_omitted(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    return {name: each for name, each in container.items() if name not in OMITTED}
