"""Namespace lifecycle: the objects created in a new namespace, and the deletion of its content."""

# kube-controller-manager: pkg/controller/namespace, pkg/controller/serviceaccount

from __future__ import annotations

import asyncio
import logging
from collections.abc import Coroutine
from typing import Any

from mooring.apiserver import bootstrap, deleting
from mooring.apiserver.resource_store import ADDED, DELETED, StoreEvent
from mooring.apiserver.resource_table import Served
from mooring.apiserver.server_state import ServerState
from mooring.errors import StorageError
from mooring.observe.logs import kv

log = logging.getLogger(__name__)

Object = dict[str, Any]

ROOT_CA = "kube-root-ca.crt"
_PLACE = "/namespaces"
_AGAIN = 1.0


class NamespaceLifecycle:
    """A controller that fills new namespaces and empties deleted ones.

    A new namespace gets its default service account and, once published, the CA certificate.
    """

    def __init__(self, cluster: ServerState) -> None:
        self._cluster = cluster
        self._authority = b""
        self._tasks: set[asyncio.Task[None]] = set()
        self._stop = cluster.store.listen(_PLACE, self._seen)

    def start(self) -> None:
        """Process the existing namespaces."""
        for stored in list(self._cluster.store.items(_PLACE)):
            if stored.object["metadata"].get("deletionTimestamp"):
                self._finish(stored.key)
            else:
                self._furnish(stored.key)

    def publish(self, authority: bytes) -> None:
        """Create a ConfigMap with the CA certificate in every namespace, present and future."""
        self._authority = authority
        for stored in list(self._cluster.store.items(_PLACE)):
            if not stored.object["metadata"].get("deletionTimestamp"):
                self._furnish(stored.key)

    async def stop(self) -> None:
        """Stop watching namespaces, and cancel the deletions in progress."""
        self._stop()
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _seen(self, event: StoreEvent) -> None:
        old = event.old.object["metadata"] if event.old is not None else {}
        if event.type == ADDED:
            try:
                self._furnish(event.stored.key)
            except StorageError:
                # The namespace itself is stored, so its creation has not failed.
                self._run(self._furnish_later(event.stored.key))
        elif (
            event.type != DELETED
            and event.stored.object["metadata"].get("deletionTimestamp")
            and not old.get("deletionTimestamp")
        ):
            self._finish(event.stored.key)

    def _furnish(self, name: str) -> None:
        metadata = {"name": "default", "namespace": name}
        bootstrap.ensure(self._cluster, "", "v1", "serviceaccounts", {"metadata": metadata})
        if not self._authority:
            return
        trust = {
            "metadata": {"name": ROOT_CA, "namespace": name},
            "data": {"ca.crt": self._authority.decode()},
        }
        bootstrap.ensure(self._cluster, "", "v1", "configmaps", trust)

    async def _furnish_later(self, name: str) -> None:
        """Furnish a namespace when the store can be written again."""
        while True:
            await asyncio.sleep(_AGAIN)
            live = self._cluster.lookup(_PLACE, "", name)
            if live is None or live["metadata"].get("deletionTimestamp"):
                return
            try:
                return self._furnish(name)
            except StorageError as error:
                log.error("A namespace cannot be furnished", extra=kv(name=name, err=str(error)))

    def _finish(self, name: str) -> None:
        self._run(self._end(name))

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _end(self, name: str) -> None:
        """Empty and remove a namespace; try again while the store cannot be written."""
        while True:
            try:
                return await self._empty(name)
            except StorageError as error:
                log.error("A namespace cannot be deleted", extra=kv(name=name, err=str(error)))
            await asyncio.sleep(_AGAIN)

    async def _empty(self, name: str) -> None:
        """Delete the content of a namespace until nothing is left, then the namespace."""
        while await self._delete_contents(name):
            await asyncio.sleep(_AGAIN)
        live = self._cluster.store.get(_PLACE, name)
        if live is None:
            return
        obj = deleting.copy_of(live.object)
        obj["spec"]["finalizers"] = [
            one for one in obj["spec"].get("finalizers") or () if one != "kubernetes"
        ]
        served = self._cluster.catalogue.get("", "v1", "namespaces")
        assert served is not None
        if deleting.is_finished(served, obj):
            deleting.remove(self._cluster, served, live, obj)
        else:
            self._cluster.store.put(_PLACE, live.key, obj)

    async def _delete_contents(self, name: str) -> int:
        """Delete every object in a namespace; return how many are not gone yet."""
        left = 0
        seen: set[str] = set()
        for served in self._cluster.catalogue:
            if not served.namespaced or served.store in seen:
                continue
            seen.add(served.store)
            store = self._cluster.store
            for key in [stored.key for stored in store.items(served.store, name)]:
                # Yield to other tasks: a namespace may hold thousands of pods.
                await asyncio.sleep(0)
                stored = store.get(served.store, key)
                if stored is None:
                    continue
                options = self._options(served, stored.object)
                _, gone = deleting.delete(self._cluster, served, stored, options)
                left += not gone
        return left

    def _options(self, served: Served, obj: Object) -> Object:
        # No kubelet ends a pod on a missing node; the pod garbage collector would force-delete it.
        node = (obj.get("spec") or {}).get("nodeName") if served.store == "/pods" else None
        if node and self._cluster.store.get("/nodes", node) is None:
            return {"gracePeriodSeconds": 0}
        return {"propagationPolicy": "Background"}
