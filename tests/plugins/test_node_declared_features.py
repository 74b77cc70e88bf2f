from __future__ import annotations

import pytest

from mooring.framework.cluster_events import QueueingHint
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.plugins.node_declared_features import NodeDeclaredFeatures
from tests.plugins.cluster import Cluster, hints, make_node, make_pod, unresolvable

UNSATISFIED = unresolvable("node(s) didn't match Pod's required features")
RESTART, USERS = "RestartAllContainersOnContainerExits", "UserNamespacesHostNetworkSupport"
OFF = {
    "NodeDeclaredFeatures": False,
    "ExtendWebSocketsToKubelet": False,
    "InPlacePodLevelResourcesVerticalScaling": False,
    "RestartAllContainersOnContainerExits": False,
    "InPlacePodVerticalScalingInitContainers": False,
}


def restarting(action: str = "RestartAllContainers", where: str = "containers", **spec):
    container = {"name": "c", "restartPolicyRules": [{"action": action}]}
    return make_pod(spec={where: [container], **spec})


PLAIN = make_pod()
HOST_USERS = make_pod(spec={"hostNetwork": True, "hostUsers": False})
CLUSTER = Cluster(
    [
        make_node("none"),
        make_node("restart", features=[RESTART]),
        make_node("users", features=[USERS, "Unknown"]),
        make_node("both", features=[RESTART, USERS]),
    ]
)
BAD = UNSATISFIED


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(PLAIN, None, id="a plain pod needs nothing"),
        pytest.param(restarting("Restart"), None, id="restarting one container needs nothing"),
        pytest.param(restarting(), [BAD, None, BAD, None], id="restarting all containers"),
        pytest.param(
            restarting(where="initContainers"), [BAD, None, BAD, None], id="from an init container"
        ),
        pytest.param(HOST_USERS, [BAD, BAD, None, None], id="user namespace on the host network"),
        pytest.param(
            make_pod(spec={"hostNetwork": True, "hostUsers": True}), None, id="the host's users"
        ),
        pytest.param(make_pod(spec={"hostNetwork": True}), None, id="users by default"),
        pytest.param(make_pod(spec={"hostUsers": False}), None, id="not the host network"),
        pytest.param(
            restarting(hostNetwork=True, hostUsers=False), [BAD, BAD, BAD, None], id="both features"
        ),
    ],
)
def test_features(pod, expected) -> None:
    found = CLUSTER.filter(CLUSTER.make(NodeDeclaredFeatures), pod)
    assert (found if expected is None else list(found.values())) == (expected or Status.skip())


@pytest.mark.parametrize("where", ["containers", "initContainers", "ephemeralContainers"])
@pytest.mark.parametrize(("release", "verdict"), [("1.36", None), ("1.37", BAD)])
def test_options_of_bind_mounts_since_1_37(where: str, release: str, verdict) -> None:
    mount = {"name": "v", "mountPath": "/v", "bindMountOptions": ["noexec"]}
    pod = make_pod(spec={where: [{"name": "c", "volumeMounts": [mount]}]})
    nodes = [make_node("none"), make_node("able", features=["VolumeBindMountOptions"])]
    cluster = Cluster(nodes, release=release)
    plugin = cluster.make(NodeDeclaredFeatures)
    found = cluster.filter(plugin, pod)
    assert found == (Status.skip() if verdict is None else {"none": verdict, "able": None})


def test_with_the_gate_off_nothing_is_asked() -> None:
    cluster = Cluster([make_node("none")], gates=OFF, release="1.36")
    plugin = cluster.make(NodeDeclaredFeatures)
    assert cluster.filter(plugin, restarting()) == Status.skip()
    assert cluster.filter_only(plugin, restarting(), CycleState()) == {"none": None}
    assert plugin.events_to_register() == []


def test_filter_without_pre_filter_is_an_error() -> None:
    found = CLUSTER.filter_only(CLUSTER.make(NodeDeclaredFeatures), PLAIN, CycleState())
    message = 'error reading "PreFilterNodeDeclaredFeatures" from cycle-state: not found'
    assert set(found.values()) == {("Error", (message,))}


BARE, RICH = make_node("n"), make_node("n", features=[RESTART])


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        pytest.param(None, BARE, QueueingHint.QUEUE, id="a node came"),
        pytest.param(BARE, RICH, QueueingHint.QUEUE, id="a node declares more"),
        pytest.param(RICH, RICH, QueueingHint.SKIP, id="a node declares the same"),
    ],
)
def test_node_events(old, new, expected: QueueingHint) -> None:
    hint = hints(NodeDeclaredFeatures())["Node", "Add|UpdateNodeDeclaredFeature"]
    assert hint(restarting(), old, new) is expected


@pytest.mark.parametrize(
    ("new", "expected"),
    [
        pytest.param(PLAIN, QueueingHint.QUEUE, id="the pod needs less"),
        pytest.param(restarting(), QueueingHint.SKIP, id="the pod needs the same"),
    ],
)
def test_pod_events(new, expected: QueueingHint) -> None:
    (hint,) = (
        hint
        for (resource, _), hint in hints(NodeDeclaredFeatures()).items()
        if resource == "TargetPod"
    )
    assert hint(restarting(), restarting(), new) is expected


def test_signature_is_what_is_needed() -> None:
    sign = NodeDeclaredFeatures().sign_pod
    assert sign(PLAIN) == ()
    assert sign(restarting()) == (RESTART,)
