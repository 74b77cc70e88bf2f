"""Host ports."""

from __future__ import annotations

from mooring.api import Container, ContainerPort, Pod, PodSpec, host_ports


def test_containers_and_sidecars_take_host_ports_and_init_containers_do_not():
    def container(port, **fields):
        ports = (ContainerPort(container_port=1, host_port=port), ContainerPort(container_port=2))
        return Container(name="c", ports=ports, **fields)

    udp = Container(ports=(ContainerPort(host_port=53, protocol="UDP", host_ip="10.0.0.1"),))
    pod = Pod(
        spec=PodSpec(
            init_containers=(container(1), container(2, restart_policy="Always")),
            containers=(container(3), udp),
        )
    )
    assert host_ports(pod) == (
        ("0.0.0.0", "TCP", 2),
        ("0.0.0.0", "TCP", 3),
        ("10.0.0.1", "UDP", 53),
    )
    assert host_ports(Pod()) == ()
