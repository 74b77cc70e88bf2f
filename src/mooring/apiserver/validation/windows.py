"""What pods may request on Windows, and what they may not on another system."""

# kubernetes: pkg/apis/core/validation/validation.go (validateWindows, validateLinux,
# validateWindowsSecurityContextOptions, validateWindowsHostProcessPod)

from __future__ import annotations

import re
from collections.abc import Iterator

from mooring.api.field_errors import FieldError, each, forbidden, invalid
from mooring.apiserver.validation.field_problems import Object
from mooring.apiserver.validation.formats import subdomain_problems

FOR_LINUX = "windows options cannot be set for a linux pod"
FOR_WINDOWS = "cannot be set for a windows pod"

_POD_FIELDS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "fsGroup", "fsGroupChangePolicy"),
    *("sysctls", "runAsUser", "runAsGroup", "supplementalGroups", "supplementalGroupsPolicy"),
    "seLinuxChangePolicy",
)
_CONTAINER_FIELDS = (
    *("appArmorProfile", "seLinuxOptions", "seccompProfile", "capabilities"),
    *("readOnlyRootFilesystem", "privileged", "allowPrivilegeEscalation", "procMount"),
    *("runAsUser", "runAsGroup"),
)
_CONTROL = re.compile(r"[\x00-\x1f\x7f]")
_NET_BIOS = re.compile(r"[^\\/:*?\"<>|.][^\\/:*?\"<>|]{0,14}")
_DNS = re.compile(
    r"[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?(\.[a-zA-Z0-9]([a-zA-Z0-9-]*[a-zA-Z0-9])?)*"
)
_BAD_CHARACTERS = re.compile(r"[\"/\\:;|=,+*?<>@\[\]]")
_DOTS_AND_SPACES = re.compile(r"[. ]+")
_SPECIFICATION_KIB = 64


def check_system(spec: Object, path: str) -> list[FieldError]:
    """Check that a pod sets nothing that its operating system does not have."""
    system = (spec.get("os") or {}).get("name")
    context = spec.get("securityContext") or {}
    where = f"{path}.securityContext"
    if system == "linux":
        problems = _windows_options(context, where)
        for container, at in _containers(spec, path):
            problems += _windows_options(
                container.get("securityContext") or {}, f"{at}.securityContext"
            )
        return problems
    if system != "windows":
        return []
    problems = _set(context, where, _POD_FIELDS)
    problems += [
        forbidden(f"{path}.{name}", FOR_WINDOWS)
        for name, unset in (
            ("hostUsers", (None,)),
            ("hostPID", (None, False)),
            ("hostIPC", (None, False)),
            ("shareProcessNamespace", (None,)),
        )
        if spec.get(name) not in unset
    ]
    for container, at in _containers(spec, path):
        security = container.get("securityContext") or {}
        problems += _set(security, f"{at}.securityContext", _CONTAINER_FIELDS)
    return problems


def _windows_options(context: Object, path: str) -> list[FieldError]:
    if context.get("windowsOptions") is None:
        return []
    return [forbidden(f"{path}.windowsOptions", FOR_LINUX)]


def _set(context: Object, path: str, names: tuple[str, ...]) -> list[FieldError]:
    return [
        forbidden(f"{path}.{name}", FOR_WINDOWS)
        for name in names
        if context.get(name) is not None and not (name == "sysctls" and not context[name])
    ]


def _containers(spec: Object, path: str) -> Iterator[tuple[Object, str]]:
    for field in ("initContainers", "containers", "ephemeralContainers"):
        for i, container in enumerate(spec.get(field) or ()):
            yield container, f"{path}.{field}[{i}]"


def check_host_process(spec: Object, path: str) -> list[FieldError]:
    """Check that either all containers of a pod are host processes, or none is."""
    options = (spec.get("securityContext") or {}).get("windowsOptions") or {}
    whole = options.get("hostProcess")
    problems: list[FieldError] = []
    count = hosted = 0
    for container, at in _containers(spec, path):
        count += 1
        own = (container.get("securityContext") or {}).get("windowsOptions") or {}
        alone = own.get("hostProcess")
        if whole is not None and alone is not None and whole != alone:
            why = "pod hostProcess value must be identical if both are specified, was "
            where = f"{at}.securityContext.windowsOptions.hostProcess"
            problems.append(invalid(where, alone, why + str(whole).lower()))
        hosted += bool(alone if alone is not None else whole)
    if not hosted:
        return problems
    if hosted != count:
        why = (
            "If pod contains any hostProcess containers then all containers must be HostProcess "
            "containers"
        )
        problems.append(invalid(path, "", why))
    if not spec.get("hostNetwork"):
        why = "hostNetwork must be true if pod contains any hostProcess containers"
        problems.append(invalid(f"{path}.hostNetwork", False, why))
    return problems


def check_windows_options(options: Object | None, path: str) -> list[FieldError]:
    """Check the Windows options of a pod or container."""
    if options is None:
        return []
    problems: list[FieldError] = []
    if (name := options.get("gmsaCredentialSpecName")) is not None:
        problems += each(f"{path}.gmsaCredentialSpecName", name, subdomain_problems(name))
    if (specification := options.get("gmsaCredentialSpec")) is not None:
        where = f"{path}.gmsaCredentialSpec"
        if not specification:
            why = "gmsaCredentialSpec cannot be an empty string"
            problems.append(invalid(where, specification, why))
        elif len(specification.encode()) > _SPECIFICATION_KIB * 1024:
            why = f"gmsaCredentialSpec size must be under {_SPECIFICATION_KIB} KiB"
            problems.append(invalid(where, specification, why))
    if (user := options.get("runAsUserName")) is not None:
        whys = _user_problems(user)
        problems += each(f"{path}.runAsUserName", user, [f"runAsUserName{why}" for why in whys])
    return problems


def _user_problems(given: str) -> list[str]:
    if not given:
        return [" cannot be an empty string"]
    if _CONTROL.search(given):
        return [" cannot contain control characters"]
    if given.count("\\") > 1:
        return [" cannot contain more than one backslash"]
    domain, slash, user = given.rpartition("\\")
    whys: list[str] = []
    if len(domain) >= 256:
        whys.append("'s Domain length must be under 256 characters")
    if slash and not (_NET_BIOS.fullmatch(domain) or _DNS.fullmatch(domain)):
        whys.append("'s Domain doesn't match the NetBios nor the DNS format")
    if not user:
        whys.append("'s User cannot be empty")
    elif len(user) > 104:
        whys.append("'s User length must not be longer than 104 characters")
    if _DOTS_AND_SPACES.fullmatch(user):
        whys.append("'s User cannot contain only periods or spaces")
    if _BAD_CHARACTERS.search(user):
        whys.append("'s User cannot contain the following characters: \"/\\:;|=,+*?<>@[]")
    return whys
