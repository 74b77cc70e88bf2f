"""Elastic quotas of scheduling.x-k8s.io: what the running pods of each namespace use."""

# scheduler-plugins: pkg/controllers/elasticquota_controller.go

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import ElasticQuota, Pod
from mooring.api.containers import Container
from mooring.api.quantity import Quantity
from mooring.client.resources import raw_resource
from mooring.controllers.component_events import NORMAL
from mooring.controllers.controller import Controller, ControllerContext
from mooring.controllers.work_queue import Key

ELASTIC_QUOTAS = raw_resource(ElasticQuota)


class ElasticQuotaController(Controller):
    """The controller that writes what each elastic quota's namespace uses."""

    name = "ElasticQuotaController"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = self.watch(Pod, _of_namespace)
        self._quotas = self.watch(ElasticQuota, _of_namespace)

    async def reconcile(self, key: Key) -> float | None:
        """Write the use of a namespace into its quota; only the first of several is used."""
        namespace = key[0]
        quotas = sorted(self._quotas.list(namespace), key=lambda one: str(one.metadata.name))
        if not quotas:
            return None
        quota: ElasticQuota = quotas[0]
        used = usage(quota, self._pods.list(namespace))
        if used == {name: Quantity(text) for name, text in quota.status.used.items()}:
            return None
        patch = {"status": {"used": {name: str(amount) for name, amount in used.items()}}}
        name = quota.metadata.name
        await self.writer.patch_if_there(ELASTIC_QUOTAS, namespace, name, patch, "status")
        text = f"Elastic Quota {namespace}/{name} synced successfully"
        self.events.record(quota, NORMAL, "Synced", text)
        return None


def usage(quota: ElasticQuota, pods: Iterable[Pod]) -> dict[str, Quantity]:
    """Return what the running pods request, and 0 for each resource that the quota names."""
    used = {name: Quantity(0) for name in {**(quota.spec.min or {}), **(quota.spec.max or {})}}
    for pod in pods:
        if pod.status.phase == "Running":
            for name, amount in _requests(pod).items():
                used[name] = used.get(name, Quantity(0)) + amount
    return used


def _requests(pod: Pod) -> dict[str, Quantity]:
    """Return the sum over containers, but at least what each init container requests.

    The original does not count a pod's overhead.
    """
    total: dict[str, Quantity] = {}
    for container in pod.spec.containers:
        for name, amount in _of_container(container):
            total[name] = total.get(name, Quantity(0)) + amount
    for container in pod.spec.init_containers:
        for name, amount in _of_container(container):
            total[name] = max(total.get(name, Quantity(0)), amount)
    return total


def _of_container(container: Container) -> Iterable[tuple[str, Quantity]]:
    for name, text in container.resources.requests.items():
        yield name, Quantity(text)


def _of_namespace(obj: Pod | ElasticQuota) -> Iterable[Key]:
    yield obj.metadata.namespace, ""
