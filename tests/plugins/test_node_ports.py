from __future__ import annotations

import pytest

from mooring.framework.cluster_events import QueueingHint
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.node_ports import NodePorts
from tests.plugins.cluster import Cluster, hints, make_node, make_pod, refused

TAKEN = refused("node(s) didn't have free ports for the requested pod ports")


def using(*ports: str, name: str = "pod", node: str = "", nominated: str = "", sidecar=False):
    """Make a pod from ports as "PROTOCOL/address/port"."""
    listed = []
    for port in ports:
        protocol, address, number = port.split("/")
        listed.append({"protocol": protocol, "hostIP": address, "hostPort": int(number)})
    container = {"name": "c", "ports": listed}
    spec = {"containers": [container]}
    if sidecar:
        spec = {"initContainers": [{**container, "restartPolicy": "Always"}], "containers": []}
    return make_pod(name, node, spec=spec, status={"nominatedNodeName": nominated})


@pytest.mark.parametrize(
    ("existing", "wanted", "verdict"),
    [
        pytest.param("UDP/127.0.0.1/8080", "UDP/127.0.0.1/9090", None, id="another port"),
        pytest.param("UDP/127.0.0.1/8080", "UDP/127.0.0.1/8080", TAKEN, id="the same port"),
        pytest.param("UDP/127.0.0.1/8080", "UDP/127.0.0.2/8080", None, id="another address"),
        pytest.param("UDP/127.0.0.1/8080", "TCP/127.0.0.1/8080", None, id="another protocol"),
        pytest.param("TCP/127.0.0.1/8080", "TCP/0.0.0.0/8080", TAKEN, id="any address wanted"),
        pytest.param("TCP/0.0.0.0/8080", "TCP/127.0.0.1/8080", TAKEN, id="any address taken"),
        pytest.param("TCP//8080", "TCP/127.0.0.1/8080", TAKEN, id="no address is any address"),
        pytest.param("/127.0.0.1/8080", "TCP/127.0.0.1/8080", TAKEN, id="no protocol is TCP"),
    ],
)
def test_conflicts(existing: str, wanted: str, verdict) -> None:
    nodes = [make_node("empty"), make_node("used")]
    cluster = Cluster(nodes, [using(existing, name="other", node="used")])
    plugin = cluster.make(NodePorts)
    assert cluster.filter(plugin, using(wanted)) == {"empty": None, "used": verdict}
    assert cluster.filter(plugin, using(wanted, sidecar=True))["used"] == verdict
    second = using("SCTP//1", wanted)
    assert cluster.filter(plugin, second) == {"empty": None, "used": verdict}


def test_a_pod_without_host_ports_steps_aside() -> None:
    cluster = Cluster([make_node("a")])
    assert cluster.filter(cluster.make(NodePorts), make_pod()) == Status.skip()
    assert cluster.filter(cluster.make(NodePorts), using("TCP//0")) == Status.skip()


def test_filter_without_pre_filter_is_an_error() -> None:
    cluster = Cluster([make_node("a")])
    found = cluster.filter_only(cluster.make(NodePorts), using("TCP//1"), CycleState())
    message = 'reading "PreFilterNodePorts" from cycleState: not found'
    assert found == {"a": ("Error", (message,))}


@pytest.mark.parametrize(
    ("gone", "expected"),
    [
        pytest.param(using("TCP//80"), QueueingHint.SKIP, id="a pod that was on no node"),
        pytest.param(using("TCP//80", node="n"), QueueingHint.QUEUE, id="a pod with the port"),
        pytest.param(using("TCP//80", nominated="n"), QueueingHint.QUEUE, id="a nominated pod"),
        pytest.param(using("TCP//81", node="n"), QueueingHint.SKIP, id="a pod with another port"),
        pytest.param(using(node="n"), QueueingHint.SKIP, id="a pod without ports"),
    ],
)
def test_pod_deletions(gone, expected: QueueingHint) -> None:
    events = hints(NodePorts())
    assert events["Node", "Add"] is None
    assert events["AssignedPod", "Delete"](using("TCP/10.0.0.1/80"), gone, None) is expected


def test_signature_sees_address_and_protocol() -> None:
    sign = NodePorts().sign_pod
    pods = [using("TCP//80"), using("UDP//80"), using("TCP/10.0.0.1/80"), using()]
    assert len({sign(pod) for pod in pods}) == len(pods)
    assert sign(using("TCP//80", "TCP//81")) == sign(using("TCP//81", "TCP//80"))
