"""Scheduling all that is pending: order, retries, preemption, gangs."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest
from msgspec.structs import replace

from mooring.api import KubeObject, PersistentVolumeClaim, Pod, Volume, decode
from mooring.config import default_config
from mooring.framework.cluster_events import ActionType, ClusterEvent, EventResource
from mooring.framework.decision import Outcome
from mooring.framework.plugin import Plugin
from mooring.framework.status import Status
from mooring.registry import default_registry
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.outcomes import Outcomes
from mooring.virtual.simulation import MAX_ATTEMPTS, Simulation, schedule_all
from tests.cycle.scheduling import make_node, make_nodes, make_pod, make_scheduler, plugin, refuse


def run(scheduler: MemoryScheduler) -> Outcomes:
    return drive(schedule_all(scheduler))


def placed(outcomes: Outcomes) -> dict[str, str]:
    return {uid: decision.node_name for uid, decision in outcomes.decisions.items()}


def sized(name: str, cpu: str, priority: int = 0, node: str = "") -> Pod:
    """Return a pod that asks for some cpu."""
    pod = make_pod(name, priority=priority, node=node)
    container = replace(
        pod.spec.containers[0],
        resources=replace(pod.spec.containers[0].resources, requests={"cpu": cpu}),
    )
    return replace(pod, spec=replace(pod.spec, containers=(container,)))


def test_pods_are_tried_in_queue_order() -> None:
    pods = [make_pod("a", priority=1), make_pod("b", priority=5), make_pod("c", priority=1)]
    outcomes = run(make_scheduler([refuse()], [*make_nodes("n1"), *pods]))
    assert list(outcomes.decisions) == ["b", "a", "c"]
    assert {decision.outcome for decision in outcomes.decisions.values()} == {Outcome.SCHEDULED}


def test_pods_of_other_schedulers_and_placed_pods_are_left_alone() -> None:
    other = make_pod("other")
    other = replace(other, spec=replace(other.spec, scheduler_name="somebody-else"))
    objects = [*make_nodes("n1"), other, make_pod("there", node="n1")]
    assert run(make_scheduler([refuse()], objects)).decisions == {}


def test_progress_is_told_after_every_attempt() -> None:
    told: list[tuple[int, int]] = []
    pods = [make_pod(name) for name in "abc"]
    scheduler = make_scheduler([refuse()], [*make_nodes("n1"), *pods])
    drive(schedule_all(scheduler, lambda tried, left: told.append((tried, left))))
    assert told == [(1, 2), (2, 1), (3, 0)]


class Follows(Plugin):
    """Lets "follower" go only where there is a pod; asks to be told of new pods."""

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        if pod.name != "follower" or node.pods:
            return None
        return Status.unschedulable("nobody here")

    def events_to_register(self) -> list[ClusterEvent]:
        return [ClusterEvent(EventResource.POD, ActionType.ADD)]


def test_a_refused_pod_is_tried_again_when_what_it_waits_for_happens() -> None:
    pods = [make_pod("follower", priority=9), make_pod("leader")]
    outcomes = run(make_scheduler([Follows], [*make_nodes("n1", "n2"), *pods]))
    assert placed(outcomes) == {"follower": "n1", "leader": "n1"}


def test_a_refused_pod_is_not_tried_again_for_events_nobody_waits_for() -> None:
    tried = []

    class Stubborn(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
            tried.append(pod.name)
            return Status.unschedulable("no") if pod.name == "refused" else None

        def events_to_register(self) -> list[ClusterEvent]:
            return [ClusterEvent(EventResource.NODE, ActionType.ADD)]

    pods = [make_pod("refused", priority=9), make_pod("a"), make_pod("b")]
    run(make_scheduler([Stubborn], [*make_nodes("n1"), *pods]))
    assert tried.count("refused") == 1


def test_two_pods_that_help_each_other_in_vain_are_given_up() -> None:
    tried = []

    class Restless(Plugin):
        def filter(self, state: Any, pod: Any, node: Any) -> Status:
            tried.append(pod.name)
            self.handle.activate([pod])
            return Status.unschedulable("no")

    run(make_scheduler([Restless], [*make_nodes("n1"), make_pod("a")]))
    assert tried == ["a"] * MAX_ATTEMPTS


def test_preemption_is_carried_out_and_the_pod_placed() -> None:
    objects = [
        make_node("n1"),
        sized("small", "3", node="n1"),
        sized("urgent", "2", priority=10),
    ]
    scheduler = MemoryScheduler(objects)
    outcomes = run(scheduler)
    assert placed(outcomes) == {"urgent": "n1"}
    assert [pod.name for pod in outcomes.evicted] == ["small"]
    assert scheduler.cluster.pods.get("small", "default") is None
    notes = [event.note for event in scheduler.events.recorded]
    assert notes == [
        "0/1 nodes are available: 1 Insufficient cpu. preemption: found a potential placement for "
        "pod on node n1, preempting 1 victims",
        "Preempted by pod urgent on node n1",
        "Successfully assigned default/urgent to n1",
    ]
    scheduler.cache.validate()


class Gang(Plugin):
    """Holds pods at Permit until three have come; gives them ten seconds."""

    size = 3

    def permit(self, state: Any, pod: Any, node_name: str) -> Status | None:
        waiting = list(self.handle.waiting_pods())
        if len(waiting) + 1 < self.size:
            return Status.wait(10, "waiting for the gang")
        for other in waiting:
            other.allow(self.name)
        return None


def test_a_gang_that_is_complete_goes_on_together() -> None:
    pods = [make_pod(name) for name in "abc"]
    scheduler = make_scheduler([Gang], [*make_nodes("n1"), *pods])
    begin = scheduler.clock.now()
    outcomes = run(scheduler)
    assert placed(outcomes) == {"a": "n1", "b": "n1", "c": "n1"}
    assert scheduler.clock.now() == begin
    assert not scheduler.cache.assumed


def test_a_gang_that_stays_incomplete_times_out() -> None:
    pods = [make_pod(name) for name in "ab"]
    scheduler = make_scheduler([Gang], [*make_nodes("n1"), *pods])
    begin = scheduler.clock.now()
    outcomes = run(scheduler)
    assert placed(outcomes) == {"a": "", "b": ""}
    assert scheduler.clock.now() > begin
    assert outcomes.decisions["a"].message == (
        "0/1 nodes are available: 1 rejected due to timeout after waiting 10s at plugin Gang."
    )
    assert not scheduler.cache.assumed
    assert not scheduler.cache.pods


def test_a_gated_pod_stays_out() -> None:
    gate = plugin("Gate", pre_enqueue=lambda pod: Status.unresolvable("closed"))
    outcomes = run(make_scheduler([gate], [*make_nodes("n1"), make_pod("gated")]))
    assert outcomes.decisions["gated"].outcome is Outcome.GATED


def test_a_gate_that_opens_lets_the_pod_in() -> None:
    class Gate(Plugin):
        opened = False

        def pre_enqueue(self, pod: Any) -> Status | None:
            held = pod.name == "gated" and not self.opened
            return Status.unresolvable("closed") if held else None

        def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
            self.opened = True

        def events_to_register(self) -> list[ClusterEvent]:
            return [ClusterEvent(EventResource.POD, ActionType.ADD)]

    pods = [make_pod("gated", priority=9), make_pod("key")]
    outcomes = run(make_scheduler([Gate], [*make_nodes("n1"), *pods]))
    assert placed(outcomes) == {"key": "n1", "gated": "n1"}


class Fails(Plugin):
    """Raises for the pod "faulty" while `times` is positive, at the point that `where` names."""

    times = 1
    where = "filter"

    def _fail(self, pod: Any, where: str) -> None:
        if pod.name == "faulty" and self.where == where and self.times > 0:
            self.times -= 1
            raise RuntimeError("out of order")

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return self._fail(pod, "filter")

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Status | None:
        return self._fail(pod, "pre_bind")


def test_an_error_that_nothing_happened_since_is_not_repeated() -> None:
    pods = [make_pod("first", priority=9), make_pod("faulty")]
    scheduler = make_scheduler([Fails], [*make_nodes("n1"), *pods])
    begin = scheduler.clock.now()
    assert run(scheduler).decisions["faulty"].outcome is Outcome.ERROR
    assert scheduler.clock.now() == begin


def test_an_error_is_followed_by_another_attempt_after_an_event() -> None:
    pods = [make_pod("faulty", priority=9), make_pod("other")]
    scheduler = make_scheduler([Fails], [*make_nodes("n1"), *pods])
    begin = scheduler.clock.now()
    assert placed(run(scheduler)) == {"faulty": "n1", "other": "n1"}
    assert scheduler.clock.now() > begin, "the pod backs off"


@pytest.mark.parametrize(
    ("times", "node"), [(3, "n1"), (MAX_ATTEMPTS, "")], ids=["it passes", "it lasts"]
)
def test_a_bind_that_failed_is_tried_again(times: int, node: str) -> None:
    class FailsToBind(Fails):
        where = "pre_bind"

    FailsToBind.times = times
    outcomes = run(make_scheduler([FailsToBind], [*make_nodes("n1"), make_pod("faulty")]))
    assert placed(outcomes) == {"faulty": node}


def test_a_preemptor_does_not_overtake_pods_that_have_not_been_tried() -> None:
    objects = [
        *(make_node("n1"), sized("victim", "3", node="n1")),
        *(sized("urgent", "2", priority=10), sized("later", "1")),
    ]
    scheduler = MemoryScheduler(objects)
    assert placed(run(scheduler)) == {"urgent": "n1", "later": "n1"}
    bound = [event.note for event in scheduler.events.recorded if event.reason == "Scheduled"]
    assert bound == [
        "Successfully assigned default/later to n1",
        "Successfully assigned default/urgent to n1",
    ]


def pod_with_claim() -> list[KubeObject]:
    """Return a pod whose claim is bound when it is placed, with the claim, a volume and a class."""
    claim = {
        "apiVersion": "v1",
        "kind": "PersistentVolumeClaim",
        "metadata": {"name": "data", "namespace": "default", "uid": "claim"},
        "spec": {
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "later",
            "resources": {"requests": {"storage": "1Gi"}},
        },
        "status": {"phase": "Pending"},
    }
    volume = {
        "apiVersion": "v1",
        "kind": "PersistentVolume",
        "metadata": {"name": "disk"},
        "spec": {
            "capacity": {"storage": "2Gi"},
            "accessModes": ["ReadWriteOnce"],
            "storageClassName": "later",
            "volumeMode": "Filesystem",
        },
        "status": {"phase": "Available"},
    }
    storage_class = {
        "apiVersion": "storage.k8s.io/v1",
        "kind": "StorageClass",
        "metadata": {"name": "later"},
        "provisioner": "kubernetes.io/no-provisioner",
        "volumeBindingMode": "WaitForFirstConsumer",
    }
    uses = msgspec.convert({"name": "data", "persistentVolumeClaim": {"claimName": "data"}}, Volume)
    pod = make_pod()
    pod = replace(pod, spec=replace(pod.spec, volumes=(uses,)))
    return [pod, *(decode(raw) for raw in (claim, volume, storage_class))]


def test_claims_are_bound_on_the_way() -> None:
    scheduler = MemoryScheduler([make_node("n1"), *pod_with_claim()])
    assert placed(run(scheduler)) == {"web": "n1"}
    bound = scheduler.cluster.store(PersistentVolumeClaim).get("data", "default")
    assert bound.spec.volume_name == "disk"
    assert bound.status.phase == "Bound"


def test_refused_pod_is_retried_when_a_claim_changes() -> None:
    class AfterClaim(Plugin):
        """Refuses the pod "later" until the claim is bound."""

        def pre_filter(self, state: Any, pod: Pod, nodes: Any) -> Status | None:
            claim = self.handle.lister(PersistentVolumeClaim).get("data", "default")
            bound = claim is not None and claim.status.phase == "Bound"
            return None if bound or pod.name != "later" else Status.unschedulable("not bound")

        def events_to_register(self) -> list[ClusterEvent]:
            return [ClusterEvent(EventResource.PERSISTENT_VOLUME_CLAIM, ActionType.UPDATE)]

    later = make_pod("later", priority=9)
    registry = default_registry([AfterClaim])
    config = default_config(registry=registry, enabled=["AfterClaim"])
    objects = [*make_nodes("n1"), later, *pod_with_claim()]
    scheduler = MemoryScheduler(objects, config=config, registry=registry)
    outcomes = run(scheduler)
    assert placed(outcomes) == {"later": "n1", "web": "n1"}
    # The handlers of a run end with it.
    claims = scheduler.cluster.store(PersistentVolumeClaim)
    claim = claims.get("data", "default")
    claims.update(replace(claim, metadata=replace(claim.metadata, labels={"a": "b"})))
    assert run(scheduler).decisions == {}


def full_cluster() -> MemoryScheduler:
    """Return a simulation in which one of three pods has found no room."""
    pods = [sized(name, "2") for name in ("a", "b", "c")]
    scheduler = MemoryScheduler([make_node("n1"), *pods])
    scheduler.start()
    drive(scheduler.step_until_quiet())
    return scheduler


def nodes_of(simulation: Simulation) -> dict[str, str]:
    return {pod.name: pod.spec.node_name for pod in simulation.cluster.pods}


def test_copies_do_not_influence_one_another() -> None:
    scheduler = full_cluster()
    before = nodes_of(scheduler)
    (pending,) = (name for name, node in before.items() if not node)
    first, second = scheduler.copy(), scheduler.copy()
    first.cluster.add(make_node("n2"))
    drive(first.step_until_quiet())
    assert nodes_of(first) == before | {pending: "n2"}
    drive(first.step_to(5.0))
    assert (first.clock.now(), scheduler.clock.now()) == (5.0, 0.0)
    assert nodes_of(scheduler) == nodes_of(second) == before
    second.cluster.delete(next(pod for pod in second.cluster.pods if pod.spec.node_name))
    drive(second.step_until_quiet())
    assert nodes_of(second)[pending] == "n1"
    assert nodes_of(scheduler) == before
    for one in (scheduler, first, second):
        one.scheduler.cache.validate()
        one.queue.validate()


def test_copy_goes_on_as_the_original_does() -> None:
    pods = [sized(name, "1", priority) for priority, name in enumerate("abcdef")]
    scheduler = MemoryScheduler([make_node("n1"), make_node("n2"), *pods])
    scheduler.start()
    for _ in range(2):
        assert drive(scheduler.step())
    copied = scheduler.copy()
    for one in (scheduler, copied):
        drive(one.step_until_quiet())
    assert nodes_of(copied) == nodes_of(scheduler)
    assert all(nodes_of(copied).values())


def test_pod_that_waits_at_permit_is_pending_in_a_copy() -> None:
    scheduler = make_scheduler([Gang], [*make_nodes("n1"), make_pod("a"), make_pod("b")])
    scheduler.start()
    while drive(scheduler.step()):
        pass
    copied = scheduler.copy()
    assert not copied.scheduler.cache.assumed
    copied.cluster.add(make_pod("c"))
    drive(copied.step_until_quiet())
    assert nodes_of(copied) == {"a": "n1", "b": "n1", "c": "n1"}
    assert nodes_of(scheduler) == {"a": "", "b": ""}


def test_stepping_to_a_time_ends_waits_and_backoffs_on_the_way() -> None:
    scheduler = make_scheduler([Gang], [*make_nodes("n1"), make_pod("a")])
    begin = scheduler.clock.now()
    scheduler.start()
    drive(scheduler.step_to(begin + 9))
    assert scheduler.cache.is_assumed("a")
    drive(scheduler.step_to(begin + 10))
    assert not scheduler.cache.assumed
    assert scheduler.clock.now() == begin + 10
