"""AppGroups are found by name, and workloads by binary search."""

from __future__ import annotations

from mooring.api import AppGroup, Pod, decode_as
from mooring.api.app_group import APP_GROUP_LABEL, WORKLOAD_LABEL
from mooring.contrib.app_groups import app_group_name, find_in, search, topology_index, workload_of
from mooring.informers.store import Store
from mooring.testing import make_pod


def group(namespace: str, *order: tuple[str, int]) -> AppGroup:
    entries = [{"workload": {"selector": name}, "index": index} for name, index in order]
    return decode_as(
        {
            "metadata": {"name": "shop", "namespace": namespace},
            "status": {"topologyOrder": entries},
        },
        AppGroup,
    )


def test_labels_name_group_and_workload() -> None:
    pod: Pod = make_pod("p", labels={APP_GROUP_LABEL: "shop", WORKLOAD_LABEL: "web"})
    assert (app_group_name(pod), workload_of(pod)) == ("shop", "web")
    assert (app_group_name(make_pod("q")), workload_of(make_pod("q"))) == ("", "")


def test_the_first_namespace_that_has_the_object_counts() -> None:
    store = Store([group("a"), group("b")])
    found = find_in(store, ("missing", "b", "a"), "shop")
    assert found is not None
    assert found.metadata.namespace == "b"
    assert find_in(store, ("missing",), "shop") is None


def test_an_unsorted_list_hides_entries() -> None:
    assert search(["c", "b", "a"], lambda one: one, "a") is None
    assert search(["a", "b", "c"], lambda one: one, "a") == "a"


def test_a_workload_that_is_not_found_has_index_minus_one() -> None:
    shop = group("a", ("db", 1), ("web", 2))
    assert [topology_index(shop, one) for one in ("db", "web", "cache")] == [1, 2, -1]
