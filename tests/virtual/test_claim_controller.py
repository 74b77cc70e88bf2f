from __future__ import annotations

from typing import Any

from mooring.api import Pod, ResourceClaim, ResourceClaimTemplate
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
