"""The containers of a pod, and what the kubelet reports about them."""

from __future__ import annotations

from typing import Any

from mooring.api.quantity import ResourceList
from mooring.api.wire import Wire

RESTART_ALWAYS = "Always"


class ResourceClaimUse(Wire, frozen=True, kw_only=True):
    """A container's use of an entry of spec.resourceClaims."""

    name: str = ""
    request: str = ""


class ResourceRequirements(Wire, frozen=True, kw_only=True):
    """The requests and limits of a container or of a whole pod."""

    limits: ResourceList = {}
    requests: ResourceList = {}
    claims: tuple[ResourceClaimUse, ...] = ()


class ContainerPort(Wire, frozen=True, kw_only=True):
    """A port of a container; a `host_port` above 0 reserves that port on the node."""

    name: str = ""
    host_port: int = 0
    container_port: int = 0
    protocol: str = ""
    host_ip: str = ""


class EnvVar(Wire, frozen=True, kw_only=True):
    """An environment variable."""

    name: str = ""
    value: str = ""
    value_from: dict[str, Any] | None = None


class VolumeMount(Wire, frozen=True, kw_only=True):
    """The mount of a pod's volume in a container."""

    name: str = ""
    read_only: bool = False
    recursive_read_only: str | None = None
    mount_path: str = ""
    sub_path: str = ""
    mount_propagation: str | None = None
    sub_path_expr: str = ""
    bind_mount_options: tuple[str, ...] = ()


class Container(Wire, frozen=True, kw_only=True):
    """A container. An init container with restartPolicy Always is a sidecar."""

    name: str = ""
    image: str = ""
    command: tuple[str, ...] = ()
    args: tuple[str, ...] = ()
    working_dir: str = ""
    ports: tuple[ContainerPort, ...] = ()
    env_from: tuple[dict[str, Any], ...] = ()
    env: tuple[EnvVar, ...] = ()
    resources: ResourceRequirements = ResourceRequirements()
    resize_policy: tuple[dict[str, Any], ...] = ()
    restart_policy: str | None = None
    restart_policy_rules: tuple[dict[str, Any], ...] = ()
    volume_mounts: tuple[VolumeMount, ...] = ()
    volume_devices: tuple[dict[str, Any], ...] = ()
    liveness_probe: dict[str, Any] | None = None
    readiness_probe: dict[str, Any] | None = None
    startup_probe: dict[str, Any] | None = None
    lifecycle: dict[str, Any] | None = None
    termination_message_path: str = ""
    termination_message_policy: str = ""
    image_pull_policy: str = ""
    security_context: dict[str, Any] | None = None
    stdin: bool = False
    stdin_once: bool = False
    tty: bool = False

    @property
    def is_sidecar(self) -> bool:
        """Return whether this init container keeps running alongside the regular containers."""
        return self.restart_policy == RESTART_ALWAYS


class EphemeralContainer(Container, frozen=True, kw_only=True):
    """A container for debugging a running pod; it has no resources of its own."""

    target_container_name: str = ""


class ContainerStatus(Wire, frozen=True, kw_only=True):
    """The state of a container."""

    name: str = ""
    state: dict[str, Any] = {}
    last_state: dict[str, Any] = {}
    ready: bool = False
    restart_count: int = 0
    image: str = ""
    image_id: str = ""
    container_id: str = ""
    started: bool | None = None
    allocated_resources: ResourceList = {}
    resources: ResourceRequirements | None = None
    volume_mounts: tuple[dict[str, Any], ...] = ()
    user: dict[str, Any] | None = None
    allocated_resources_status: tuple[dict[str, Any], ...] = ()
    stop_signal: str | None = None
