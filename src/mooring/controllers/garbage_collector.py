"""Garbage collection: dependents are deleted after their owner, before it, or kept."""

# kubernetes: pkg/controller/garbagecollector/garbagecollector.go

from __future__ import annotations

from typing import Any

import msgspec

from mooring.api import (
    CustomResource,
    Lease,
    Node,
    OwnerReference,
    PersistentVolume,
    PersistentVolumeClaim,
    Pod,
    PodDisruptionBudget,
)
from mooring.client.client import MERGE
from mooring.client.resources import KindLike, Resource, find_resource, raw_resource
from mooring.controllers.controlled_kinds import (
    CONTROLLER_REVISIONS,
    DAEMON_SETS,
    DEPLOYMENTS,
    JOBS,
    REPLICA_SETS,
    STATEFUL_SETS,
)
from mooring.controllers.controller import Controller, ControllerContext
from mooring.controllers.dependency_graph import (
    FOREGROUND_FINALIZER,
    ORPHAN_FINALIZER,
    DependencyGraph,
    Item,
)
from mooring.controllers.rest_mapper import RestMapper
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import BACKGROUND, FOREGROUND, ORPHAN
from mooring.errors import ApiError
from mooring.informers.factory import InformerFactory
from mooring.informers.store import EventHandler

DEFINITIONS = raw_resource("customresourcedefinitions.v1.apiextensions.k8s.io")

#: Kinds of owners and dependents. Custom resources are watched once their definition is
#: established. An owner of any other kind is looked up when one of these objects names it.
WATCHED: tuple[KindLike, ...] = (
    DEPLOYMENTS,
    REPLICA_SETS,
    STATEFUL_SETS,
    DAEMON_SETS,
    JOBS,
    CONTROLLER_REVISIONS,
    Pod,
    Node,
    Lease,
    PersistentVolume,
    PersistentVolumeClaim,
    PodDisruptionBudget,
    raw_resource("cronjobs.v1.batch"),
    raw_resource("services.v1"),
    raw_resource("configmaps.v1"),
    raw_resource("secrets.v1"),
    raw_resource("serviceaccounts.v1"),
    raw_resource("endpointslices.v1.discovery.k8s.io"),
)


