"""DeviceJudge: what must be true of devices, claims and the pods that use them."""

from __future__ import annotations

from collections.abc import Iterator

from tests.soak.api_server import ApiServer
from tests.soak.object_store import Json

CLAIMS = "/apis/resource.k8s.io/v1/resourceclaims"
CLASSES = "/apis/resource.k8s.io/v1/deviceclasses"
SLICES = "/apis/resource.k8s.io/v1/resourceslices"

#: Driver, pool and name of a device.
Device = tuple[str, str, str]


class DeviceJudge:
    """A check of every change of claims, and of every bind of a pod that uses some.

    A device belongs to one claim at most, an allocation does not change while it is reserved, and a
    pod is bound only where all its claims are allocated, and reserved for it.
    """

    def __init__(self, server: ApiServer) -> None:
        self._store = server.store
        self.violations: list[str] = []
        self._check_room = server.before_bind
        server.before_bind = self._bound
        server.store.listen(self._changed)

    def _changed(self, collection: str) -> None:
        if collection != CLAIMS:
            return
        owners: dict[Device, str] = {}
        for claim in self._store.list(CLAIMS):
            name = claim["metadata"]["name"]
            for device in devices_of(claim):
                if device in owners:
                    self.violations.append(f"{device} is allocated to {owners[device]} and {name}")
                owners[device] = name
        for change in self._store.since(CLAIMS, self._store.version - 1):
            before = list(devices_of(change.before or {}))
            if before and before != list(devices_of(change.object)) and users_of(change.object):
                name = change.object["metadata"]["name"]
                self.violations.append(f"the allocation of {name} changed while it was reserved")

    def _bound(self, pod: Json, node_name: str) -> None:
        self._check_room(pod, node_name)
        meta = pod["metadata"]
        for entry in pod["spec"].get("resourceClaims", ()):
            name = entry["resourceClaimName"]
            claim = self._store.get(CLAIMS, name, meta["namespace"])
            pools = {pool for _, pool, _ in devices_of(claim)}
            if pools != {node_name}:
                self.violations.append(
                    f"{meta['name']} was bound to {node_name}, {name} is {pools}"
                )
            if meta["uid"] not in users_of(claim):
                self.violations.append(f"{meta['name']} was bound, {name} is not reserved for it")


def devices_of(claim: Json) -> Iterator[Device]:
    """Yield the devices that are allocated to a claim."""
    allocation = claim.get("status", {}).get("allocation") or {}
    for result in allocation.get("devices", {}).get("results", ()):
        yield result["driver"], result["pool"], result["device"]


def users_of(claim: Json) -> set[str]:
    """Return the uids of the pods that a claim is reserved for."""
    return {user["uid"] for user in claim.get("status", {}).get("reservedFor") or ()}
