"""ReplicaSets: a given number of pods of one template."""

# kubernetes: pkg/controller/replicaset/replica_set.go

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import CustomResource, Pod, Selector
from mooring.controllers import controlled_pods, owners, status_conditions
from mooring.controllers.component_events import NORMAL, WARNING
from mooring.controllers.controlled_kinds import PODS, REPLICA_SETS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.expectations import Expectations, in_batches
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object

# replica_set.go: BurstReplicas
BURST = 500


class ReplicaSetController(Controller):
    """The controller that keeps the number of pods that each ReplicaSet asks for."""

    name = "replicaset-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._sets = self.watch(REPLICA_SETS, itself)
        self._pods = self.watch(Pod, self._owners, self._size)
        owners.index_by_controller(self._pods)
        self._expectations = Expectations(self._pods, context.clock)

    def _owners(self, pod: Pod) -> Iterable[Key]:
        return owners.keys_for(pod, "ReplicaSet", self._sets)

    def _size(self, key: Key) -> int:
        return owners.count(self.context.store(Pod), self._sets.get(key[1], key[0]))

    async def reconcile(self, key: Key) -> float | None:
        """Create or delete pods, and write the status."""
        replica_set: CustomResource | None = self._sets.get(key[1], key[0])
        if replica_set is None:
            return None
        fulfilled = self._expectations.fulfilled(replica_set.metadata.uid)
        mine: list[Pod] = await owners.claim(self.writer, replica_set, PODS, self._pods)
        active = [pod for pod in mine if controlled_pods.is_active(pod)]
        failure = None
        if fulfilled and replica_set.metadata.deletion_timestamp is None:
            failure = await self._manage(replica_set, active)
        await self._write_status(replica_set, active, failure)
        if failure is not None:
            raise failure
        seconds = replica_set.get("spec.minReadySeconds", 0)
        return controlled_pods.until_available(active, seconds, self.context.clock.wall_time())

    async def _manage(self, owner: CustomResource, active: list[Pod]) -> Exception | None:
        excess = len(active) - owner.get("spec.replicas", 1)
        if excess < 0:
            count = min(-excess, BURST)
            return await in_batches([lambda: self._create(owner)] * count)
        if excess == 0:
            return None
        going = controlled_pods.first_to_go(active)[: min(excess, BURST)]
        return await in_batches([lambda pod=pod: self._delete(owner, pod) for pod in going])  # type: ignore[misc]

    async def _create(self, owner: CustomResource) -> None:
        prefix = f"{owner.metadata.name}-"
        name = controlled_pods.generate_name(prefix, self.context.random)
        pod = controlled_pods.pod_of(
            owner.raw["spec"]["template"], owner, name, generateName=prefix
        )
        try:
            creating = self.writer.create(PODS, pod)
            await self._expectations.create(owner.metadata.uid, name, creating)
        except Exception as error:
            self.events.record(owner, WARNING, "FailedCreate", f"Error creating: {error}")
            raise
        self.events.record(owner, NORMAL, "SuccessfulCreate", f"Created pod: {name}")

    async def _delete(self, owner: CustomResource, pod: Pod) -> None:
        deleting = self.writer.delete(PODS, pod)
        await self._expectations.delete(owner.metadata.uid, pod.metadata.uid, deleting)
        self.events.record(owner, NORMAL, "SuccessfulDelete", f"Deleted pod: {pod.metadata.name}")

    async def _write_status(
        self, owner: CustomResource, active: list[Pod], failure: Exception | None
    ) -> None:
        now = self.context.clock.wall_time()
        seconds = owner.get("spec.minReadySeconds", 0)
        labels = Selector.from_map(owner.get("spec.template.metadata.labels", {}))
        old = owner.raw.get("status") or {}
        new: Object = {
            "replicas": len(active),
            "fullyLabeledReplicas": sum(labels.matches(pod.metadata.labels) for pod in active),
            "readyReplicas": sum(map(controlled_pods.is_ready, active)),
            "availableReplicas": sum(
                controlled_pods.is_available(pod, seconds, now) for pod in active
            ),
            "observedGeneration": owner.metadata.generation,
            "conditions": old.get("conditions") or [],
        }
        if failure is None:
            status_conditions.remove(new, "ReplicaFailure")
        else:
            too_few = len(active) < owner.get("spec.replicas", 1)
            reason = "FailedCreate" if too_few else "FailedDelete"
            when = self.context.timestamp()
            new_condition = status_conditions.make(
                "ReplicaFailure", "True", reason, str(failure), when
            )
            status_conditions.put(new, new_condition)
        new = {key: value for key, value in new.items() if value or key == "replicas"}
        if new != old:
            await self.writer.replace(REPLICA_SETS, {**owner.raw, "status": new}, "status")
