from __future__ import annotations

from typing import Any

from msgspec.structs import replace

from mooring.api import ResourceClaim
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.tracker import ClaimTracker
from tests.plugins.dynamic_resources.devices import DRIVER, allocated_on, claim

DEVICE = (DRIVER, "a", "d0")


def _version(one: ResourceClaim, version: int) -> ResourceClaim:
    return replace(one, metadata=replace(one.metadata, resource_version=str(version)))


def _tracker(*claims: ResourceClaim) -> tuple[ClaimTracker, Store[ResourceClaim]]:
    store = Store(claims)
    return ClaimTracker(store), store


def _taken(tracker: ClaimTracker) -> bool:
    return tracker.allocated(shares=True).is_taken(DEVICE)


def test_an_allocated_claim_takes_its_device_until_it_is_gone() -> None:
    tracker, store = _tracker(claim(status=allocated_on("a")))
    assert _taken(tracker)
    assert tracker.allocated(shares=True).is_used(DEVICE)
    store.delete("c", "default")
    assert not _taken(tracker)
    assert not tracker.allocated(shares=True).is_used(DEVICE)


def test_admin_access_takes_nothing() -> None:
    tracker, _ = _tracker(claim(status=allocated_on("a", adminAccess=True)))
    assert not tracker.allocated(shares=True).is_used(DEVICE)


def test_what_is_in_flight_is_taken_until_it_is_finished() -> None:
    tracker, _ = _tracker(claim())
    tracker.allocate("uid-c", claim(status=allocated_on("a")))
    assert tracker.is_in_flight("uid-c") and _taken(tracker)
    assert tracker.allocated(shares=True).is_used(DEVICE)
    assert tracker.finish("uid-c")
    assert not tracker.finish("uid-c")
    assert not _taken(tracker)


def test_what_was_written_counts_until_the_informer_is_as_new() -> None:
    tracker, store = _tracker(_version(claim(), 5))
    written = _version(claim(status=allocated_on("a")), 9)
    tracker.assume(written)
    assert tracker.get("c", "default") is written and _taken(tracker)
    store.add(_version(claim(), 8))
    assert tracker.get("c", "default") is written
    newer = _version(claim(), 10)
    store.add(newer)
    assert tracker.get("c", "default") is newer and not _taken(tracker)


def test_what_was_written_is_forgotten_with_its_claim() -> None:
    tracker, store = _tracker(_version(claim(), 5))
    tracker.assume(_version(claim(status=allocated_on("a")), 9))
    store.delete("c", "default")
    assert tracker.get("c", "default") is None and not _taken(tracker)
    tracker.assume(_version(claim(status=allocated_on("a")), 9))
    another = replace(claim(), metadata=replace(claim().metadata, uid="another"))
    store.add(_version(another, 7))
    assert tracker.get("c", "default") == _version(another, 7) and not _taken(tracker)


def _share(name: str, share: str, amount: str) -> ResourceClaim:
    more: dict[str, Any] = {"shareID": share, "consumedCapacity": {"memory": amount}}
    return claim(name, status=allocated_on("a", **more))


def test_shares_add_up_and_are_counted_once() -> None:
    tracker, _ = _tracker(_version(_share("one", "1", "1Gi"), 5), _share("two", "2", "2Gi"))
    # The same share again, as written a moment ago.
    tracker.assume(_version(_share("one", "1", "1Gi"), 9))
    allocated = tracker.allocated(shares=True)
    assert allocated.consumed(DEVICE) == {"memory": 3 * 2**30 * 10**9}
    assert (allocated.is_taken(DEVICE), allocated.is_used(DEVICE)) == (False, True)
    assert tracker.allocated(shares=False).is_taken(DEVICE)


def test_the_claim_of_a_pods_extended_resources_is_found() -> None:
    owner = {"name": "pod", "uid": "default/pod", "controller": True}
    marked = {"resource.kubernetes.io/extended-resource-claim": "true"}
    tracker, _ = _tracker(
        claim("not", ownerReferences=[owner]),
        claim("it", ownerReferences=[owner], annotations=marked),
    )
    found = tracker.extended_claim("default/pod")
    assert found is not None and found.metadata.name == "it"
    assert tracker.extended_claim("default/other") is None


def test_devices_whose_usage_changed_are_told_once() -> None:
    tracker, store = _tracker(claim(status=allocated_on("a")))
    assert tracker.take_changed() == {DEVICE}
    assert tracker.take_changed() == set()
    store.add(claim("other"))
    assert tracker.take_changed() == set()
    tracker.allocate("uid-other", claim("other", status=allocated_on("a", "d1")))
    assert tracker.take_changed() == {(DRIVER, "a", "d1")}
    tracker.finish("uid-other")
    store.delete("c", "default")
    assert tracker.take_changed() == {DEVICE, (DRIVER, "a", "d1")}


def test_what_the_search_reads_of_a_device() -> None:
    tracker, store = _tracker(_share("one", "1", "1Gi"))
    allocated = tracker.allocated(shares=True)
    first = allocated.state_of(DEVICE)
    assert allocated.state_of((DRIVER, "a", "d9")) is None
    store.add(_share("two", "2", "1Gi"))
    assert allocated.state_of(DEVICE) != first
    store.delete("one", "default")
    assert allocated.state_of(DEVICE) == first
    store.add(claim("whole", status=allocated_on("a")))
    assert allocated.state_of(DEVICE) != first


def test_claims_in_flight_under_one_name_are_all_counted() -> None:
    tracker, _ = _tracker()
    for i in range(3):
        tracker.allocate(f"uid-{i}", claim("same", status=allocated_on("a", f"d{i}")))
    assert tracker.finish("uid-1")
    allocated = tracker.allocated(shares=True)
    assert [allocated.is_taken((DRIVER, "a", f"d{i}")) for i in range(3)] == [True, False, True]
