"""The resource claims of pods in memory."""

from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.api import ObjectMeta, Pod, ResourceClaim, ResourceClaimTemplate
from mooring.controlplane.generated_claims import claim_metadata
from mooring.virtual.driving import drive
from mooring.virtual.memory_scheduler import MemoryScheduler
from mooring.virtual.simulation import schedule_all
from tests.plugins.clusters import make, make_pod
from tests.plugins.dynamic_resources.devices import claim, device_class, device_slice, node, pod

REQUEST = {"name": "r", "exactly": {"deviceClassName": "gpu"}}
TEMPLATE = make(
    ResourceClaimTemplate,
    "t",
    "default",
    spec={"metadata": {"labels": {"a": "b"}}, "spec": {"devices": {"requests": [REQUEST]}}},
)


def _from_template(name: str) -> Pod:
    return make_pod(
        name,
        containers=[{"name": "x"}],
        resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}],
        schedulerName="default-scheduler",
    )


def _scheduler(*objects: Any) -> MemoryScheduler:
    nodes = [node("a"), device_slice("a", "d0"), device_class()]
    return MemoryScheduler([*nodes, *objects])


def _claims(scheduler: MemoryScheduler) -> dict[str, ResourceClaim]:
    found = scheduler.cluster.store(ResourceClaim).list()
    return {one.metadata.name: one for one in found}


def _schedule(scheduler: MemoryScheduler) -> dict[str, str]:
    outcomes = drive(schedule_all(scheduler))
    return {
        decision.pod.metadata.name: decision.node_name for decision in outcomes.decisions.values()
    }


def test_a_pods_claim_is_made_from_its_template() -> None:
    scheduler = _scheduler(TEMPLATE, _from_template("p"), _from_template("q"))
    assert _schedule(scheduler) == {"p": "a", "q": ""}
    made = _claims(scheduler)
    assert sorted(made) == ["p-g", "q-g"]
    assert made["p-g"].metadata.labels == {"a": "b"}
    assert [user.name for user in made["p-g"].status.reserved_for] == ["p"]


def test_a_pod_waits_for_its_template() -> None:
    scheduler = _scheduler(_from_template("p"))
    assert _schedule(scheduler) == {"p": ""}
    scheduler.cluster.add(TEMPLATE)
    assert _schedule(scheduler) == {"p": "a"}


def test_what_a_pod_leaves_behind_is_free_for_others() -> None:
    scheduler = _scheduler(TEMPLATE, _from_template("p"))
    assert _schedule(scheduler) == {"p": "a"}
    drive(scheduler.client.delete(Pod, "p", "default"))
    assert _claims(scheduler) == {}
    scheduler.cluster.add(_from_template("q"))
    assert _schedule(scheduler) == {"q": "a"}


def test_a_claim_that_nobody_uses_any_more_gives_its_devices_back() -> None:
    scheduler = _scheduler(claim(), pod("p", "c"), pod("q", "c"))
    assert _schedule(scheduler) == {"p": "a", "q": "a"}
    drive(scheduler.client.delete(Pod, "p", "default"))
    left = _claims(scheduler)["c"].status
    assert left.allocation is not None and [user.name for user in left.reserved_for] == ["q"]
    drive(scheduler.client.delete(Pod, "q", "default"))
    freed = _claims(scheduler)["c"]
    assert freed.status.allocation is None and freed.metadata.finalizers == ()


def test_deleted_claim_of_a_waiting_pod_is_created_again() -> None:
    scheduler = _scheduler(TEMPLATE, _from_template("p"))
    scheduler.cluster.store(ResourceClaim).delete("p-g", "default")
    assert sorted(_claims(scheduler)) == ["p-g"]
    assert _schedule(scheduler) == {"p": "a"}


def test_claim_of_the_same_name_is_not_replaced() -> None:
    users = claim("p-g")
    scheduler = _scheduler(TEMPLATE, users, _from_template("p"))
    assert sorted(_claims(scheduler)) == ["p-g", "p-g-2"]
    assert _claims(scheduler)["p-g"] == users
    (status,) = scheduler.cluster.pods.get("p", "default").status.resource_claim_statuses
    assert status.resource_claim_name == "p-g-2"


def test_claim_that_the_status_does_not_name_yet_is_used() -> None:
    pod = _from_template("p")
    metadata = claim_metadata(ObjectMeta(), pod, "g")
    made = claim("p-g-x7k2p")
    made = replace(made, metadata=replace(metadata, name="p-g-x7k2p", uid="u"))
    scheduler = _scheduler(TEMPLATE, made, pod)
    assert sorted(_claims(scheduler)) == ["p-g-x7k2p"]
    (status,) = scheduler.cluster.pods.get("p", "default").status.resource_claim_statuses
    assert status.resource_claim_name == "p-g-x7k2p"


def test_claim_that_lost_its_owner_is_not_created_again() -> None:
    scheduler = _scheduler(TEMPLATE, _from_template("p"))
    made = _claims(scheduler)["p-g"]
    scheduler.cluster.add(replace(made, metadata=replace(made.metadata, owner_references=())))
    scheduler.cluster.store(ResourceClaim).delete("p-g", "default")
    assert _claims(scheduler) == {}


def test_pod_that_is_being_deleted_gets_no_claim() -> None:
    pod = _from_template("p")
    leaving = replace(pod.metadata, deletion_timestamp="2026-01-01T00:00:00Z")
    assert _claims(_scheduler(TEMPLATE, replace(pod, metadata=leaving))) == {}


def test_allocation_without_the_finalizer_is_kept() -> None:
    scheduler = _scheduler(claim(), pod("p", "c"))
    assert _schedule(scheduler) == {"p": "a"}
    allocated = _claims(scheduler)["c"]
    by_driver = replace(allocated, metadata=replace(allocated.metadata, finalizers=()))
    scheduler.cluster.add(by_driver)
    drive(scheduler.client.delete(Pod, "p", "default"))
    left = _claims(scheduler)["c"].status
    assert left.allocation is not None and left.reserved_for == ()
