"""A disk that is full: what is not stored is neither acknowledged nor visible."""

from __future__ import annotations

import asyncio
import contextlib
import json
import sqlite3
from collections.abc import AsyncIterator, Iterator
from pathlib import Path
from typing import Any

import pytest

from mooring.apiserver.namespaces import NamespaceLifecycle
from mooring.apiserver.resource_store import ResourceStore
from mooring.apiserver.sqlite_journal import SqliteJournal
from mooring.errors import StorageError
from tests.adversary.attack_steps import APPLY, DEFINITIONS, JSON, MERGE, definition
from tests.apiserver.api_server import MAPS, PODS, ApiServer, config_map, pod
from tests.support.waiting import PATIENCE

Object = dict[str, Any]

THINGS = "/apis/example.com/v1/things"
DEFINITION = definition("things", "example.com", scope="Cluster")
SETS = "/apis/apps/v1/namespaces/default/replicasets"
_LABELS = {"app": "set"}
REPLICA_SET = {
    "apiVersion": "apps/v1",
    "kind": "ReplicaSet",
    "metadata": {"name": "set"},
    "spec": {
        "selector": {"matchLabels": _LABELS},
        "template": {"metadata": {"labels": _LABELS}, "spec": pod("set")["spec"]},
    },
}
SPARE = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "spare"}, "spec": {}}


class SmallDisk(SqliteJournal):
    """A journal on a disk that can be full: SQLite itself fails to write more pages."""

    def fill(self) -> None:
        """Allow no more pages, and use up the free ones."""
        self._db.execute("PRAGMA max_page_count = 1")
        with contextlib.suppress(sqlite3.Error):
            for i in range(1000):
                self._db.execute(
                    "INSERT INTO objects VALUES ('filler', ?, 0, zeroblob(500))", (str(i),)
                )

    def free(self) -> None:
        """Allow more pages."""
        self._db.execute("PRAGMA max_page_count = 1000000")

    @contextlib.contextmanager
    def broken(self) -> Iterator[None]:
        """Fail every statement that changes an object, as a disk with errors does."""
        for verb in ("INSERT", "DELETE"):
            self._db.execute(
                f"CREATE TEMP TRIGGER broken_{verb} BEFORE {verb} ON objects "
                "BEGIN SELECT RAISE(FAIL, 'disk I/O error'); END"
            )
        yield
        for verb in ("INSERT", "DELETE"):
            self._db.execute(f"DROP TRIGGER broken_{verb}")


def stored(folder: Path) -> dict[str, Object]:
    """Return what a restarted server would read."""
    with contextlib.closing(sqlite3.connect(folder / "objects.db")) as db:
        rows = db.execute("SELECT resource, key, data FROM objects WHERE resource != 'filler'")
        return {f"{resource} {key}": json.loads(data) for resource, key, data in rows}


def shown(server: ApiServer) -> dict[str, Object]:
    """Return what the server shows."""
    store = server.store
    return {
        f"{resource} {one.key}": one.object
        for resource in store.resources
        for one in store.items(resource)
    }


class Watched:
    """The events of a resource."""

    def __init__(self, server: ApiServer, resource: str) -> None:
        self.seen: list[str] = []
        server.store.listen(resource, lambda event: self.seen.append(event.type))


async def _scene(folder: Path) -> tuple[ApiServer, SmallDisk]:
    journal = SmallDisk(folder)
    server = ApiServer(ResourceStore(journal))
    await server.ask("POST", MAPS, config_map("a", old="1"))
    await server.ask("POST", MAPS, config_map("b", old="1"))
    await server.ask("POST", PODS, pod("p"))
    await server.ask("POST", PODS, pod("bound", nodeName="n"))
    for name in ("held", "ending"):
        held = config_map(name)
        held["metadata"]["finalizers"] = ["example.com/a"]
        await server.ask("POST", MAPS, held)
    await server.ask("DELETE", f"{MAPS}/ending")
    await server.ask("POST", "/api/v1/namespaces", {"metadata": {"name": "spare"}})
    await server.ask("POST", SETS, REPLICA_SET)
    await server.ask("POST", DEFINITIONS, DEFINITION)
    thing = {"apiVersion": "example.com/v1", "kind": "Things", "metadata": {"name": "t"}}
    assert (await server.send("POST", THINGS, thing)).code == 201
    return server, journal


