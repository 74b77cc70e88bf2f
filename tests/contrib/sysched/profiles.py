"""Seccomp profiles, and pods that name them."""

from __future__ import annotations

from typing import Any

from mooring.api import Pod, SeccompProfile, decode_as
from mooring.testing import make_pod


def profile(name: str, *allowed: str, namespace: str = "default", **more: Any) -> SeccompProfile:
    """Return a profile that allows some system calls, and by `more` does something else."""
    syscalls = [{"action": "SCMP_ACT_ALLOW", "names": list(allowed)}]
    syscalls += [{"action": action, "names": names} for action, names in more.items()]
    return decode_as(
        {"metadata": {"name": name, "namespace": namespace}, "spec": {"syscalls": syscalls}},
        SeccompProfile,
    )


def pod_with(name: str, path: str, *, node: str | None = None, **more: Any) -> Pod:
    """Return a pod with the profile in a file."""
    context = {"seccompProfile": {"type": "Localhost", "localhostProfile": path}}
    return make_pod(name, node=node, spec={"securityContext": context}, **more)
