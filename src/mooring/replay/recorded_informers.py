"""RecordedInformers: stores of objects that only a journal changes."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import msgspec
from msgspec.structs import replace

from mooring.api import CustomResource, FinishedPod, KubeObject, Pod
from mooring.api.kinds import decode_as, decode_raw
from mooring.api.pod import PodStatus
from mooring.client.resources import find_resource
from mooring.informers.store import Store
from mooring.journal.entries import (
    FINISHED_PODS,
    Change,
    CheckpointObject,
    PodUpdate,
)
from mooring.virtual.memory_cluster import MemoryCluster


def recorded_object(entry: Change | CheckpointObject) -> Any:
    """Return the object of an entry, as the scheduler that wrote the journal held it."""
    return decode_object(entry.kind, entry.object)


def updated_pod(pod: Pod, update: PodUpdate) -> Pod:
    """Return a pod after an update."""
    version, node = update.resource_version, update.node
    if update.labels is None:
        meta = replace(pod.metadata, resource_version=version)
    else:
        meta = replace(pod.metadata, resource_version=version, labels=update.labels)
    spec = pod.spec if pod.spec.node_name == node else replace(pod.spec, node_name=node)
    return replace(pod, metadata=meta, spec=spec, status=_STATUS.decode(update.status))


def decode_object(kind: str, raw: msgspec.Raw) -> Any:
    """Return an object of a kind that a journal names."""
    struct, decoder = _decoder(kind)
    try:
        return decoder.decode(raw)
    except msgspec.ValidationError:
        data = bytes(raw)
        return decode_raw(data) if struct is CustomResource else decode_as(data, struct)


@lru_cache(maxsize=1024)
def _decoder(kind: str) -> tuple[type[Any], msgspec.json.Decoder[Any]]:
    struct: Any = find_resource(recorded_kind(kind)).struct
    return struct, _CUSTOM if struct is CustomResource else msgspec.json.Decoder(struct)


def recorded_kind(kind: str) -> type[KubeObject] | str:
    """Return the kind that a journal names."""
    return FinishedPod if kind == FINISHED_PODS else kind


class _CustomDecoder:
    """A decoder of objects that have no Struct."""

    def decode(self, data: msgspec.Raw) -> CustomResource:
        return decode_raw(bytes(data))


_CUSTOM: Any = _CustomDecoder()
_STATUS = msgspec.json.Decoder(PodStatus)


class RecordedInformers(MemoryCluster):
    """The informers of a scheduler that replays a journal, by kind."""

    #: Objects keep their recorded versions.
    store_type = Store

    def __init__(self) -> None:
        super().__init__()
        self._by_name: dict[str, Store[Any]] = {}
        # A journal begins without objects.
        self.inform()

    def named(self, kind: str) -> Store[Any]:
        """Return the objects of a kind that a journal names."""
        found = self._by_name.get(kind)
        if found is None:
            found = self._by_name[kind] = self.store(recorded_kind(kind))
        return found

    def object_after(self, change: Change | PodUpdate) -> Any:
        """Return the object after a change; None if the change is of a pod that is not known.

        Of a deleted object it is the last known state.
        """
        if isinstance(change, Change):
            return recorded_object(change)
        pod = self.named(change.kind).get(change.name, change.namespace)
        return None if pod is None else updated_pod(pod, change)

    def apply(self, change: Change | PodUpdate, obj: KubeObject) -> bool:
        """Apply a change to the stores; False if it contradicts what they hold."""
        store = self.named(change.kind)
        if change.deleted:
            return store.delete(change.name, change.namespace, last=obj) is not None
        before = len(store)
        store.add(obj)
        return (len(store) == before) == change.known
