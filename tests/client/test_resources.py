"""Paths and queries."""

from __future__ import annotations

import pytest

from mooring.api import CustomResource, FinishedPod, Node, Pod, StorageClass
from mooring.client.resources import ListOptions, find_resource, raw_resource
from mooring.errors import ObjectError


@pytest.mark.parametrize(
    ("kind", "path"),
    [
        (Pod, "/api/v1/namespaces/a/pods/b/status"),
        ("pods.v1.", "/api/v1/namespaces/a/pods/b/status"),
        ("configmaps.v1", "/api/v1/namespaces/a/configmaps/b/status"),
        ("crews.v1beta1.x.io", "/apis/x.io/v1beta1/namespaces/a/crews/b/status"),
        (StorageClass, "/apis/storage.k8s.io/v1/namespaces/a/storageclasses/b/status"),
    ],
    ids=str,
)
def test_a_kind_has_a_path(kind: type | str, path: str) -> None:
    assert find_resource(kind).path("a", "b", "status") == path


def test_what_has_no_namespace_or_name_is_a_collection() -> None:
    assert find_resource(Node).path() == "/api/v1/nodes"
    assert find_resource(Pod).path("a b") == "/api/v1/namespaces/a%20b/pods"


def test_a_name_in_text_finds_the_typed_kind_where_there_is_one() -> None:
    assert find_resource("pods.v1.").struct is Pod
    assert find_resource("crews.v1.x.io").struct is CustomResource


def test_finished_pods_are_a_part_of_all_pods() -> None:
    finished = find_resource(FinishedPod)
    assert finished.path("a") == find_resource(Pod).path("a")
    assert finished != find_resource(Pod)
    assert (find_resource(Pod).field_selector, finished.struct) == ("", FinishedPod)


def test_a_typed_kind_can_be_read_whole() -> None:
    raw = raw_resource(Pod)
    assert (raw.path("a"), raw.struct) == ("/api/v1/namespaces/a/pods", CustomResource)
    assert find_resource(raw) is raw


@pytest.mark.parametrize("kind", ["pods", "", ".v1", int], ids=str)
def test_what_names_no_resource_is_refused(kind: type | str) -> None:
    with pytest.raises(ObjectError):
        find_resource(kind)


def test_a_query_holds_what_was_asked_for() -> None:
    assert ListOptions().query() == ""
    options = ListOptions(
        field_selector="status.phase!=Failed",
        limit=500,
        continue_="a=b",
        watch=True,
        allow_watch_bookmarks=True,
        send_initial_events=True,
        resource_version="5",
        resource_version_match="NotOlderThan",
        timeout_seconds=300,
    )
    assert options.query() == (
        "?fieldSelector=status.phase%21%3DFailed&resourceVersion=5"
        "&resourceVersionMatch=NotOlderThan&limit=500&continue=a%3Db&timeoutSeconds=300"
        "&allowWatchBookmarks=true&sendInitialEvents=true&watch=true"
    )


@pytest.mark.parametrize(
    ("options", "query"),
    [
        (ListOptions(limit=1), "?limit=1"),
        (ListOptions(timeout_seconds=1), "?timeoutSeconds=1"),
        (ListOptions(allow_watch_bookmarks=True), "?allowWatchBookmarks=true"),
        (ListOptions(send_initial_events=True), "?sendInitialEvents=true"),
        (ListOptions(watch=True), "?watch=true"),
        (ListOptions(label_selector="a=b"), "?labelSelector=a%3Db"),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_one_option_alone_is_in_the_query(options: ListOptions, query: str) -> None:
    assert options.query() == query


def test_a_resource_has_a_name() -> None:
    assert find_resource(StorageClass).name == "storageclasses.v1.storage.k8s.io"
