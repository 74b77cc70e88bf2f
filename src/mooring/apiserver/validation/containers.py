"""The containers of a pod."""

# kubernetes: pkg/apis/core/validation/validation.go

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_found,
    not_supported,
    required,
    too_many,
)
from mooring.apiserver.validation.field_problems import Object, non_negative
from mooring.apiserver.validation.file_paths import descending_path, no_backsteps
from mooring.apiserver.validation.formats import (
    http_header_problems,
    label_problems,
    port_name_problems,
    port_problems,
)
from mooring.apiserver.validation.resource_amounts import check_requirements
from mooring.apiserver.validation.security import check_container_security
from mooring.apiserver.validation.variables import check_environment, check_environment_from

_PROTOCOLS = ("SCTP", "TCP", "UDP")
_PULL_POLICIES = ("Always", "IfNotPresent", "Never")
_MESSAGE_POLICIES = ("File", "FallbackToLogsOnError")
_PROPAGATIONS = ("Bidirectional", "HostToContainer", "None")
_RECURSIVE = ("Disabled", "Enabled", "IfPossible")
_RESIZE_POLICIES = ("NotRequired", "RestartContainer")
_RESTART_POLICIES = ("Always", "Never", "OnFailure")
_RESTART_ACTIONS = ("Restart", "RestartAllContainers")
_NOT_EPHEMERAL = (
    *("ports", "resources", "resizePolicy", "restartPolicy", "livenessProbe", "readinessProbe"),
    *("restartPolicyRules", "startupProbe", "lifecycle"),
)
_ONE_HANDLER = "may not specify more than 1 handler type"
_INIT_ONLY = "may not be set for init containers without restartPolicy=Always"


def check_containers(
    containers: Sequence[Object] | None, path: str, volumes: Mapping[str, Object], spec: Object
) -> list[FieldError]:
    """Check the regular containers of a pod."""
    if not containers:
        return [required(path)]
    problems: list[FieldError] = []
    claims = _claims(spec)
    seen: set[str] = set()
    for i, container in enumerate(containers):
        where = f"{path}[{i}]"
        problems += _common(container, where, volumes, spec, claims)
        name = container["name"]
        if name in seen:
            problems.append(duplicate(f"{where}.name", name))
        seen.add(name)
        problems += _hooks(container, where, spec)
        problems += _restart_policy(container, where)
    return problems + _host_ports(containers, path)


def check_init_containers(
    containers: Sequence[Object] | None, path: str, volumes: Mapping[str, Object], spec: Object
) -> list[FieldError]:
    """Check the init containers of a pod."""
    problems: list[FieldError] = []
    claims = _claims(spec)
    seen = {container["name"] for container in spec.get("containers") or ()}
    for i, container in enumerate(containers or ()):
        where = f"{path}[{i}]"
        problems += _common(container, where, volumes, spec, claims)
        problems += _restart_policy(container, where)
        name = container["name"]
        if name in seen:
            problems.append(duplicate(f"{where}.name", name))
        elif name:
            seen.add(name)
        problems += _host_ports([container], path)
        if container.get("restartPolicy") == "Always":
            problems += _hooks(container, where, spec)
        else:
            problems += [
                forbidden(f"{where}.{hook}", _INIT_ONLY)
                for hook in ("lifecycle", "livenessProbe", "readinessProbe", "startupProbe")
                if container.get(hook) is not None
            ]
    return problems


def check_ephemeral_containers(
    containers: Sequence[Object] | None, path: str, volumes: Mapping[str, Object], spec: Object
) -> list[FieldError]:
    """Check the ephemeral containers of a pod."""
    others = (*(spec.get("containers") or ()), *(spec.get("initContainers") or ()))
    seen = {container["name"] for container in others}
    known = set(seen)
    claims = _claims(spec)
    problems: list[FieldError] = []
    for i, container in enumerate(containers or ()):
        where, name = f"{path}[{i}]", container["name"]
        problems += _common(container, where, volumes, spec, claims)
        if name in seen:
            problems.append(duplicate(f"{where}.name", name))
        seen.add(name)
        target = container.get("targetContainerName")
        if target and target not in known:
            problems.append(not_found(f"{where}.targetContainerName", target))
        problems += [
            forbidden(f"{where}.{field}", "cannot be set for an Ephemeral Container")
            for field in _NOT_EPHEMERAL
            if container.get(field) is not None
            and not (field == "resources" and not container[field])
        ]
    return problems


