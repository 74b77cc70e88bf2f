"""The store: by name and namespace, indexes, versions, handlers."""

from __future__ import annotations

import asyncio
from typing import Any

import msgspec
import pytest

from mooring.api import Pod
from mooring.informers.store import EventHandler, Store


def make_pod(name: str, namespace: str = "default", app: str = "web") -> Pod:
    metadata = {"name": name, "namespace": namespace, "labels": {"app": app}}
    return msgspec.convert({"metadata": metadata}, Pod)


def by_app(pod: Pod) -> list[str]:
    return [pod.labels["app"]]


def names(pods: Any) -> list[str]:
    return [pod.name for pod in pods]


def test_objects_are_found_by_name_and_namespace() -> None:
    store = Store([make_pod("a"), make_pod("a", "other"), make_pod("b")])
    assert store.get("a", "other") == make_pod("a", "other")
    assert store.get("a", "nowhere") is None
    assert names(store.list()) == ["a", "a", "b"]
    assert names(store.list("default")) == ["a", "b"]
    assert names(store.list("nowhere")) == []
    assert len(store) == 3
    assert names(store) == ["a", "a", "b"]


def test_an_index_follows_every_change() -> None:
    store = Store([make_pod("a")])
    store.add_index("app", by_app)
    store.add_index("app", lambda pod: ["another function under the same name is ignored"])
    store.add(make_pod("b", app="db"))
    store.update(make_pod("a", app="db"))
    assert names(store.by_index("app", "web")) == []
    assert sorted(names(store.by_index("app", "db"))) == ["a", "b"]
    store.delete("b", "default")
    assert names(store.by_index("app", "db")) == ["a"]


def test_the_version_grows_with_every_change_only() -> None:
    store: Store[Pod] = Store()
    versions = [store.version]
    for change in (
        lambda: store.add(make_pod("a")),
        lambda: store.update(make_pod("a", app="db")),
        lambda: store.delete("a", "default"),
    ):
        change()
        versions.append(store.version)
    assert versions == sorted(set(versions))
    assert store.delete("a", "default") is None
    assert store.version == versions[-1]


def test_handlers_are_told_of_what_is_there_and_of_every_change() -> None:
    store = Store([make_pod("a")])
    told: list[tuple[str, ...]] = []
    handler: EventHandler[Pod] = EventHandler(
        on_add=lambda pod: told.append(("add", pod.name)),
        on_update=lambda old, new: told.append(("update", old.labels["app"], new.labels["app"])),
        on_delete=lambda pod: told.append(("delete", pod.name)),
    )
    store.add_handler(handler)
    store.add_handler(EventHandler())
    store.add(make_pod("b"))
    store.add(make_pod("a", app="db"))
    store.delete("b", "default")
    expected = [("add", "a"), ("add", "b"), ("update", "web", "db"), ("delete", "b")]
    assert told == expected
    store.remove_handler(handler)
    store.delete("a", "default")
    assert told == expected


def test_a_subscriber_is_told_of_what_is_there_and_of_every_change() -> None:
    store = Store([make_pod("a")])
    told: list[tuple[str | None, str | None]] = []
    store.subscribe(lambda old, new: told.append((old and old.name, new and new.name)))
    store.add(make_pod("b"))
    store.add(make_pod("a", app="db"))
    store.delete("b", "default")
    assert told == [(None, "a"), (None, "b"), ("a", "a"), ("b", None)]


def versioned(name: str, version: str) -> Pod:
    return msgspec.convert({"metadata": {"name": name, "resourceVersion": version}}, Pod)


def test_replacing_tells_what_came_what_changed_and_what_went() -> None:
    store = Store([versioned("a", "1"), versioned("b", "1"), versioned("c", "1")])
    told: list[str] = []
    handler: EventHandler[Pod] = EventHandler(
        on_add=lambda new: told.append(f"+{new.name}"),
        on_update=lambda old, new: told.append(f"~{new.name}"),
        on_delete=lambda old: told.append(f"-{old.name}"),
    )
    store.add_handler(handler)
    told.clear()
    store.replace([versioned("b", "1"), versioned("c", "2"), versioned("d", "1")])
    assert told == ["~c", "+d", "-a"]
    assert names(store.list()) == ["b", "c", "d"]


def test_every_handler_is_told_though_one_fails() -> None:
    store: Store[Pod] = Store()

    def fail(_: Pod) -> None:
        raise RuntimeError("a bug")

    told: list[str] = []
    store.add_handler(EventHandler(on_add=fail))
    store.add_handler(EventHandler(on_add=lambda new: told.append(new.name)))
    with pytest.raises(RuntimeError, match="a bug"):
        store.replace([versioned("a", "1"), versioned("b", "1")])
    assert told == ["a", "b"]


@pytest.mark.parametrize("kind", [SystemExit, GeneratorExit, asyncio.CancelledError])
def test_whatever_a_handler_raises_the_others_are_told(kind: type[BaseException]) -> None:
    store: Store[Pod] = Store()

    def fail(_: Pod) -> None:
        raise kind("a bug")

    told: list[str] = []
    store.add_handler(EventHandler(on_add=fail))
    store.add_handler(EventHandler(on_add=lambda new: told.append(new.name)))
    with pytest.raises(RuntimeError, match=f"a handler raised {kind.__name__}: a bug"):
        store.add(versioned("a", "1"))
    assert told == ["a"]


@pytest.mark.parametrize("kind", [KeyError, SystemExit])
def test_an_index_that_fails_finds_nothing_and_stops_nobody(
    kind: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    store: Store[Pod] = Store()

    def keys(pod: Pod) -> list[str]:
        if pod.name == "bad":
            raise kind("a bug")
        return ["found"]

    told: list[str] = []
    store.add_index("app", keys)
    store.add_handler(EventHandler(on_add=lambda new: told.append(new.name)))
    store.add(versioned("bad", "1"))
    store.add(versioned("good", "1"))
    assert told == ["bad", "good"]
    assert names(store.by_index("app", "found")) == ["good"]
    assert "An index failed; it does not find the object" in caplog.messages
    store.delete("bad")
    assert names(store.list()) == ["good"]


def test_a_handler_added_by_a_handler_is_told_once() -> None:
    store: Store[Pod] = Store()
    told: list[str] = []

    def add_another(_: Pod) -> None:
        store.add_handler(EventHandler(on_add=lambda new: told.append(new.name)))

    store.add_handler(EventHandler(on_add=add_another))
    store.add(versioned("a", "1"))
    assert told == ["a"]