BINDING = {
    "apiVersion": "v1",
    "kind": "Binding",
    "metadata": {"name": "p"},
    "target": {"kind": "Node", "name": "n"},
}
EVICTION = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": "bound"}}
SCALE = {
    "apiVersion": "autoscaling/v1",
    "kind": "Scale",
    "metadata": {"name": "set"},
    "spec": {"replicas": 3},
}
NO_FINALIZERS = {"metadata": {"finalizers": None}}
FOREGROUND = {"kind": "DeleteOptions", "apiVersion": "v1", "propagationPolicy": "Foreground"}
WRITES: dict[str, tuple[str, str, Any, str]] = {
    "create": ("POST", MAPS, config_map("new"), JSON),
    "update": ("PUT", f"{MAPS}/a", config_map("a", new="1"), JSON),
    "patch": ("PATCH", f"{MAPS}/a", {"data": {"new": "1"}}, MERGE),
    "apply": ("PATCH", f"{MAPS}/new?fieldManager=m", config_map("new"), APPLY),
    "delete": ("DELETE", f"{MAPS}/a", None, JSON),
    "delete of a pod": ("DELETE", f"{PODS}/p", None, JSON),
    "delete of a definition": (
        "DELETE",
        f"{DEFINITIONS}/things.example.com",
        None,
        "application/json",
    ),
    "delete of all": ("DELETE", MAPS, None, JSON),
    "delete of all pods": ("DELETE", PODS, None, JSON),
    "graceful delete": ("DELETE", f"{PODS}/bound", None, JSON),
    "delete with a finalizer": ("DELETE", f"{MAPS}/held", None, JSON),
    "delete in the foreground": ("DELETE", f"{MAPS}/a", FOREGROUND, JSON),
    "last finalizer": ("PATCH", f"{MAPS}/ending", NO_FINALIZERS, MERGE),
    "eviction": ("POST", f"{PODS}/bound/eviction", EVICTION, JSON),
    "scale": ("PUT", f"{SETS}/set/scale", SCALE, JSON),
    "delete of a namespace": ("DELETE", "/api/v1/namespaces/spare", None, JSON),
    "namespace's finalizers": ("PUT", "/api/v1/namespaces/spare/finalize", SPARE, JSON),
    "binding": ("POST", f"{PODS}/p/binding", BINDING, JSON),
    "status": ("PATCH", f"{PODS}/p/status", {"status": {"phase": "Failed"}}, MERGE),
}
KINDS = ("/configmaps", "/pods", "/namespaces", "apps/replicasets", "example.com/things")


@pytest.mark.parametrize(("method", "path", "body", "media"), WRITES.values(), ids=WRITES)
async def test_failed_write_changes_nothing(
    method: str, path: str, body: Any, media: str, tmp_path: Path
) -> None:
    server, journal = await _scene(tmp_path)
    watched = [Watched(server, one) for one in KINDS]
    before, version = shown(server), server.store.version
    with journal.broken():
        response = await server.send(method, path, body, content_type=media)
    assert response.code == 500
    assert "disk I/O error" in json.loads(response.body)["message"]
    assert [one.seen for one in watched] == [[] for _ in KINDS]
    assert (shown(server), server.store.version) == (before, version)
    assert (await server.send("GET", THINGS)).code == 200
    response = await server.send(method, path, body, content_type=media)
    assert response.code in (200, 201)
    journal.close()
    assert stored(tmp_path) == shown(server)


async def test_full_disk_keeps_what_is_stored(tmp_path: Path) -> None:
    server, journal = await _scene(tmp_path)
    journal.fill()
    big = config_map("big", text="x" * 100_000)
    assert (await server.send("POST", MAPS, big)).code == 500
    assert (await server.send("GET", f"{MAPS}/big")).code == 404
    journal.free()
    assert (await server.send("POST", MAPS, big)).code == 201
    journal.close()
    assert stored(tmp_path) == shown(server)


def test_failed_deletion_leaves_no_transaction_open(tmp_path: Path) -> None:
    journal = SmallDisk(tmp_path)
    journal.put("things", "a", 2, b"{}", is_loaded=False)
    with journal.broken(), pytest.raises(StorageError, match=r"objects\.db: disk I/O error"):
        journal.delete("things", "a", 3)
    journal.put("things", "b", 3, b"{}", is_loaded=False)
    assert journal.version() == 0
    journal.close()
    again = SqliteJournal(tmp_path)
    assert [key for _, key, *_ in again.load()] == ["a", "b"]
    again.close()


@pytest.fixture
async def lifecycle_and_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[ApiServer, SmallDisk]]:
    monkeypatch.setattr("mooring.apiserver.namespaces._AGAIN", 0.01)
    journal = SmallDisk(tmp_path)
    server = ApiServer(ResourceStore(journal))
    lifecycle = NamespaceLifecycle(server.cluster)
    lifecycle.start()
    yield server, journal
    await lifecycle.stop()


async def test_namespace_ends_when_the_disk_has_room_again(
    lifecycle_and_server: tuple[ApiServer, SmallDisk], caplog: pytest.LogCaptureFixture
) -> None:
    server, journal = lifecycle_and_server
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    await server.ask("POST", "/api/v1/namespaces", namespace)
    assert (await server.send("DELETE", "/api/v1/namespaces/n")).code == 200
    async with asyncio.timeout(PATIENCE):
        with journal.broken():
            while "A namespace cannot be deleted" not in caplog.text:
                await asyncio.sleep(0)
        while (await server.send("GET", "/api/v1/namespaces/n")).code != 404:
            await asyncio.sleep(0)


async def test_namespace_is_furnished_when_the_disk_has_room_again(
    lifecycle_and_server: tuple[ApiServer, SmallDisk], monkeypatch: pytest.MonkeyPatch
) -> None:
    server, journal = lifecycle_and_server
    put = journal.put

    def refuse_accounts(resource: str, *record: Any) -> None:
        if resource == "/serviceaccounts":
            raise StorageError("full")
        put(resource, *record)

    monkeypatch.setattr(journal, "put", refuse_accounts)
    namespace = {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "n"}}
    assert (await server.send("POST", "/api/v1/namespaces", namespace)).code == 201
    account = "/api/v1/namespaces/n/serviceaccounts/default"
    assert (await server.send("GET", account)).code == 404
    monkeypatch.setattr(journal, "put", put)
    async with asyncio.timeout(PATIENCE):
        while (await server.send("GET", account)).code != 200:
            await asyncio.sleep(0)