def _claims(spec: Object) -> frozenset[str]:
    return frozenset(one["name"] for one in spec.get("resourceClaims") or () if one["name"])


def _common(
    container: Object,
    path: str,
    volumes: Mapping[str, Object],
    spec: Object,
    claims: frozenset[str],
) -> list[FieldError]:
    problems: list[FieldError] = []
    name = container["name"]
    if not name:
        problems.append(required(f"{path}.name"))
    else:
        problems += each(f"{path}.name", name, label_problems(name))
    if not container.get("image"):
        problems.append(required(f"{path}.image"))
    policy = container.get("terminationMessagePolicy")
    if policy not in _MESSAGE_POLICIES:
        where = f"{path}.terminationMessagePolicy"
        problems.append(not_supported(where, policy, _MESSAGE_POLICIES))
    problems += _ports(container.get("ports") or (), f"{path}.ports")
    problems += check_environment(container.get("env") or (), f"{path}.env")
    problems += check_environment_from(container.get("envFrom") or (), f"{path}.envFrom")
    problems += _mounts(container, f"{path}.volumeMounts", volumes)
    problems += _devices(container, f"{path}.volumeDevices", volumes)
    pull = container.get("imagePullPolicy")
    if pull not in _PULL_POLICIES:
        problems.append(not_supported(f"{path}.imagePullPolicy", pull, _PULL_POLICIES))
    problems += check_requirements(container["resources"], f"{path}.resources", claims)
    problems += _resize_policies(container, f"{path}.resizePolicy", spec)
    problems += check_container_security(
        container.get("securityContext"), f"{path}.securityContext"
    )
    image = container.get("image") or ""
    if image.strip() != image:
        why = "must not have leading or trailing whitespace"
        problems.append(invalid(f"{path}.image", image, why))
    return problems


