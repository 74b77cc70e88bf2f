"""DefaultSelectors: the selector of the pods that share a pod's services and controller."""

# kube-scheduler: plugins/helper/spread.go

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping

from mooring.api import (
    OwnerReference,
    Pod,
    ReplicaSet,
    ReplicationController,
    Selector,
    Service,
    StatefulSet,
)
from mooring.api.meta import LabelSelector
from mooring.errors import ObjectError
from mooring.framework.handle import Handle

_BY_PAIR = "by-selector-pair"
_MEMO_LIMIT = 8192


def _filing_pair(selector: Mapping[str, str]) -> tuple[str, str]:
    """Return the label to index a service by: the longest value is usually the most specific."""
    return max(selector.items(), key=lambda pair: (len(pair[1]), pair))


def _service_keys(service: Service) -> Iterable[Hashable]:
    selector = service.spec.selector
    return ((service.metadata.namespace, *_filing_pair(selector)),) if selector else ()


def _controller(pod: Pod) -> OwnerReference | None:
    for owner in pod.metadata.owner_references:
        if owner.controller:
            return owner
    return None


class DefaultSelectors:
    """The selectors of pods' siblings, cached until a service or controller changes."""

    def __init__(self, handle: Handle) -> None:
        self._services = handle.lister(Service)
        self._controllers = handle.lister(ReplicationController)
        self._replica_sets = handle.lister(ReplicaSet)
        self._stateful_sets = handle.lister(StatefulSet)
        self._services.add_index(_BY_PAIR, _service_keys)
        self._memo: dict[Hashable, Selector] = {}
        self._versions: tuple[int, ...] = ()

    def of(self, pod: Pod) -> Selector:
        """Return the selector; EVERYTHING if no service or controller selects the pod."""
        versions = (
            self._services.version,
            self._controllers.version,
            self._replica_sets.version,
            self._stateful_sets.version,
        )
        if versions != self._versions or len(self._memo) >= _MEMO_LIMIT:
            self._memo.clear()
            self._versions = versions
        meta = pod.metadata
        owner = _controller(pod) if meta.owner_references else None
        key = (
            meta.namespace,
            frozenset(meta.labels.items()),
            owner and (owner.api_version, owner.kind, owner.name),
        )
        selector = self._memo.get(key)
        if selector is None:
            selector = self._memo[key] = self._work_out(pod, owner)
        return selector

    def _work_out(self, pod: Pod, owner: OwnerReference | None) -> Selector:
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        merged: dict[str, str] = {}
        for key, value in labels.items():
            for service in self._services.by_index(_BY_PAIR, (namespace, key, value)):
                wanted = service.spec.selector
                if wanted.items() <= labels.items():
                    merged.update(wanted)
        if owner is None:
            return Selector.from_map(merged)
        kind = (owner.api_version, owner.kind)
        selected: LabelSelector | None = None
        if kind == ("v1", "ReplicationController"):
            controller = self._controllers.get(owner.name, namespace)
            if controller is not None:
                merged.update(controller.spec.selector)
        elif kind == ("apps/v1", "ReplicaSet"):
            replica_set = self._replica_sets.get(owner.name, namespace)
            selected = None if replica_set is None else replica_set.spec.selector
        elif kind == ("apps/v1", "StatefulSet"):
            stateful_set = self._stateful_sets.get(owner.name, namespace)
            selected = None if stateful_set is None else stateful_set.spec.selector
        selector = Selector.from_map(merged)
        try:
            return selector.add(*Selector.from_label_selector(selected).requirements)
        except ObjectError:
            # A controller with a malformed selector selects nothing.
            return selector
