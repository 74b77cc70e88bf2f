"""The security contexts of pods and containers."""

# kubernetes: pkg/apis/core/validation/validation.go (ValidateSecurityContext,
# ValidatePodSecurityContext)

from __future__ import annotations

import re
from collections.abc import Sequence

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    each,
    forbidden,
    invalid,
    not_supported,
    required,
    too_long,
)
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.file_paths import descending_path
from mooring.apiserver.validation.formats import subdomain_problems
from mooring.apiserver.validation.windows import check_host_process, check_windows_options

_ID = "must be between 0 and 2147483647, inclusive"
_PROFILES = ("Localhost", "RuntimeDefault", "Unconfined")
_HOST_NAME_LENGTH = 64
_SHARED = (
    ("hostNetwork", ("net.",)),
    ("hostIPC", ("kernel.shm", "kernel.msg", "kernel.sem", "fs.mqueue.")),
)
_PROC_MOUNTS = ("Default", "Unmasked")
_POLICIES = (
    ("fsGroupChangePolicy", ("Always", "OnRootMismatch")),
    ("supplementalGroupsPolicy", ("Merge", "Strict")),
    ("seLinuxChangePolicy", ("Recursive",)),
)
_SYSCTL = re.compile(r"([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?")
SYSCTL = (
    "must have at most 253 characters and match regex "
    "^([a-z0-9]([-_a-z0-9]*[a-z0-9])?[\\./])*[a-z0-9]([-_a-z0-9]*[a-z0-9])?$"
)


def check_ids(context: Object, names: Sequence[str], path: str) -> list[FieldError]:
    """Check user and group ids."""
    return [
        problem
        for name in names
        if context.get(name) is not None
        for problem in check_id(context[name], f"{path}.{name}")
    ]


def check_id(number: int, path: str) -> list[FieldError]:
    """Check a user or group id."""
    return [] if 0 <= number <= 2**31 - 1 else [invalid(path, number, _ID)]


def check_container_security(context: Object | None, path: str) -> list[FieldError]:
    """Check the security context of a container."""
    if context is None:
        return []
    problems = check_ids(context, ("runAsUser", "runAsGroup"), path)
    mount = context.get("procMount")
    if mount is not None and mount not in _PROC_MOUNTS:
        problems.append(not_supported(f"{path}.procMount", mount, _PROC_MOUNTS))
    problems += _profiles(context, path)
    problems += check_windows_options(context.get("windowsOptions"), f"{path}.windowsOptions")
    if context.get("allowPrivilegeEscalation") is False:
        if context.get("privileged"):
            why = "cannot set `allowPrivilegeEscalation` to false and `privileged` to true"
            problems.append(invalid(path, context, why))
        if "CAP_SYS_ADMIN" in ((context.get("capabilities") or {}).get("add") or ()):
            why = (
                "cannot set `allowPrivilegeEscalation` to false and `capabilities.Add` "
                "CAP_SYS_ADMIN"
            )
            problems.append(invalid(path, context, why))
    return problems


def _profiles(context: Object, path: str) -> list[FieldError]:
    """Check seccomp and AppArmor profiles."""
    problems: list[FieldError] = []
    for field, title in (("seccompProfile", "seccomp"), ("appArmorProfile", "AppArmor")):
        profile = context.get(field)
        if profile is None:
            continue
        kind, name = profile.get("type"), profile.get("localhostProfile")
        if not kind:
            why = f"type is required when {field} is set"
            problems.append(required(f"{path}.{field}.type", why))
        elif kind not in _PROFILES:
            problems.append(not_supported(f"{path}.{field}.type", kind, _PROFILES))
        where = f"{path}.{field}.localhostProfile"
        if kind == "Localhost":
            if not name:
                problems.append(required(where, f"must be set when {title} type is Localhost"))
            elif title == "seccomp":
                problems += descending_path(name, where)
        elif name is not None and (kind in _PROFILES or title == "seccomp"):
            shown = profile if title == "seccomp" else name
            why = f"can only be set when {title} type is Localhost"
            problems.append(invalid(where, shown, why))
    return problems


def _host_users(spec: Object, path: str) -> list[FieldError]:
    if spec.get("hostUsers") is not False:
        return []
    return [
        forbidden(f"{path}.{shown}", "when `hostUsers` is false")
        for name, shown in (
            ("hostNetwork", "hostNetwork"),
            ("hostPID", "HostPID"),
            ("hostIPC", "HostIPC"),
        )
        if spec.get(name)
    ]


def check_pod_security(spec: Object, path: str) -> list[FieldError]:
    """Check the security context of a pod."""
    context = spec.get("securityContext") or {}
    where = f"{path}.securityContext"
    problems = check_ids(context, ("fsGroup", "runAsUser", "runAsGroup"), where)
    for i, group in enumerate(context.get("supplementalGroups") or ()):
        problems += check_id(group, f"{where}.supplementalGroups[{i}]")
    for field, known in _POLICIES:
        policy = context.get(field)
        if policy is not None and policy not in known:
            problems.append(not_supported(f"{where}.{field}", policy, known))
    problems += _profiles(context, where) + _host_users(spec, path)
    problems += check_windows_options(context.get("windowsOptions"), f"{where}.windowsOptions")
    problems += check_host_process(spec, path)
    if spec.get("shareProcessNamespace") and spec.get("hostPID"):
        why = "ShareProcessNamespace and HostPID cannot both be enabled"
        problems.append(invalid(f"{path}.shareProcessNamespace", True, why))
    if (name := spec.get("hostnameOverride")) is not None:
        problems += each(f"{path}.hostnameOverride", name, subdomain_problems(name))
        if len(name) > _HOST_NAME_LENGTH:
            problems.append(too_long(f"{path}.hostnameOverride", _HOST_NAME_LENGTH))
    problems += _sysctls(context.get("sysctls") or (), f"{where}.sysctls")
    return problems + _host_sysctls(spec, context.get("sysctls") or (), f"{where}.sysctls")


def _host_sysctls(spec: Object, sysctls: Sequence[Object], path: str) -> list[FieldError]:
    """Check that no sysctl changes a namespace that a pod shares with its node."""
    problems: list[FieldError] = []
    for i, sysctl in enumerate(sysctls):
        name = sysctl["name"]
        for field, prefixes in _SHARED:
            if spec.get(field) and name.replace("/", ".").startswith(prefixes):
                why = f"may not be specified when '{field}' is true"
                problems.append(invalid(f"{path}[{i}].name", name, why))
    return problems


def _sysctls(sysctls: Sequence[Object], path: str) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, sysctl in enumerate(sysctls):
        where, name = f"{path}[{i}].name", sysctl["name"]
        if not name:
            problems.append(required(where))
        elif len(name) > 253 or _SYSCTL.fullmatch(name) is None:
            problems.append(invalid(where, name, SYSCTL))
        elif name in seen:
            problems.append(duplicate(where, name))
        seen.add(name)
    return problems