def _ports(ports: Sequence[Object], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, port in enumerate(ports):
        where = f"{path}[{i}]"
        if name := port.get("name"):
            if whys := port_name_problems(name):
                problems += each(f"{where}.name", name, whys)
            elif name in seen:
                problems.append(duplicate(f"{where}.name", name))
            else:
                seen.add(name)
        number = port["containerPort"]
        if number == 0:
            problems.append(required(f"{where}.containerPort"))
        else:
            problems += each(f"{where}.containerPort", number, port_problems(number))
        if host := port.get("hostPort"):
            problems += each(f"{where}.hostPort", host, port_problems(host))
        if port.get("protocol") not in _PROTOCOLS:
            problems.append(not_supported(f"{where}.protocol", port.get("protocol"), _PROTOCOLS))
    return problems


def _host_ports(containers: Sequence[Object], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, container in enumerate(containers):
        for j, port in enumerate(container.get("ports") or ()):
            if not port.get("hostPort"):
                continue
            text = f"{port.get('protocol', '')}/{port.get('hostIP', '')}/{port['hostPort']}"
            if text in seen:
                problems.append(duplicate(f"{path}[{i}].ports[{j}].hostPort", text))
            seen.add(text)
    return problems


def _mounts(container: Object, path: str, volumes: Mapping[str, Object]) -> list[FieldError]:
    problems: list[FieldError] = []
    devices = {one["name"]: one["devicePath"] for one in container.get("volumeDevices") or ()}
    seen: set[str] = set()
    for i, mount in enumerate(container.get("volumeMounts") or ()):
        where, name, at = f"{path}[{i}]", mount["name"], mount["mountPath"]
        if not name:
            problems.append(required(f"{where}.name"))
        if name not in volumes:
            problems.append(not_found(f"{where}.name", name))
        if not at:
            problems.append(required(f"{where}.mountPath"))
        if at in seen:
            problems.append(invalid(f"{where}.mountPath", at, "must be unique"))
        seen.add(at)
        if name in devices:
            why = "must not already exist in volumeDevices"
            problems.append(invalid(f"{where}.name", name, why))
        if at in devices.values():
            why = "must not already exist as a path in volumeDevices"
            problems.append(invalid(f"{where}.mountPath", at, why))
        problems += _mount_options(mount, container, path, where)
    return problems


def _mount_options(mount: Object, container: Object, path: str, where: str) -> list[FieldError]:
    problems: list[FieldError] = []
    if sub := mount.get("subPath"):
        problems += descending_path(sub, f"{path}.subPath")
    if expression := mount.get("subPathExpr"):
        if sub:
            why = "subPathExpr and subPath are mutually exclusive"
            problems.append(invalid(f"{where}.subPathExpr", expression, why))
        problems += descending_path(expression, f"{path}.subPathExpr")
    if (propagation := mount.get("mountPropagation")) is not None:
        if propagation not in _PROPAGATIONS:
            problems.append(not_supported(f"{path}.mountPropagation", propagation, _PROPAGATIONS))
        privileged = (container.get("securityContext") or {}).get("privileged")
        if propagation == "Bidirectional" and not privileged:
            why = "Bidirectional mount propagation is available only to privileged containers"
            problems.append(forbidden(f"{path}.mountPropagation", why))
    return problems + _recursive(mount, f"{path}.recursiveReadOnly")


def _recursive(mount: Object, path: str) -> list[FieldError]:
    given = mount.get("recursiveReadOnly")
    if given in (None, "Disabled"):
        return []
    if given not in _RECURSIVE:
        return [not_supported(path, given, _RECURSIVE)]
    problems: list[FieldError] = []
    if not mount.get("readOnly"):
        problems.append(forbidden(path, "may only be specified when readOnly is true"))
    if mount.get("mountPropagation") not in (None, "None"):
        why = "may only be specified when mountPropagation is None or not specified"
        problems.append(forbidden(path, why))
    return problems


def _devices(container: Object, path: str, volumes: Mapping[str, Object]) -> list[FieldError]:
    problems: list[FieldError] = []
    mounts = {one["name"]: one["mountPath"] for one in container.get("volumeMounts") or ()}
    names: set[str] = set()
    paths: set[str] = set()
    for i, device in enumerate(container.get("volumeDevices") or ()):
        where, name, at = f"{path}[{i}]", device["name"], device["devicePath"]
        if not name:
            problems.append(required(f"{where}.name"))
        if name in names:
            problems.append(invalid(f"{where}.name", name, "must be unique"))
        volume = volumes.get(name)
        if volume is None:
            problems.append(not_found(f"{where}.name", name))
        elif not (volume.get("persistentVolumeClaim") or volume.get("ephemeral")):
            why = (
                "can only use volume source type of PersistentVolumeClaim or Ephemeral for block "
                "mode"
            )
            problems.append(invalid(f"{where}.name", name, why))
        if not at:
            problems.append(required(f"{where}.devicePath"))
        if at in paths:
            problems.append(invalid(f"{where}.devicePath", at, "must be unique"))
        if at and no_backsteps(at, ""):
            why = "can not contain backsteps ('..')"
            problems.append(invalid(f"{where}.devicePath", at, why))
        paths.add(at)
        if name in mounts:
            why = "must not already exist in volumeMounts"
            problems.append(invalid(f"{where}.name", name, why))
        if at in mounts.values():
            why = "must not already exist as a path in volumeMounts"
            problems.append(invalid(f"{where}.devicePath", at, why))
        names.add(name)
    return problems


def _hooks(container: Object, path: str, spec: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    grace = spec.get("terminationGracePeriodSeconds")
    for hook in ("postStart", "preStop"):
        if (handler := (container.get("lifecycle") or {}).get(hook)) is not None:
            problems += _handler(handler, f"{path}.lifecycle.{hook}", grace)
    for name in ("livenessProbe", "readinessProbe", "startupProbe"):
        if (probe := container.get(name)) is not None:
            problems += _probe(probe, name, f"{path}.{name}", grace)
    return problems


def _probe(probe: Object, name: str, path: str, grace: int | None) -> list[FieldError]:
    problems = _handler(probe, path, grace)
    for field in (
        "initialDelaySeconds",
        "timeoutSeconds",
        "periodSeconds",
        "successThreshold",
        "failureThreshold",
    ):
        problems += non_negative(f"{path}.{field}", probe.get(field))
    own = probe.get("terminationGracePeriodSeconds")
    if own is not None and own <= 0:
        where = f"{path}.terminationGracePeriodSeconds"
        problems.append(invalid(where, own, "must be greater than 0"))
    if name == "readinessProbe":
        if own is not None:
            where = f"{path}.terminationGracePeriodSeconds"
            problems.append(invalid(where, own, "must not be set for readinessProbes"))
    elif probe.get("successThreshold") != 1:
        given = probe.get("successThreshold")
        problems.append(invalid(f"{path}.successThreshold", given, "must be 1"))
    return problems


def _handler(handler: Object, path: str, grace: int | None) -> list[FieldError]:
    problems: list[FieldError] = []
    count = 0
    for name in ("exec", "httpGet", "tcpSocket", "grpc", "sleep"):
        action = handler.get(name)
        if action is None:
            continue
        if count:
            problems.append(forbidden(f"{path}.{name}", _ONE_HANDLER))
            continue
        count += 1
        problems += _action(name, action, f"{path}.{name}", grace)
    if not count:
        problems.append(required(path, "must specify a handler type"))
    return problems


def _action(name: str, action: Object, path: str, grace: int | None) -> list[FieldError]:
    if name == "exec":
        return [] if action.get("command") else [required(f"{path}.command")]
    if name == "sleep":
        seconds = action["seconds"]
        if grace is not None and not 0 <= seconds <= grace:
            why = f"must be non-negative and less than terminationGracePeriodSeconds ({grace})"
            return [invalid(path, seconds, why)]
        return []
    problems: list[FieldError] = []
    if name == "httpGet" and not action.get("path"):
        problems.append(required(f"{path}.path"))
    problems += check_port(action["port"], f"{path}.port")
    if name == "httpGet":
        if action.get("scheme") not in ("HTTP", "HTTPS"):
            scheme = action.get("scheme")
            problems.append(not_supported(f"{path}.scheme", scheme, ("HTTP", "HTTPS")))
        for header in action.get("httpHeaders") or ():
            whys = http_header_problems(header["name"])
            problems += each(f"{path}.httpHeaders", header["name"], whys)
    return problems


def check_port(port: Any, path: str) -> list[FieldError]:
    """Check a port, given by number or name."""
    whys = port_name_problems(port) if isinstance(port, str) else port_problems(port)
    return each(path, port, whys)


def _resize_policies(container: Object, path: str, spec: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, one in enumerate(container.get("resizePolicy") or ()):
        name, policy = one.get("resourceName"), one.get("restartPolicy")
        if name in seen:
            problems.append(duplicate(f"{path}[{i}]", name))
        seen.add(name or "")
        for given, known in ((name, ("cpu", "memory")), (policy, _RESIZE_POLICIES)):
            if not given:
                problems.append(required(path))
            elif given not in known:
                problems.append(not_supported(path, given, known))
        if spec.get("restartPolicy") == "Never" and policy != "NotRequired":
            why = "must be 'NotRequired' when pod `restartPolicy` is 'Never'"
            problems.append(invalid(path, policy, why))
    return problems


def _restart_policy(container: Object, path: str) -> list[FieldError]:
    policy = container.get("restartPolicy")
    rules = container.get("restartPolicyRules")
    problems: list[FieldError] = []
    if policy is None:
        if not rules:
            return []
        why = "must specify restartPolicy when restart rules are used"
        problems.append(required(f"{path}.restartPolicy", why))
    elif policy not in _RESTART_POLICIES:
        problems.append(not_supported(f"{path}.restartPolicy", policy, _RESTART_POLICIES))
    where = f"{path}.restartPolicyRules"
    if rules and len(rules) > 20:
        problems.append(too_many(where, len(rules), 20))
    for i, rule in enumerate(rules or ()):
        problems += _restart_rule(rule, f"{where}[{i}]")
    return problems


def _restart_rule(rule: Object, path: str) -> list[FieldError]:
    action, codes = rule.get("action") or "", rule.get("exitCodes")
    problems: list[FieldError] = []
    if action not in _RESTART_ACTIONS:
        problems.append(not_supported(f"{path}.action", action, _RESTART_ACTIONS))
    if codes is None:
        return [*problems, required(f"{path}.exitCodes", "must be specified")]
    operator, values = codes.get("operator") or "", codes.get("values") or ()
    if operator not in ("In", "NotIn"):
        problems.append(not_supported(f"{path}.exitCodes.operator", operator, ("In", "NotIn")))
    if len(values) > 255:
        problems.append(too_many(f"{path}.exitCodes.values", len(values), 255))
    return problems
