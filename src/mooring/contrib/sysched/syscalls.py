"""The system calls that pods may make, by their seccomp profiles."""

# scheduler-plugins: pkg/sysched/sysched.go (getSyscalls)

from __future__ import annotations

import logging
from collections.abc import Iterator
from typing import Any

from mooring.api import Pod, SeccompProfile
from mooring.framework.listers import Lister
from mooring.observe.logs import kv

log = logging.getLogger(__name__)

#: Part of the keys of annotations that name a profile.
ANNOTATION = "seccomp.security.alpha.kubernetes.io"

_ALLOWED = ("SCMP_ACT_ALLOW", "SCMP_ACT_LOG")
_LOCALHOST = "Localhost"

#: A set of system calls, one bit each.
Syscalls = int


class SyscallSets:
    """The system calls of profiles and pods as bits, computed again when profiles change.

    Owned by the plugin.
    """

    def __init__(self, profiles: Lister[SeccompProfile], default: tuple[str, str]) -> None:
        self._profiles = profiles
        #: Namespace and name of the profile of pods that have none.
        self._default = default
        self._bits: dict[str, int] = {}
        self._by_profile: dict[tuple[str, str], Syscalls | None] = {}
        self._at = -1

    @property
    def version(self) -> int:
        """Return a number that grows when any profile changes."""
        return self._profiles.version

    def of(self, pod: Pod) -> Syscalls:
        """Return the calls that a pod may make: those of its profiles, else of the default one."""
        found: Syscalls = 0
        for path in _profile_paths(pod):
            found |= self._read(_name_in(path)) or 0
        for key, path in sorted(pod.metadata.annotations.items()):
            if ANNOTATION in key:
                name = _name_in(path)
                syscalls = self._read(name)
                if syscalls is None and name is not None:
                    continue
                # Only the first annotation whose profile can be read counts.
                found |= syscalls or 0
                break
        return found or self._read(self._default) or 0

    def _read(self, profile: tuple[str, str] | None) -> Syscalls | None:
        """Return the calls that a profile allows; None if there is no such profile."""
        if profile is None:
            return 0
        if self._at != self._profiles.version:
            self._at = self._profiles.version
            self._by_profile.clear()
        if profile not in self._by_profile:
            namespace, name = profile
            found = self._profiles.get(name, namespace) if name and namespace else None
            if found is None:
                log.info("No such seccomp profile", extra=kv(profile=f"{namespace}/{name}"))
            self._by_profile[profile] = None if found is None else self._allowed(found)
        return self._by_profile[profile]

    def _allowed(self, profile: SeccompProfile) -> Syscalls:
        found = 0
        for group in profile.spec.syscalls:
            if group.action in _ALLOWED:
                for name in group.names:
                    found |= 1 << self._bits.setdefault(name, len(self._bits))
        return found


def _profile_paths(pod: Pod) -> Iterator[str]:
    """Yield the files of the profiles that a pod and its containers name."""
    for context in (
        pod.spec.security_context,
        *(one.security_context for one in pod.spec.containers),
    ):
        profile: Any = (context or {}).get("seccompProfile")
        if isinstance(profile, dict) and profile.get("type") == _LOCALHOST:
            path = profile.get("localhostProfile")
            if isinstance(path, str):
                yield path


def _name_in(path: str) -> tuple[str, str] | None:
    """Return namespace and name in "operator/NAMESPACE/NAME.json"; None if they are not there."""
    folders = path.split("/")
    if len(folders) < 2:
        return None
    file = folders[-1]
    # Go's path.Ext: from the last dot on, also if the name begins with it.
    name = file[: file.rfind(".")] if "." in file else file
    namespace = folders[-2]
    return (namespace, name) if namespace and name else None
