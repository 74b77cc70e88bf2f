"""A cluster in memory: the objects, and the scheduler's cache of them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mooring.api import (
    CompositePodGroup,
    CustomResource,
    FinishedPod,
    KubeObject,
    Node,
    Pod,
    WorkloadPodGroup,
    find_kind,
)
from mooring.api.kinds import KINDS
from mooring.cache.cache import Cache
from mooring.errors import ObjectError
from mooring.framework.listers import Lister
from mooring.framework.pod_groups import PodGroups
from mooring.framework.pod_info import PodInfos
from mooring.informers.store import EventHandler, Store
from mooring.queue.nominator import PodNominator


class MemoryCluster:
    """The stores of all objects, and a cache and nominator that follow them.

    Pods that have succeeded or failed are in a store of their own (FinishedPod), because a
    scheduler does not list them as Pod.
    """

    def __init__(
        self,
        pod_infos: PodInfos,
        objects: Iterable[KubeObject] = (),
        pod_groups: PodGroups | None = None,
    ) -> None:
        self._stores: dict[Any, Store[Any]] = {kind.struct: Store() for kind in KINDS}
        for kind in KINDS:
            self._stores[kind.resource] = self._stores[kind.struct]
        self.pods: Store[Pod] = self._stores[Pod]
        self._finished: Store[Pod] = Store()
        self._stores[FinishedPod] = self._finished
        self.nodes: Store[Node] = self._stores[Node]
        self.cache = Cache(pod_infos, pod_groups)
        self.nominator = PodNominator(pod_infos, self.pods)
        self.nodes.add_handler(
            EventHandler(
                on_add=self.cache.add_node,
                on_update=lambda _, node: self.cache.update_node(node),
                on_delete=lambda node: self.cache.remove_node(node.metadata.name),
            )
        )
        self.pods.add_handler(
            EventHandler(
                on_add=self._pod_added, on_update=self._pod_updated, on_delete=self._pod_deleted
            )
        )
        if pod_groups is not None:
            handler: EventHandler[Any] = EventHandler(
                on_add=pod_groups.set_group,
                on_update=lambda _, group: pod_groups.set_group(group),
                on_delete=pod_groups.remove_group,
            )
            self._stores[WorkloadPodGroup].add_handler(handler)
            if pod_groups.has_composites:
                self._stores[CompositePodGroup].add_handler(handler)
        for obj in objects:
            self.add(obj)

    def store(self, kind: type[KubeObject] | str) -> Store[Any]:
        """Return the store of a kind; a custom resource is named "plural.version.group"."""
        found = self._stores.get(kind)
        if found is None:
            if not isinstance(kind, str):
                raise ObjectError(f"{kind.__name__} is not in the table of kinds")
            found = self._stores[kind] = Store()
        return found

    def watch(self, kind: type[KubeObject] | str, handler: EventHandler[Any]) -> None:
        """Report every object of a kind, and every change from now on, to a handler."""
        self.store(kind).add_handler(handler)

    def lister(self, kind: type[KubeObject] | str) -> Lister[Any]:
        """Return read access to a kind."""
        return self.store(kind)

    def store_of(self, obj: KubeObject) -> Store[Any]:
        """Return the store an object belongs in."""
        if isinstance(obj, CustomResource):
            group, _, version = obj.api_version.rpartition("/")
            known = find_kind(obj.api_version, obj.kind)
            plural = known.plural if known else f"{obj.kind.lower()}s"
            return self.store(f"{plural}.{version}.{group}")
        return self.store(type(obj))

    def add(self, obj: KubeObject) -> None:
        """Add an object, or replace the object of the same name."""
        if isinstance(obj, Pod) and obj.is_finished:
            self.pods.delete(obj.metadata.name, obj.metadata.namespace)
            self._finished.add(obj)
            return
        if isinstance(obj, Pod):
            self._finished.delete(obj.metadata.name, obj.metadata.namespace)
        self.store_of(obj).add(obj)

    def delete(self, obj: KubeObject) -> None:
        """Remove an object if it exists."""
        finished = isinstance(obj, Pod) and obj.is_finished
        store = self._finished if finished else self.store_of(obj)
        store.delete(obj.metadata.name, obj.metadata.namespace)

    # What the informers of a live scheduler do.

    def _pod_added(self, pod: Pod) -> None:
        if pod.spec.node_name:
            self.cache.add_pod(pod)
        else:
            self.nominator.add(pod)

    def _pod_updated(self, old: Pod, new: Pod) -> None:
        if new.metadata.uid != old.metadata.uid:
            self._pod_deleted(old)
            self._pod_added(new)
        elif new.spec.node_name:
            self.nominator.delete(new.metadata.uid)
            self.cache.update_pod(new)
        elif not self.cache.is_assumed(new.metadata.uid):
            self.nominator.update(old, new)

    def _pod_deleted(self, pod: Pod) -> None:
        if pod.spec.node_name or self.cache.is_assumed(pod.metadata.uid):
            self.cache.remove_pod(pod.metadata.uid)
        self.nominator.delete(pod.metadata.uid)
