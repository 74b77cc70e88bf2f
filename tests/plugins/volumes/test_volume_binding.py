from __future__ import annotations

from typing import Any

import pytest

from mooring.api import PersistentVolume, PersistentVolumeClaim, Pod
from mooring.controlplane.bound_volumes import bound_claim
from mooring.errors import ApiError
from mooring.framework.plugin import PreFlight
from mooring.framework.state import CycleState
from mooring.framework.status import Status
from mooring.observe.clock import VirtualClock
from mooring.plugins.args import UtilizationShapePoint, VolumeBindingArgs
from mooring.plugins.volumes import VolumeBinding
from mooring.plugins.volumes.volume_binding import (
    BIND_CONFLICT,
    NODE_CONFLICT,
    UNBOUND_IMMEDIATE,
    VOLUME_NOT_EXIST,
)
from mooring.virtual.memory_client import MemoryClient
from tests.plugins.clusters import Cluster, make_node, raw_scores
from tests.plugins.volumes.storage import (
    SELECTED_NODE,
    capacity,
    claim,
    csi_driver,
    in_label,
    owned_by,
    pod_with,
    storage_class,
    volume,
)

HOST = "kubernetes.io/hostname"
NODES = [make_node(name) for name in ("a", "b", "c")]


class LiveCluster(Cluster):
    """A cluster with a clock, and a client that records its calls.

    `after_sleep` is called after each sleep; it simulates the controller.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        self.clock = self
        self.client = self
        self.patches: list[tuple[str, dict[str, Any]]] = []
        self.refuse: ApiError | None = None
        self.after_sleep: list[Any] = []
        self._time = VirtualClock()
        self._server = MemoryClient(self)

    def now(self) -> float:
        return self._time.now()

    def wall_time(self) -> float:
        return self._time.now()

    async def sleep(self, seconds: float) -> None:
        self._time.advance(seconds)
        if self.after_sleep:
            self.after_sleep.pop(0)()

    async def patch(self, kind: type[Any], name: str, namespace: str, patch: Any) -> Any:
        if self.refuse is not None:
            raise self.refuse
        self.patches.append((name, patch))
        return await self._server.patch(kind, name, namespace, patch)

    def store(self, kind: type[Any]) -> Any:
        return self.lister(kind)

    def finish(self, claim_name: str, volume_name: str) -> None:
        """Bind a claim, as the controller does."""
        store = self.lister(PersistentVolumeClaim)
        bound = self.lister(PersistentVolume).get(volume_name) or volume(volume_name)
        store.update(bound_claim(store.get(claim_name, "default"), bound))


def _plugin(cluster: Cluster, **args: Any) -> VolumeBinding:
    plugin = VolumeBinding(VolumeBindingArgs(**args), cluster)
    plugin.start()
    return plugin


def _ask(plugin: VolumeBinding, cluster: Cluster, pod: Pod, state: CycleState) -> dict[str, Status]:
    """Run both forms of Filter, check that they agree, and return the refusals by node."""
    snapshot = cluster.snapshot
    texts: dict[str, list[str]] = {}
    for status, mask in plugin.filter_nodes(state, pod, snapshot):
        for name, refused in zip(snapshot.names, mask.tolist(), strict=True):
            if refused:
                texts.setdefault(name, []).extend(status.reasons)
    answers = {name: Status.unresolvable(*reasons) for name, reasons in texts.items()}
    alone = CycleState()
    assert plugin.pre_filter(alone, pod, snapshot) is None
    for info in snapshot.infos():
        assert plugin.filter(alone, pod, info) == answers.get(info.name), info.name
    return answers


@pytest.mark.parametrize(
    ("objects", "answer"),
    [
        pytest.param(
            [],
            Status.unresolvable('persistentvolumeclaim "c" not found'),
            id="a claim that does not exist",
        ),
        pytest.param(
            [claim("c", phase="Lost", bound_to="v")],
            Status.unresolvable(
                'persistentvolumeclaim "c" bound to non-existent persistentvolume "v"'
            ),
            id="a claim that lost its volume",
        ),
        pytest.param(
            [claim("c", metadata={"deletionTimestamp": "2026-01-01T00:00:00Z"})],
            Status.unresolvable('persistentvolumeclaim "c" is being deleted'),
            id="a claim that is going",
        ),
        pytest.param(
            [claim("c"), storage_class(volumeBindingMode="Immediate")],
            UNBOUND_IMMEDIATE,
            id="an unbound claim that binds at once",
        ),
        pytest.param(
            [claim("c", storage_class="no")], UNBOUND_IMMEDIATE, id="a class that does not exist"
        ),
        pytest.param(
            [claim("c", volumeName="v"), storage_class()],
            UNBOUND_IMMEDIATE,
            id="a claim that a user gave a volume",
        ),
        pytest.param(
            [claim("c"), storage_class(volumeBindingMode=None)],
            Status.error('VolumeBindingMode not set for StorageClass "local"'),
            id="a class without a binding mode",
        ),
        pytest.param([claim("c"), storage_class()], None, id="a claim that waits"),
        pytest.param([claim("c", bound_to="v")], None, id="a bound claim"),
    ],
)
def test_pre_filter(objects: list[Any], answer: Status | None) -> None:
    cluster = Cluster(NODES, objects=objects)
    assert _plugin(cluster).pre_filter(CycleState(), pod_with("c"), cluster.snapshot) == answer


@pytest.mark.parametrize(
    ("objects", "answer"),
    [
        pytest.param(
            [],
            Status.unresolvable(
                "waiting for ephemeral volume controller to create the "
                'persistentvolumeclaim "pod-e"'
            ),
            id="not yet made",
        ),
        pytest.param(
            [claim("pod-e")],
            Status.unresolvable(
                "PVC default/pod-e was not created for pod default/pod (pod is not owner)"
            ),
            id="of somebody else",
        ),
        pytest.param([claim("pod-e", bound_to="v", metadata=owned_by("pod"))], None, id="its own"),
    ],
)
def test_ephemeral_claims(objects: list[Any], answer: Status | None) -> None:
    cluster = Cluster(NODES, objects=objects)
    pod = pod_with(extra=[{"name": "e", "ephemeral": {}}])
    assert _plugin(cluster).pre_filter(CycleState(), pod, cluster.snapshot) == answer


@pytest.mark.parametrize("release", ["1.36", "1.37"])
def test_steps_aside_without_claims(release: str) -> None:
    cluster = Cluster(NODES, release=release)
    plugin, state, pod = _plugin(cluster), CycleState(), pod_with()
    assert plugin.pre_filter(state, pod, cluster.snapshot) == Status.skip()
    # Where storage capacity is scored, kube-scheduler scores all pods.
    skips = Status.skip() if release == "1.36" else None
    assert plugin.pre_score(state, pod, cluster.snapshot) == skips
    assert set(raw_scores(plugin, state, pod, cluster.snapshot).values()) == {0}
    assert plugin.reserve(state, pod, "a") is None
    assert plugin.pre_bind_pre_flight(state, pod, "a") == Status.skip()


def test_reasons_add_up_in_kube_schedulers_order() -> None:
    objects = [
        claim("bound", bound_to="v"),
        volume("v", affinity=in_label(HOST, "a"), phase="Bound"),
        claim("gone", bound_to="no"),
        claim("wait"),
        storage_class(),
    ]
    cluster = Cluster(NODES, objects=objects)
    plugin, pod = _plugin(cluster), pod_with("bound", "gone", "wait")
    state = CycleState()
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    elsewhere = Status.unresolvable(NODE_CONFLICT, BIND_CONFLICT)
    assert _ask(plugin, cluster, pod, state) == {
        "a": Status.unresolvable(BIND_CONFLICT, VOLUME_NOT_EXIST),
        "b": elsewhere,
        "c": elsewhere,
    }


def _local(*names: str) -> list[Any]:
    return [volume(f"on-{name}", affinity=in_label(HOST, name)) for name in names]


def test_a_reserved_volume_is_not_given_twice() -> None:
    cluster = Cluster(NODES, objects=[claim("c"), claim("d"), storage_class(), *_local("a", "b")])
    plugin = _plugin(cluster)
    first, first_pod = CycleState(), pod_with("c")
    plugin.pre_filter(first, first_pod, cluster.snapshot)
    assert set(_ask(plugin, cluster, first_pod, first)) == {"c"}
    assert plugin.reserve(first, first_pod, "a") is None
    assert plugin.pre_bind_pre_flight(first, first_pod, "a") == PreFlight(allow_parallel=True)

    second, second_pod = CycleState(), pod_with("d", name="other")
    plugin.pre_filter(second, second_pod, cluster.snapshot)
    assert set(_ask(plugin, cluster, second_pod, second)) == {"a", "c"}

    plugin.unreserve(first, first_pod, "a")
    plugin.unreserve(first, first_pod, "a")
    third = CycleState()
    plugin.pre_filter(third, second_pod, cluster.snapshot)
    assert set(_ask(plugin, cluster, second_pod, third)) == {"c"}


def test_a_claim_that_is_being_provisioned_keeps_pods_on_its_node() -> None:
    cluster = Cluster(
        NODES, objects=[claim("c", storage_class="dyn"), storage_class("dyn", "x.example.com")]
    )
    plugin = _plugin(cluster)
    first, pod = CycleState(), pod_with("c")
    plugin.pre_filter(first, pod, cluster.snapshot)
    assert _ask(plugin, cluster, pod, first) == {}
    assert plugin.reserve(first, pod, "b") is None
    second = CycleState()
    plugin.pre_filter(second, pod, cluster.snapshot)
    assert set(_ask(plugin, cluster, pod, second)) == {"a", "c"}


def test_bound_claims_leave_nothing_to_bind() -> None:
    cluster = Cluster(NODES, objects=[claim("c", bound_to="v"), volume("v")])
    plugin, state, pod = _plugin(cluster), CycleState(), pod_with("c")
    plugin.pre_filter(state, pod, cluster.snapshot)
    assert _ask(plugin, cluster, pod, state) == {}
    assert plugin.reserve(state, pod, "a") is None
    assert plugin.pre_bind_pre_flight(state, pod, "a") == Status.skip()


def test_a_volume_that_changed_since_cannot_be_reserved() -> None:
    cluster = Cluster(NODES, objects=[claim("c"), storage_class(), *_local("a")])
    plugin, state, pod = _plugin(cluster), CycleState(), pod_with("c")
    plugin.pre_filter(state, pod, cluster.snapshot)
    _ask(plugin, cluster, pod, state)
    changed = volume("on-a", metadata={"resourceVersion": "7"})
    cluster.lister(PersistentVolume).update(changed)
    answer = plugin.reserve(state, pod, "a")
    assert answer == Status.error('"on-a" is out of sync (stored: 7, assume: )')


def _live(*objects: Any) -> tuple[LiveCluster, VolumeBinding, CycleState, Pod]:
    """Return a pod with its claim `c` reserved on node a."""
    pod = pod_with("c")
    cluster = LiveCluster(NODES, objects=[storage_class(), pod, *objects])
    plugin, state = _plugin(cluster, bind_timeout_seconds=5), CycleState()
    assert plugin.pre_filter(state, pod, cluster.snapshot) is None
    list(plugin.filter_nodes(state, pod, cluster.snapshot))
    assert plugin.reserve(state, pod, "a") is None
    return cluster, plugin, state, pod


async def test_pre_bind_binds_a_volume_and_waits_for_the_controller() -> None:
    cluster, plugin, state, pod = _live(
        claim("c"), volume("on-a", affinity=in_label(HOST, "a"), metadata={"resourceVersion": "4"})
    )
    cluster.after_sleep = [lambda: None, lambda: cluster.finish("c", "on-a")]
    assert await plugin.pre_bind(state, pod, "a") is None
    assert cluster.now() == 2.0
    reference = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "namespace": "default",
        "name": "c",
        "uid": "uid-c",
    }
    metadata = {
        "annotations": {"pv.kubernetes.io/bound-by-controller": "yes"},
        "resourceVersion": "4",
    }
    assert cluster.patches == [("on-a", {"metadata": metadata, "spec": {"claimRef": reference}})]


async def test_pre_bind_asks_for_a_volume_on_the_node() -> None:
    cluster, plugin, state, pod = _live(
        claim("c", storage_class="dyn"), storage_class("dyn", "x.example.com")
    )
    cluster.lister(PersistentVolume).add(volume("made"))
    cluster.after_sleep = [lambda: cluster.finish("c", "made")]
    assert await plugin.pre_bind(state, pod, "a") is None
    assert cluster.patches == [("c", {"metadata": {"annotations": {SELECTED_NODE: "a"}}})]


async def test_pre_bind_gives_up_after_the_timeout() -> None:
    cluster, plugin, state, pod = _live(claim("c"), *_local("a"))
    answer = await plugin.pre_bind(state, pod, "a")
    assert answer == Status.error("binding volumes: context deadline exceeded")
    assert cluster.now() == 5.0
    assert cluster.metrics.volume_scheduling_stage_errors["bind"].value == 1


async def test_a_write_that_fails_gives_up_the_reservation() -> None:
    cluster, plugin, state, pod = _live(claim("c"), *_local("a"))
    cluster.refuse = ApiError(409, "the object has been modified", reason="Conflict")
    answer = await plugin.pre_bind(state, pod, "a")
    assert answer == Status.error("the object has been modified")
    again = CycleState()
    plugin.pre_filter(again, pod, cluster.snapshot)
    assert set(_ask(plugin, cluster, pod, again)) == {"b", "c"}


def _drop_claim(cluster: LiveCluster) -> None:
    cluster.lister(PersistentVolumeClaim).delete("c", "default")


def _drop_node(cluster: LiveCluster) -> None:
    cluster.cache.remove_node("a")


def _drop_pod(cluster: LiveCluster) -> None:
    cluster.lister(Pod).delete("pod", "default")


def _drop_volume(cluster: LiveCluster) -> None:
    cluster.lister(PersistentVolume).delete("on-a")


def _unbind(cluster: LiveCluster) -> None:
    cluster.lister(PersistentVolume).update(volume("on-a", metadata={"resourceVersion": "9"}))


def _move(cluster: LiveCluster) -> None:
    moved = volume("on-a", affinity=in_label(HOST, "b"), metadata={"resourceVersion": "9"})
    cluster.lister(PersistentVolume).update(moved)


@pytest.mark.parametrize(
    ("happens", "text"),
    [
        pytest.param(_drop_node, 'failed to get node "a": node "a" not found', id="the node goes"),
        pytest.param(
            _drop_pod, 'pod does not exist any more: pod "pod" not found', id="the pod goes"
        ),
        pytest.param(
            _drop_volume,
            'failed to check binding: persistentvolumes "on-a" not found',
            id="the volume goes",
        ),
        pytest.param(
            _drop_claim,
            'failed to check binding: persistentvolumeclaims "default/c" not found',
            id="the claim goes",
        ),
        pytest.param(_unbind, 'ClaimRef got reset for pv "on-a"', id="the volume is unbound"),
        pytest.param(
            _move,
            'pv "on-a" node affinity doesn\'t match node "a": no matching NodeSelectorTerms',
            id="the volume moves",
        ),
    ],
)
async def test_binding_fails_at_once_where_it_cannot_succeed(happens: Any, text: str) -> None:
    cluster, plugin, state, pod = _live(claim("c"), *_local("a"))
    cluster.after_sleep = [lambda: happens(cluster)]
    assert await plugin.pre_bind(state, pod, "a") == Status.error(f"binding volumes: {text}")
    assert cluster.now() == 1.0


async def test_provisioning_that_fails_takes_the_selected_node_away() -> None:
    cluster, plugin, state, pod = _live(
        claim("c", storage_class="dyn"), storage_class("dyn", "x.example.com")
    )

    def fail() -> None:
        again = claim("c", annotations={"x": "y"}, metadata={"resourceVersion": "9"})
        cluster.lister(PersistentVolumeClaim).update(again)

    cluster.after_sleep = [fail]
    answer = await plugin.pre_bind(state, pod, "a")
    assert answer == Status.error('binding volumes: provisioning failed for PVC "c"')


async def test_an_older_version_is_no_answer() -> None:
    cluster, plugin, state, pod = _live(claim("c"), *_local("a"))

    def fall_back() -> None:
        cluster.lister(PersistentVolume).update(volume("on-a"))
        cluster.finish("c", "on-a")

    cluster.after_sleep = [fall_back]
    answer = await plugin.pre_bind(state, pod, "a")
    assert answer == Status.error("binding volumes: context deadline exceeded")


def test_storage_capacity_is_scored_behind_its_gate() -> None:
    objects = [
        claim("c", "1Gi", "dyn"),
        storage_class("dyn", "x.example.com"),
        csi_driver("x.example.com", storageCapacity=True),
        capacity("s1", "dyn", "2Gi", {HOST: "a"}),
        capacity("s2", "dyn", "4Gi", {HOST: "b"}),
    ]
    shape = (
        UtilizationShapePoint(utilization=0, score=0),
        UtilizationShapePoint(utilization=100, score=10),
    )
    pod = pod_with("c")
    for gates, args, scores in (
        ({}, {}, {"a": 50, "b": 75, "c": 0}),
        ({}, {"shape": shape}, {"a": 50, "b": 25, "c": 0}),
        ({"StorageCapacityScoring": False}, {}, None),
    ):
        cluster = Cluster(NODES, objects=objects, gates=gates)
        plugin, state = _plugin(cluster, **args), CycleState()
        plugin.pre_filter(state, pod, cluster.snapshot)
        assert set(_ask(plugin, cluster, pod, state)) == {"c"}
        if scores is None:
            assert plugin.pre_score(state, pod, cluster.snapshot) == Status.skip()
        else:
            assert plugin.pre_score(state, pod, cluster.snapshot) is None
            assert raw_scores(plugin, state, pod, cluster.snapshot) == scores


def test_what_is_written_to_the_state_is_missed_where_pre_filter_did_not_run() -> None:
    cluster = Cluster(NODES)
    plugin, pod = _plugin(cluster), pod_with("c")
    missing = Status.error("not found")
    assert plugin.pre_score(CycleState(), pod, cluster.snapshot) == missing
    assert plugin.reserve(CycleState(), pod, "a") == missing
    assert plugin.pre_bind_pre_flight(CycleState(), pod, "a") == missing
    plugin.unreserve(CycleState(), pod, "a")
