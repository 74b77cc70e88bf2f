"""What a journal leaves out of objects: it decides nothing, and may hold secrets.

These are the environment, command, arguments, probes and hooks of containers, also in the templates
of workloads, the messages of their states, parameters of volumes, of storage classes and of drivers
of devices, the values of Secrets, and the annotation in which `kubectl apply` keeps a copy of the
whole object.
"""

from __future__ import annotations

from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import (
    CustomResource,
    DeviceClass,
    KubeObject,
    PersistentVolume,
    Pod,
    ResourceClaim,
    StorageClass,
    VolumeAttachment,
    VolumeAttributesClass,
)
from mooring.api.containers import Container, ContainerStatus
from mooring.api.meta import ObjectMeta
from mooring.api.pod import PodSpec, PodStatus, PodTemplateSpec
from mooring.api.volumes import Volume
from mooring.api.workloads import StatefulSet
from mooring.config.secret_values import LEFT_OUT
from mooring.errors import safe_url
from mooring.journal.left_out import bare_secret, is_secret

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


#: The maps of volumes whose values are left out: the name of the source, and of the map in it.
_PARAMETERS = frozenset(
    {("csi", "volumeAttributes"), ("flexVolume", "options"), ("opaque", "parameters")}
)


def encode_object(obj: KubeObject, kind: str = "") -> msgspec.Raw:
    """Return an object as JSON, without what is left out; `kind` is "plural.version.group"."""
    if isinstance(obj, CustomResource):
        bare = _bare_value(obj.raw, "")
        return msgspec.Raw(
            msgspec.json.encode(bare_secret(bare) if is_secret(obj.raw, kind) else bare)
        )
    return msgspec.Raw(msgspec.json.encode(_bare(obj)))


def encode_status(status: PodStatus) -> msgspec.Raw:
    """Return the status of a pod as JSON, without what is left out."""
    return msgspec.Raw(msgspec.json.encode(_bare_status(status)))


def _bare(obj: Any) -> Any:
    changes: dict[str, Any] = {}
    if LAST_APPLIED in obj.metadata.annotations:
        changes["metadata"] = _bare_metadata(obj.metadata)
    if isinstance(obj, Pod):
        spec: Any = _bare_pod_spec(obj.spec)
        if spec is not obj.spec:
            changes["spec"] = spec
        status = _bare_status(obj.status)
        if status is not obj.status:
            changes["status"] = status
    elif isinstance(obj, PersistentVolume):
        changes["spec"] = _bare_source(obj.spec)
    elif isinstance(obj, StorageClass | VolumeAttributesClass):
        changes["parameters"] = _without_values(obj.parameters)
    elif isinstance(obj, VolumeAttachment):
        changes |= _bare_attachment(obj)
    elif isinstance(obj, DeviceClass):
        changes["spec"] = replace(obj.spec, config=_bare_configs(obj.spec.config))
    elif isinstance(obj, ResourceClaim):
        changes |= _bare_claim(obj)
    else:
        template = getattr(getattr(obj, "spec", None), "template", None)
        if isinstance(template, PodTemplateSpec):
            changes["spec"] = replace(obj.spec, template=_bare_template(template))
        if isinstance(obj, StatefulSet):
            claims = tuple(_bare_value(one, "") for one in obj.spec.volume_claim_templates)
            changes["spec"] = replace(changes["spec"], volume_claim_templates=claims)
    return replace(obj, **changes) if changes else obj


def _bare_attachment(obj: VolumeAttachment) -> dict[str, Any]:
    """Return the changed fields of the attachment of a volume, which may describe the volume."""
    changes: dict[str, Any] = {}
    inline = obj.spec.source.inline_volume_spec
    if inline is not None:
        source = replace(obj.spec.source, inline_volume_spec=_bare_source(inline))
        changes["spec"] = replace(obj.spec, source=source)
    if obj.status.attachment_metadata:
        metadata = _without_values(obj.status.attachment_metadata)
        changes["status"] = replace(obj.status, attachment_metadata=metadata)
    return changes


def _bare_claim(obj: ResourceClaim) -> dict[str, Any]:
    """Return the changed fields of a claim: what only drivers of devices write and read."""
    changes: dict[str, Any] = {}
    devices = obj.spec.devices
    if devices.config:
        devices = replace(devices, config=_bare_configs(devices.config))
        changes["spec"] = replace(obj.spec, devices=devices)
    status = obj.status
    allocation = status.allocation
    if allocation is not None and allocation.devices.config:
        taken = replace(allocation.devices, config=_bare_configs(allocation.devices.config))
        status = replace(status, allocation=replace(allocation, devices=taken))
    if any(one.data is not None for one in status.devices):
        status = replace(status, devices=tuple(replace(one, data=None) for one in status.devices))
    if status is not obj.status:
        changes["status"] = status
    return changes


