"""Resource quotas: the usage by which the API server admits objects."""

# kubernetes: pkg/controller/resourcequota/resource_quota_controller.go

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import msgspec

from mooring.api import CustomResource, PersistentVolumeClaim, Pod, Service
from mooring.api.quantity import Quantity
from mooring.apiserver import quota
from mooring.controllers.controlled_kinds import QUOTAS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object
from mooring.errors import ApiError
from mooring.informers.store import EventHandler

#: Seconds until objects of kinds that are not watched are counted again.
RECOUNT_SECONDS = 5.0
_WATCHED = frozenset({"pods", "services", "persistentvolumeclaims"})
_COUNT = "count/"


@dataclass(frozen=True, slots=True)
class _Counted:
    """A resource whose objects quotas count."""

    name: str
    group: str = ""

    @property
    def store(self) -> str:
        """Return the key of the resource in the API server's store."""
        return f"{self.group}/{self.name}"


class ResourceQuotaController(Controller):
    """The controller that keeps the status of each quota."""

    name = "resourcequota-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._quotas = self.watch(QUOTAS, _if_unknown)
        # New objects need no handler: the API server adds them to the usage when it admits them.
        for kind in (Pod, Service, PersistentVolumeClaim):
            handler = EventHandler(on_update=self._changed, on_delete=self._gone)
            context.informers.informer(kind).add_handler(handler)

    def _changed(self, old: Any, new: Any) -> None:
        if not isinstance(new, Pod) or (new.is_finished and not old.is_finished):
            self._gone(new)

    def _gone(self, obj: Any) -> None:
        for one in self._quotas.list(obj.metadata.namespace):
            self.queue.add((one.metadata.namespace, one.metadata.name))

    async def reconcile(self, key: Key) -> float | None:
        """Count the resources that a quota limits, and write its status."""
        known: CustomResource | None = self._quotas.get(key[1], key[0])
        if known is None:
            return None
        found = await self.writer.get(QUOTAS, *key)
        hard: dict[str, str] = (found.get("spec") or {}).get("hard") or {}
        counted = set(_counted(hard))
        used = dict.fromkeys(hard, Quantity(0))
        for kind in counted:
            async for obj in self._objects(kind, key[0]):
                if not quota.in_scope(kind, found, obj):
                    continue
                for name, amount in quota.usage(kind, obj).items():
                    if name in used:
                        used[name] += amount
        status = {"hard": hard, "used": {name: str(amount) for name, amount in used.items()}}
        if status != found.get("status"):
            await self.writer.replace(QUOTAS, found | {"status": status}, "status")
        watched = all(not one.group and one.name in _WATCHED for one in counted)
        return None if watched else RECOUNT_SECONDS

    async def _objects(self, kind: _Counted, namespace: str) -> Any:
        """Yield the objects of a kind; none if the server does not know it."""
        client = self.context.client
        try:
            prefix = "/api/v1"
            if kind.group:
                group = msgspec.json.decode(await client.request("GET", f"/apis/{kind.group}"))
                prefix = f"/apis/{group['preferredVersion']['groupVersion']}"
            path = f"{prefix}/namespaces/{namespace}/{kind.name}"
            items: list[Object] = msgspec.json.decode(await client.request("GET", path))["items"]
        except ApiError as error:
            if not error.is_not_found:
                raise
            return
        for obj in items:
            yield obj


def _if_unknown(found: CustomResource) -> Iterable[Key]:
    """Return the key of a quota whose status does not match its spec."""
    if found.get("spec.hard", {}) != found.get("status.hard", {}) or not found.get("status.used"):
        yield from itself(found)


def _counted(hard: Iterable[str]) -> Iterator[_Counted]:
    """Yield the kinds whose objects count towards a quota's resources."""
    for name in hard:
        if name.startswith(_COUNT):
            plural, _, group = name.removeprefix(_COUNT).partition(".")
            yield _Counted(plural, group)
        elif name == "services" or name.startswith("services."):
            yield _Counted("services")
        elif name == "persistentvolumeclaims" or quota.is_of_claims(name):
            yield _Counted("persistentvolumeclaims")
        elif name in quota.ALIASES:
            yield _Counted(name)
        else:
            yield _Counted("pods")
