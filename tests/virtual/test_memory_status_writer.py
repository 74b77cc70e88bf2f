"""Status changes go straight to the store of a cluster in memory."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.api import Condition, Pod
from mooring.binding.status_writer import StatusChange
from mooring.informers.store import Store
from mooring.testing.builders import make_pod, make_pod_group
from mooring.virtual.driving import drive
from mooring.virtual.memory_status_writer import MemoryGroupStatusWriter, MemoryStatusWriter

REFUSED = Condition(type="PodScheduled", status="False", reason="Unschedulable", message="no")


def shown(pods: Store[Pod]) -> Pod:
    found = pods.get("p", "default")
    assert found is not None
    return found


def stored(pod: Pod) -> tuple[Store[Pod], MemoryStatusWriter]:
    pods: Store[Pod] = Store()
    pods.add(pod)
    return pods, MemoryStatusWriter(pods)


def test_a_condition_takes_the_place_of_the_one_of_its_type() -> None:
    pod = make_pod("p")
    ready = Condition(type="Ready", status="True")
    pod = replace(pod, status=replace(pod.status, conditions=(REFUSED, ready)))
    pods, writer = stored(pod)
    later = replace(REFUSED, message="still not")
    writer.write(pod, StatusChange(later))
    assert shown(pods).status.conditions == (ready, later)


def test_a_nomination_is_set_left_and_cleared() -> None:
    pod = make_pod("p")
    pods, writer = stored(pod)
    drive(writer.write_first(pod, StatusChange(nominated_node_name="n")))
    assert shown(pods).status.nominated_node_name == "n"
    # The change is made to what the store has, not to the version that the caller has.
    writer.write(pod, StatusChange(REFUSED))
    assert shown(pods).status.nominated_node_name == "n"
    writer.write(pod, StatusChange(nominated_node_name=""))
    assert shown(pods).status.nominated_node_name == ""
    assert shown(pods).status.conditions == (REFUSED,)
    drive(writer.settle(pod.metadata.uid))


def test_pods_that_are_bound_recreated_or_gone_are_left_alone() -> None:
    pod = make_pod("p")
    change = StatusChange(REFUSED, "n")
    bound = replace(pod, spec=replace(pod.spec, node_name="n"))
    recreated = replace(pod, metadata=replace(pod.metadata, uid="another"))
    for current in (bound, recreated):
        pods, writer = stored(current)
        writer.write(pod, change)
        assert shown(pods) == current
    empty: Store[Pod] = Store()
    MemoryStatusWriter(empty).write(pod, change)
    assert list(empty.list()) == []


def test_a_group_that_was_scheduled_once_stays_so() -> None:
    group = make_pod_group("g")
    store = Store([group])
    writer = MemoryGroupStatusWriter(store)
    for status in ("False", "True", "False"):
        writer.write(group, Condition(type="T", status=status))
    found = store.get("g", "default")
    assert found is not None
    assert [one.status for one in found.status.conditions] == ["True"]
    writer.write(make_pod_group("gone"), Condition(type="T", status="True"))
    assert len(store) == 1
