"""SeccompProfile of the Security Profiles Operator: the system calls that containers may make."""

# security-profiles-operator: api/seccompprofile/v1beta1/seccompprofile_types.go

from __future__ import annotations

from typing import Any, ClassVar

from mooring.api.meta import TypedObject
from mooring.api.wire import Wire


class SeccompSyscalls(Wire, frozen=True, kw_only=True):
    """System calls by name, and what the kernel does when one is made."""

    names: tuple[str, ...] = ()
    action: str = ""
    errno_ret: str | int = ""
    args: tuple[dict[str, Any], ...] = ()


class SeccompProfileSpec(Wire, frozen=True, kw_only=True):
    """The rules of a profile."""

    base_profile_name: str = ""
    default_action: str = ""
    architectures: tuple[str, ...] = ()
    syscalls: tuple[SeccompSyscalls, ...] = ()
    flags: tuple[str, ...] = ()


class SeccompProfileStatus(Wire, frozen=True, kw_only=True):
    """Where the operator has put a profile."""

    status: str = ""
    path: str = ""
    active_workloads: tuple[str, ...] = ()
    localhost_profile: str = ""


class SeccompProfile(TypedObject, frozen=True, kw_only=True):
    """The system calls that containers may make."""

    api_version: ClassVar[str] = "security-profiles-operator.x-k8s.io/v1beta1"
    kind: ClassVar[str] = "SeccompProfile"

    spec: SeccompProfileSpec = SeccompProfileSpec()
    status: SeccompProfileStatus = SeccompProfileStatus()
