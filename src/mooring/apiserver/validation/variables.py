"""The environment variables of a container, and their sources."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidateEnv, ValidateEnvFrom)

from __future__ import annotations

import re
from collections.abc import Sequence

from mooring.api.field_errors import FieldError, each, invalid, not_found, not_supported, required
from mooring.api.quantity import parse_nanos
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.file_paths import no_backsteps
from mooring.apiserver.validation.formats import (
    config_key_problems,
    environment_name_problems,
    label_key_problems,
    label_problems,
    subdomain_problems,
)

ENV_FIELDS = (
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
    "spec.nodeName",
    "spec.serviceAccountName",
    "status.hostIP",
    "status.hostIPs",
    "status.podIP",
    "status.podIPs",
)
VOLUME_FIELDS = (
    "metadata.annotations",
    "metadata.labels",
    "metadata.name",
    "metadata.namespace",
    "metadata.uid",
)
_RESOURCES = (
    "limits.cpu",
    "limits.ephemeral-storage",
    "limits.memory",
    "requests.cpu",
    "requests.ephemeral-storage",
    "requests.memory",
)
_SUBSCRIPT = re.compile(r"(.+)\['(.*)'\]")
_ONE_SOURCE = "may not have more than one field specified at a time"


def check_environment(variables: Sequence[Object], path: str) -> list[FieldError]:
    """Check the environment variables of a container."""
    problems: list[FieldError] = []
    for i, variable in enumerate(variables):
        where, name = f"{path}[{i}]", variable["name"]
        if not name:
            problems.append(required(f"{where}.name"))
        else:
            problems += each(f"{where}.name", name, environment_name_problems(name))
        if variable.get("valueFrom") is not None:
            problems += _value_from(variable, f"{where}.valueFrom")
    return problems


def _value_from(variable: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    source = variable["valueFrom"]
    count = 0
    if (field := source.get("fieldRef")) is not None:
        count += 1
        problems += field_selector(field, ENV_FIELDS, f"{path}.fieldRef")
    if (resource := source.get("resourceFieldRef")) is not None:
        count += 1
        problems += resource_selector(resource, f"{path}.resourceFieldRef", volume=False)
    for name in ("configMapKeyRef", "secretKeyRef"):
        if (key := source.get(name)) is not None:
            count += 1
            problems += _key_selector(key, f"{path}.{name}")
    if (file := source.get("fileKeyRef")) is not None:
        count += 1
        problems += _file_selector(file, f"{path}.fileKeyRef")
    if not count:
        why = (
            "must specify one of: `fieldRef`, `resourceFieldRef`, `configMapKeyRef`, "
            "`secretKeyRef` or `fileKeyRef`"
        )
        problems.append(invalid(path, "", why))
    elif variable.get("value"):
        problems.append(invalid(path, "", "may not be specified when `value` is not empty"))
    elif count > 1:
        problems.append(invalid(path, "", _ONE_SOURCE))
    return problems


def _key_selector(selector: Object, path: str) -> list[FieldError]:
    name, key = selector.get("name") or "", selector["key"]
    problems = each(f"{path}.name", name, subdomain_problems(name))
    if not key:
        problems.append(required(f"{path}.key"))
    else:
        problems += each(f"{path}.key", key, config_key_problems(key))
    return problems


def _file_selector(selector: Object, path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    for field, check in (("key", environment_name_problems), ("volumeName", label_problems)):
        if not selector.get(field):
            problems.append(required(f"{path}.{field}"))
        else:
            problems += each(f"{path}.{field}", selector[field], check(selector[field]))
    if not selector.get("path"):
        problems.append(required(f"{path}.path"))
    else:
        problems += no_backsteps(selector["path"], f"{path}.path")
    return problems


def check_file_volumes(spec: Object, path: str) -> list[FieldError]:
    """Check that variables read from files refer to emptyDir volumes of the pod."""
    # kubernetes: pkg/apis/core/validation/validation.go, validateFileKeyRefVolumes
    volumes = {volume["name"]: volume for volume in spec.get("volumes") or ()}
    problems: list[FieldError] = []
    for field in ("initContainers", "containers"):
        for i, container in enumerate(spec.get(field) or ()):
            for j, variable in enumerate(container.get("env") or ()):
                file = (variable.get("valueFrom") or {}).get("fileKeyRef")
                if file is None:
                    continue
                name = file.get("volumeName") or ""
                where = f"{path}.{field}[{i}].env[{j}].valueFrom.fileKeyRef.volumeName"
                if name not in volumes:
                    problems.append(not_found(where, name))
                elif volumes[name].get("emptyDir") is None:
                    why = "referenced volume must be of type emptyDir"
                    problems.append(invalid(where, name, why))
    return problems


def field_selector(selector: Object, supported: Sequence[str], path: str) -> list[FieldError]:
    """Check a reference to a field of the pod."""
    field = selector["fieldPath"]
    if not field:
        return [required(f"{path}.fieldPath")]
    version = selector.get("apiVersion") or ""
    if version != "v1":
        why = f"error converting fieldPath: unsupported pod version: {version}"
        return [invalid(f"{path}.fieldPath", field, why)]
    match = _SUBSCRIPT.fullmatch(field)
    name = match[1] if match else field
    known = (*VOLUME_FIELDS, *ENV_FIELDS, "spec.restartPolicy", "status.phase")
    if name not in known:
        why = f"error converting fieldPath: field label not supported: {name}"
        return [invalid(f"{path}.fieldPath", field, why)]
    if match is not None:
        if name == "metadata.annotations":
            return each(path, match[2].lower(), label_key_problems(match[2].lower()))
        if name == "metadata.labels":
            return each(path, match[2], label_key_problems(match[2]))
        return [invalid(path, name, "does not support subscript")]
    return [] if name in supported else [not_supported(f"{path}.fieldPath", name, supported)]


def resource_selector(selector: Object, path: str, *, volume: bool) -> list[FieldError]:
    """Check a reference to a resource of a container."""
    problems: list[FieldError] = []
    resource = selector["resource"]
    if volume and not selector.get("containerName"):
        problems.append(required(f"{path}.containerName"))
    elif not resource:
        problems.append(required(f"{path}.resource"))
    elif resource not in _RESOURCES and not resource.startswith(
        ("requests.hugepages-", "limits.hugepages-")
    ):
        problems.append(not_supported(f"{path}.resource", resource, _RESOURCES))
    divisor = selector.get("divisor", "0")
    of_cpu = resource in ("limits.cpu", "requests.cpu")
    if parse_nanos(divisor) and of_cpu and divisor not in ("1m", "1"):
        why = "only divisor's values 1m and 1 are supported with the cpu resource"
        problems.append(invalid(f"{path}.divisor", resource, why))
    return problems


def check_environment_from(sources: Sequence[Object], path: str) -> list[FieldError]:
    """Check the objects whose keys become environment variables."""
    problems: list[FieldError] = []
    for i, source in enumerate(sources):
        where = f"{path}[{i}]"
        if prefix := source.get("prefix"):
            problems += each(f"{where}.prefix", prefix, environment_name_problems(prefix))
        given = [n for n in ("configMapRef", "secretRef") if source.get(n) is not None]
        for name in given:
            referred = source[name].get("name")
            if not referred:
                problems.append(required(f"{where}.{name}.name"))
            else:
                problems += each(f"{where}.{name}.name", referred, subdomain_problems(referred))
        if not given:
            why = "must specify one of: `configMapRef` or `secretRef`"
            problems.append(invalid(path, "", why))
        elif len(given) > 1:
            problems.append(invalid(path, "", _ONE_SOURCE))
    return problems