def _bare_configs(configs: tuple[Any, ...]) -> tuple[Any, ...]:
    """Return configurations of devices without the parameters, which only drivers read."""
    return tuple(
        replace(one, opaque={**one.opaque, "parameters": _without_values(one.opaque["parameters"])})
        if "parameters" in one.opaque
        else one
        for one in configs
    )


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
    volumes = _bare_volumes(spec.volumes)
    if (
        containers is spec.containers
        and init is spec.init_containers
        and ephemeral is spec.ephemeral_containers
        and volumes is spec.volumes
    ):
        return spec
    return replace(
        spec,
        containers=containers,
        init_containers=init,
        ephemeral_containers=ephemeral,
        volumes=volumes,
    )


def _bare_volumes(volumes: tuple[Volume, ...]) -> tuple[Volume, ...]:
    """Return volumes without what is left out; the same tuple if there is nothing."""
    for volume in volumes:
        if (
            volume.csi is not None
            or volume.flex_volume is not None
            or volume.git_repo is not None
            or volume.ephemeral is not None
        ):
            return tuple(map(_bare_source, volumes))
    return volumes


def _bare_source(spec: Any) -> Any:
    """Return a volume of a pod, or the spec of a PersistentVolume, without its parameters."""
    changes: dict[str, Any] = {}
    if spec.csi is not None:
        attributes = _without_values(spec.csi.volume_attributes)
        changes["csi"] = replace(spec.csi, volume_attributes=attributes)
    if spec.flex_volume is not None:
        changes["flex_volume"] = _bare_value(spec.flex_volume, "flexVolume")
    if getattr(spec, "git_repo", None) is not None:
        changes["git_repo"] = _bare_value(spec.git_repo, "gitRepo")
    template = getattr(getattr(spec, "ephemeral", None), "volume_claim_template", None)
    if template is not None and LAST_APPLIED in template.metadata.annotations:
        template = replace(template, metadata=_bare_metadata(template.metadata))
        changes["ephemeral"] = replace(spec.ephemeral, volume_claim_template=template)
    return replace(spec, **changes) if changes else spec


def _without_values(parameters: Any) -> Any:
    """Return the keys of a map; a journal shows which parameters there are."""
    return dict.fromkeys(parameters, LEFT_OUT) if isinstance(parameters, dict) else {}


def _bare_status(status: PodStatus) -> PodStatus:
    """Return the status of a pod without the messages of containers.

    They may be logs, or name what a container could not be started with.
    """
    changes: dict[str, Any] = {}
    for field in ("init_container_statuses", "container_statuses", "ephemeral_container_statuses"):
        statuses = getattr(status, field)
        if any(_has_message(one.state) or _has_message(one.last_state) for one in statuses):
            changes[field] = tuple(map(_bare_container_status, statuses))
    return replace(status, **changes) if changes else status


def _has_message(state: dict[str, Any]) -> bool:
    return any(isinstance(one, dict) and "message" in one for one in state.values())


def _bare_container_status(status: ContainerStatus) -> ContainerStatus:
    state, last_state = _bare_state(status.state), _bare_state(status.last_state)
    return replace(status, state=state, last_state=last_state)


def _bare_state(state: dict[str, Any]) -> dict[str, Any]:
    return {
        name: {**one, "message": LEFT_OUT} if isinstance(one, dict) and "message" in one else one
        for name, one in state.items()
    }


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
            name: _bare_member(key, name, each)
            for name, each in value.items()
            if not (key == "annotations" and name == LAST_APPLIED)
        }
    if isinstance(value, list):
        if key in _CONTAINERS:
            value = [_without_omitted(each) for each in value]
        return [_bare_value(each, "") for each in value]
    return value


def _bare_member(key: str, name: str, value: Any) -> Any:
    """Return a member of the map `key` without what is left out."""
    if (key, name) in _PARAMETERS:
        return _without_values(value)
    if (key, name) == ("gitRepo", "repository") and isinstance(value, str):
        return safe_url(value)
    return _bare_value(value, name)


def _without_omitted(container: Any) -> Any:
    if not isinstance(container, dict):
        return container
    return {name: each for name, each in container.items() if name not in OMITTED}