class GarbageCollector(Controller):
    """The controller that deletes objects whose owners are gone; its keys are uids."""

    name = "generic-garbage-collector"
    workers = 16

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._graph = DependencyGraph()
        self._places = RestMapper(context.client)
        self._custom: dict[str, InformerFactory] = {}
        for kind in (*WATCHED, *context.collected):
            resource = find_resource(kind)
            context.informers.informer(kind).add_handler(self._handler(resource))
        context.informers.informer(DEFINITIONS).add_handler(
            EventHandler(
                on_add=self._define,
                on_update=lambda _, new: self._define(new),
                on_delete=self._undefine,
            )
        )

    def _handler(self, resource: Resource) -> EventHandler[Any]:
        def changed(*objects: Any) -> None:
            self._note(resource, objects[-1])

        return EventHandler(on_add=changed, on_update=changed, on_delete=self._gone)

    # Custom resources.

    def _define(self, definition: CustomResource) -> None:
        name = definition.metadata.name
        conditions = definition.get("status.conditions") or ()
        served = any(one["type"] == "Established" and one["status"] == "True" for one in conditions)
        if name in self._custom or not served:
            return
        versions = [one for one in definition.get("spec.versions", []) if one.get("served")]
        if not versions:
            return
        spec = definition.raw["spec"]
        resource = Resource(
            spec["group"], versions[0]["name"], spec["names"]["plural"], CustomResource
        )
        # One factory per definition, because it is closed when the definition is deleted.
        factory = self._custom[name] = InformerFactory(
            self.context.client, clock=self.context.clock, selections={}
        )
        factory.informer(resource).add_handler(self._handler(resource))
        factory.start()

    def _undefine(self, definition: CustomResource) -> None:
        factory = self._custom.pop(definition.metadata.name, None)
        if factory is not None:
            self.spawn(factory.close())

    # The graph.

    def _note(self, resource: Resource, obj: Any) -> None:
        item = self._graph.put(resource, obj)
        if item.waits_for_dependents or item.orphans_dependents:
            self._look(item)
        elif not item.deleting and item.metadata.owner_references:
            owners = self._graph.owners(item.metadata)
            if any(owner is None or owner.waits_for_dependents for owner in owners):
                self._look(item)
        for owner in self._graph.owners(item.metadata):
            # The owner may have waited for a reference that this change removed.
            if owner is not None and owner.waits_for_dependents:
                self._look(owner)

    def _gone(self, obj: Any) -> None:
        uid = obj.metadata.uid
        self._graph.drop(uid)
        for dependent in self._graph.dependents(uid):
            self._look(dependent)
        for owner in self._graph.owners(obj.metadata):
            if owner is not None and owner.waits_for_dependents:
                self._look(owner)

    def _look(self, item: Item) -> None:
        self.queue.add(("", item.metadata.uid))

    # The decisions.

    async def reconcile(self, key: Key) -> float | None:
        """Delete an object that has no owner left, or advance one that is being deleted."""
        item = self._graph.get(key[1])
        if item is None:
            return None
        if item.orphans_dependents:
            await self._orphan(item)
        elif item.waits_for_dependents:
            await self._await_dependents(item)
        elif not item.deleting and item.metadata.owner_references:
            await self._judge(item)
        return None

    async def _orphan(self, owner: Item) -> None:
        uid = owner.metadata.uid
        for dependent in self._graph.dependents(uid):
            await self._drop_references(dependent, {uid})
        await self._drop_finalizer(owner, ORPHAN_FINALIZER)

    async def _await_dependents(self, owner: Item) -> None:
        uid = owner.metadata.uid
        dependents = self._graph.dependents(uid)
        if not any(one.is_blocking(uid) for one in dependents):
            await self._drop_finalizer(owner, FOREGROUND_FINALIZER)
        for dependent in dependents:
            if not dependent.deleting:
                self._look(dependent)

    async def _judge(self, item: Item) -> None:
        solid, lost, waiting = [], set(), set()
        for reference in item.metadata.owner_references:
            owner = self._graph.get(reference.uid)
            if owner is None and await self._is_absent(reference, item.metadata.namespace):
                lost.add(reference.uid)
            elif owner is not None and owner.waits_for_dependents:
                waiting.add(reference.uid)
            else:
                solid.append(reference)
        if solid:
            if lost or waiting:
                await self._drop_references(item, lost | waiting)
            return
        if waiting and self._graph.dependents(item.metadata.uid):
            policy = FOREGROUND
        elif ORPHAN_FINALIZER in item.metadata.finalizers:
            policy = ORPHAN
        elif FOREGROUND_FINALIZER in item.metadata.finalizers:
            policy = FOREGROUND
        else:
            policy = BACKGROUND
        await self.writer.delete(item.resource, item, policy=policy, unchanged=True)

    async def _is_absent(self, reference: OwnerReference, namespace: str) -> bool:
        """Return whether the server no longer has an owner that is not in the graph."""
        place = await self._places.find(reference.api_version, reference.kind)
        if place is None:
            # The kind may be served again later, so the owner cannot be assumed to be gone.
            return False
        resource, namespaced = place
        if namespaced and not namespace:
            return False
        try:
            path = namespace if namespaced else ""
            found = await self.writer.get(resource, path, reference.name)
        except ApiError as error:
            if error.is_not_found:
                return True
            raise
        return bool(found["metadata"]["uid"] != reference.uid)

    async def _drop_references(self, item: Item, uids: set[str]) -> None:
        kept = [
            msgspec.to_builtins(one)
            for one in item.metadata.owner_references
            if one.uid not in uids
        ]
        await self._change(item, {"ownerReferences": kept or None})

    async def _drop_finalizer(self, item: Item, finalizer: str) -> None:
        kept = [one for one in item.metadata.finalizers if one != finalizer]
        await self._change(item, {"finalizers": kept or None})

    async def _change(self, item: Item, metadata: dict[str, Any]) -> None:
        known = item.metadata
        patch = {"metadata": {"resourceVersion": known.resource_version, **metadata}}
        try:
            await self.writer.patch(
                item.resource, known.namespace, known.name, patch, patch_type=MERGE
            )
        except ApiError as error:
            if not error.is_not_found:
                raise

    async def close(self) -> None:
        """Stop."""
        await super().close()
        for factory in self._custom.values():
            await factory.close()
