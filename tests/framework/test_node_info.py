"""A node with its pods and their sums."""

from __future__ import annotations

import pytest

from mooring.framework.features import FeatureGates
from mooring.framework.node_info import NodeInfo, image_name, node_allocatable
from mooring.framework.pod_info import PodInfos
from mooring.testing import make_node, make_pod

INFOS = PodInfos(FeatureGates())


def info(name, **fields):
    return INFOS.of(make_pod(name, **fields))


def port(number, address="", protocol="TCP"):
    return {"hostPort": number, "hostIP": address, "protocol": protocol, "containerPort": number}


def with_ports(name, *ports):
    return INFOS.of(make_pod(name, spec={"containers": [{"name": "c", "ports": list(ports)}]}))


def with_claims(name, *claims):
    volumes = [{"name": claim, "persistentVolumeClaim": {"claimName": claim}} for claim in claims]
    return INFOS.of(make_pod(name, spec={"volumes": volumes}))


def test_cpu_is_counted_in_thousandths_and_the_rest_in_units():
    node = make_node("n", cpu="1500m", memory="1Ki", resources={"x.io/a": "3"})
    assert node_allocatable(node) == {"cpu": 1500, "memory": 1024, "pods": 110, "x.io/a": 3}


@pytest.mark.parametrize(
    ("name", "full"),
    [
        ("nginx", "nginx:latest"),
        ("nginx:1.2", "nginx:1.2"),
        ("host:5000/nginx", "host:5000/nginx:latest"),
        ("host:5000/nginx:1", "host:5000/nginx:1"),
        ("nginx@sha256:ab", "nginx@sha256:ab"),
    ],
)
def test_an_image_without_a_tag_is_the_latest(name, full):
    assert image_name(name) == full


def test_pods_are_summed_up_and_taken_away_again():
    node = NodeInfo(make_node("n"))
    first, second = info("a", cpu="1", memory="1Ki"), info("b", cpu="500m")
    node.add_pod(first)
    node.add_pod(second)
    assert node.requested == {"cpu": 1500, "memory": 1024}
    assert node.non_zero_requested == {"cpu": 1500, "memory": 1024 + 200 * 1024 * 1024}
    assert list(node.pods) == [first.uid, second.uid]
    assert node.remove_pod(first.uid) is first
    assert node.requested == {"cpu": 500}
    node.remove_pod(second.uid)
    assert (node.requested, node.non_zero_requested) == ({}, {"cpu": 0, "memory": 0})


def test_a_pod_that_is_not_there_cannot_be_removed():
    with pytest.raises(KeyError):
        NodeInfo(make_node("n")).remove_pod("nobody")


def test_claims_are_counted_by_pod():
    node = NodeInfo(make_node("n"), [with_claims("a", "x", "y"), with_claims("b", "x")])
    assert node.pvc_refs == {"default/x": 2, "default/y": 1}
    node.remove_pod(next(iter(node.pods)))
    assert node.pvc_refs == {"default/x": 1}


@pytest.mark.parametrize(
    ("used", "wanted", "conflicts"),
    [
        pytest.param(port(80), ("0.0.0.0", "TCP", 80), True, id="the same port"),
        pytest.param(port(80), ("0.0.0.0", "UDP", 80), False, id="another protocol"),
        pytest.param(port(80), ("0.0.0.0", "TCP", 81), False, id="another number"),
        pytest.param(port(80, "10.0.0.1"), ("0.0.0.0", "TCP", 80), True, id="any address wants it"),
        pytest.param(port(80), ("10.0.0.1", "TCP", 80), True, id="any address has it"),
        pytest.param(port(80, "10.0.0.1"), ("10.0.0.2", "TCP", 80), False, id="two addresses"),
        pytest.param(port(80, "10.0.0.1"), ("10.0.0.1", "TCP", 80), True, id="the same address"),
    ],
)
def test_ports_that_conflict(used, wanted, conflicts):
    node = NodeInfo(make_node("n"), [with_ports("a", used)])
    assert node.port_conflicts(wanted) is conflicts
    assert not NodeInfo(make_node("n")).port_conflicts(wanted)


def test_a_port_is_free_once_its_pod_is_gone():
    wanted = ("0.0.0.0", "TCP", 80)
    node = NodeInfo(make_node("n"), [with_ports("a", port(80))])
    assert node.port_conflicts(wanted)
    node.remove_pod(next(iter(node.pods)))
    assert not node.port_conflicts(wanted)


def test_ports_are_counted_again_from_the_pods_that_are_left():
    node = NodeInfo(make_node("n"), [with_ports("a", port(80)), with_ports("b", port(80))])
    node.remove_pod(next(iter(node.pods)))
    assert node.used_ports == set(), "as kube-scheduler's dry run sees it"
    node.recount_ports()
    assert node.used_ports == {("0.0.0.0", "TCP", 80)}
    assert node.port_conflicts(("0.0.0.0", "TCP", 80))


def test_a_clone_is_changed_alone():
    node = NodeInfo(make_node("n"), [with_ports("a", port(80))])
    node.row = 3
    copy = node.clone()
    copy.add_pod(info("b", cpu="1"))
    copy.add_pod(with_claims("c", "x"))
    copy.remove_pod(next(iter(node.pods)))
    assert (copy.row, len(copy.pods), copy.used_ports) == (3, 2, set())
    assert (len(node.pods), node.requested, node.pvc_refs) == (1, {}, {})
    assert node.used_ports == {("0.0.0.0", "TCP", 80)}


def test_the_node_object_is_replaced_and_its_pods_stay():
    node = NodeInfo(make_node("n", cpu="1"), [info("a", cpu="1")])
    node.set_node(
        make_node("n", cpu="2", unschedulable=True, taints=["a:NoSchedule"], images={"i:1": 7})
    )
    assert node.allocatable["cpu"] == 2000
    assert node.unschedulable
    assert [taint.key for taint in node.taints] == ["a"]
    assert list(node.images()) == [("i:1", 7)]
    assert node.labels["kubernetes.io/hostname"] == "n"
    assert node.annotations == {}
    assert repr(node) == "NodeInfo('n', pods=1)"
