"""The environment variables of a container."""

# kubernetes: pkg/kubelet/kubelet_pods.go (makeEnvironmentVariables)

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mooring.kubelet.command_lines import expand
from mooring.kubelet.pod_fields import PodFieldError, field_value, resource_value
from mooring.kubelet.pod_sources import PodSources, SourceError

Object = dict[str, Any]


async def environment(
    pod: Object, container: Object, sources: PodSources, services: Mapping[str, str]
) -> dict[str, str]:
    """Return a container's variables, in addition to `services`, which locate the API server.

    Raise SourceError if a source is missing.
    """
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        found |= await _whole(source, sources)
    for variable in container.get("env") or ():
        if variable.get("value"):
            value: str | None = expand(variable["value"], {**services, **found})
        else:
            value = await _value(pod, container, variable.get("valueFrom") or {}, sources)
        if value is not None:
            found[variable["name"]] = value
    return {**services, **found}


async def _whole(source: Object, sources: PodSources) -> dict[str, str]:
    prefix = source.get("prefix", "")
    data: dict[str, bytes] = {}
    if reference := source.get("configMapRef"):
        data = await sources.config_map(reference["name"], reference.get("optional", False))
    elif reference := source.get("secretRef"):
        data = await sources.secret(reference["name"], reference.get("optional", False))
    return {prefix + key: value.decode(errors="replace") for key, value in data.items()}


async def _value(pod: Object, container: Object, source: Object, sources: PodSources) -> str | None:
    try:
        if reference := source.get("fieldRef"):
            return field_value(pod, reference["fieldPath"])
        if reference := source.get("resourceFieldRef"):
            return resource_value(pod, reference, container["name"])
    except PodFieldError as error:
        raise SourceError(str(error)) from None
    if not (source.get("configMapKeyRef") or source.get("secretKeyRef")):
        return ""
    return await _key(pod, source, sources)


async def _key(pod: Object, source: Object, sources: PodSources) -> str | None:
    if reference := source.get("configMapKeyRef"):
        kind, read = "ConfigMap", sources.config_map
    else:
        reference = source["secretKeyRef"]
        kind, read = "Secret", sources.secret
    name, key, optional = reference["name"], reference["key"], reference.get("optional", False)
    data = await read(name, optional)
    if key in data:
        return data[key].decode(errors="replace")
    if optional:
        return None
    namespace = pod["metadata"]["namespace"]
    raise SourceError(f"couldn't find key {key} in {kind} {namespace}/{name}")
