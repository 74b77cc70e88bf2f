"""Elastic quotas of scheduling.x-k8s.io: what the running pods of each namespace use."""

# scheduler-plugins: pkg/controllers/elasticquota_controller.go

from __future__ import annotations

from collections.abc import Iterable, Mapping

from mooring.api import ElasticQuota, Pod, RequestOptions, pod_requests
from mooring.api.pod_resource_requests import quantity_of
from mooring.api.quantity import Quantity, ResourceList
from mooring.api.quota_requests import (
    SCHEDULER,
    PodRequestsMode,
    counted_amounts,
    sum_of_containers,
)
from mooring.client.resources import raw_resource
from mooring.controllers.component_events import NORMAL
from mooring.controllers.controller import Controller, ControllerContext
from mooring.controllers.work_queue import Key
from mooring.framework.features import FeatureGates

ELASTIC_QUOTAS = raw_resource(ElasticQuota)

_FINISHED = ("Succeeded", "Failed")
#: How a scheduler with the default feature gates counts requests.
_AS_SCHEDULER = RequestOptions.from_gates(FeatureGates().enabled)


class ElasticQuotaController(Controller):
    """The controller that writes what each elastic quota's namespace uses."""

    name = "ElasticQuotaController"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._pods = self.watch(Pod, _of_namespace)
        self._quotas = self.watch(ElasticQuota, _of_namespace)
        self._mode = context.quota_requests

    async def reconcile(self, key: Key) -> float | None:
        """Write the use of a namespace into its quota; only the first of several is used."""
        namespace = key[0]
        quotas = sorted(self._quotas.list(namespace), key=lambda one: str(one.metadata.name))
        if not quotas:
            return None
        quota: ElasticQuota = quotas[0]
        used = usage(quota, self._pods.list(namespace), self._mode())
        if used == {name: Quantity(text) for name, text in quota.status.used.items()}:
            return None
        patch = {"status": {"used": {name: str(amount) for name, amount in used.items()}}}
        name = quota.metadata.name
        await self.writer.patch_if_there(ELASTIC_QUOTAS, namespace, name, patch, "status")
        text = f"Elastic Quota {namespace}/{name} synced successfully"
        self.events.record(quota, NORMAL, "Synced", text)
        return None


def usage(
    quota: ElasticQuota, pods: Iterable[Pod], mode: PodRequestsMode = None
) -> dict[str, Quantity]:
    """Return what the pods of a namespace use, and 0 for each resource that the quota names.

    Pods count as the argument podRequests of CapacityScheduling says. With `SCHEDULER`, these are
    the pods that the plugin counts, otherwise those that run, as in the original.
    """
    used = {name: Quantity(0) for name in {**(quota.spec.min or {}), **(quota.spec.max or {})}}
    for pod in pods:
        if _counts(pod, mode):
            for name, amount in _requests(pod, mode).items():
                used[name] = used.get(name, Quantity(0)) + amount
    return used


def _counts(pod: Pod, mode: PodRequestsMode) -> bool:
    if mode == SCHEDULER:
        return bool(pod.spec.node_name) and pod.status.phase not in _FINISHED
    return pod.status.phase == "Running"


def _requests(pod: Pod, mode: PodRequestsMode) -> Mapping[str, Quantity]:
    if mode != SCHEDULER:
        return sum_of_containers(pod, _quantities)
    amounts = counted_amounts(pod_requests(pod, _AS_SCHEDULER))
    return {name: quantity_of(name, amount) for name, amount in amounts.items()}


def _quantities(resources: ResourceList) -> Mapping[str, Quantity]:
    return {name: Quantity(text) for name, text in resources.items()}


def _of_namespace(obj: Pod | ElasticQuota) -> Iterable[Key]:
    yield obj.metadata.namespace, ""
