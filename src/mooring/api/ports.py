"""The host ports that a pod uses on its node."""

from __future__ import annotations

from mooring.api.pod import Pod

#: The address that means every address of a node.
ANY_ADDRESS = "0.0.0.0"
DEFAULT_PROTOCOL = "TCP"


def host_ports(pod: Pod) -> tuple[tuple[str, str, int], ...]:
    """Return (address, protocol, port) for every host port of containers and sidecars.

    An empty address means 0.0.0.0 and an empty protocol TCP.
    """
    # kube-scheduler: util/utils.go (GetHostPorts), framework/types.go (HostPortInfo.sanitize)
    spec = pod.spec
    ports = [
        (port.host_ip or ANY_ADDRESS, port.protocol or DEFAULT_PROTOCOL, port.host_port)
        for container in spec.init_containers
        if container.ports and container.is_sidecar
        for port in container.ports
        if port.host_port > 0
    ]
    ports += [
        (port.host_ip or ANY_ADDRESS, port.protocol or DEFAULT_PROTOCOL, port.host_port)
        for container in spec.containers
        if container.ports
        for port in container.ports
        if port.host_port > 0
    ]
    return tuple(ports)
