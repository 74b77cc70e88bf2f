"""StatefulSets: numbered pods, one after the other, each with claims of its own."""

# kubernetes: pkg/controller/statefulset/stateful_set_control.go

from __future__ import annotations

from collections.abc import Iterable

from mooring.api import CustomResource, PersistentVolumeClaim, Pod
from mooring.controllers import controlled_pods, owners, stateful_pods
from mooring.controllers.component_events import NORMAL, WARNING
from mooring.controllers.controlled_kinds import CLAIMS, PODS, STATEFUL_SETS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.deployment_sets import scaled
from mooring.controllers.revisions import HASH_LABEL, Revisions, template_of
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object
from mooring.errors import ApiError


class StatefulSetController(Controller):
    """The controller that keeps the numbered pods of each StatefulSet, in order."""

    name = "statefulset-controller"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._sets = self.watch(STATEFUL_SETS, itself)
        self._pods = self.watch(Pod, self._owners)
        owners.index_by_controller(self._pods)
        self._claims = context.store(PersistentVolumeClaim)
        self._revisions = Revisions(self, "StatefulSet")

    def _owners(self, pod: Pod) -> Iterable[Key]:
        return owners.keys_for(pod, "StatefulSet", self._sets)

    async def reconcile(self, key: Key) -> float | None:
        """Make the next change that the order of pods allows, and write the status."""
        owner: CustomResource | None = self._sets.get(key[1], key[0])
        if owner is None:
            return None
        mine = [
            pod
            for pod in await owners.claim(self.writer, owner, PODS, self._pods)
            if stateful_pods.ordinal_of(owner, pod) >= 0
        ]
        if owner.metadata.deletion_timestamp is not None:
            return None
        update = await self._revisions.current(owner)
        known = {one.metadata.name: one for one in self._revisions.all(owner)}
        known[update.metadata.name] = update
        current = known.get(owner.get("status.currentRevision", ""), update)
        try:
            await self._step(owner, mine, current, update)
        finally:
            await self._write_status(owner, mine, current, update)
        live = {pod.metadata.labels.get(HASH_LABEL, "") for pod in mine}
        await self._revisions.clean_up(owner, live | {current.metadata.name, update.metadata.name})
        seconds = owner.get("spec.minReadySeconds", 0)
        return controlled_pods.until_available(mine, seconds, self.context.clock.wall_time())

    async def _step(
        self,
        owner: CustomResource,
        mine: list[Pod],
        current: CustomResource,
        update: CustomResource,
    ) -> None:
        first = stateful_pods.first_ordinal(owner)
        numbers = range(first, first + owner.get("spec.replicas", 1))
        ordered = owner.get("spec.podManagementPolicy") != "Parallel"
        by_number = {stateful_pods.ordinal_of(owner, pod): pod for pod in mine}
        for number in numbers:
            settled = await self._tend(owner, by_number.get(number), number, current, update)
            if not settled and ordered:
                return
        condemned = sorted((one for one in by_number if one not in numbers), reverse=True)
        for number in condemned:
            pod = by_number[number]
            if not pod.is_terminating:
                await self._delete(owner, pod)
            if ordered:
                return
        if not condemned:
            await self._roll(owner, [by_number.get(number) for number in numbers], update)

    async def _tend(
        self,
        owner: CustomResource,
        pod: Pod | None,
        number: int,
        current: CustomResource,
        update: CustomResource,
    ) -> bool:
        """Create or replace the pod of one number if needed; return whether it is available."""
        if pod is None:
            revision = update if number >= self._partition(owner) else current
            await self._create(owner, number, revision)
            return False
        if pod.is_finished and not pod.is_terminating:
            await self._delete(owner, pod)
            return False
        return not pod.is_terminating and self._is_available(owner, pod)

    def _is_available(self, owner: CustomResource, pod: Pod) -> bool:
        seconds = owner.get("spec.minReadySeconds", 0)
        running = pod.status.phase == "Running"
        return running and controlled_pods.is_available(
            pod, seconds, self.context.clock.wall_time()
        )

    def _partition(self, owner: CustomResource) -> int:
        """Return the lowest number that gets the new template."""
        if owner.get("spec.updateStrategy.type", "RollingUpdate") != "RollingUpdate":
            return 0
        found: int = owner.get("spec.updateStrategy.rollingUpdate.partition", 0)
        return found

    async def _roll(
        self, owner: CustomResource, replicas: list[Pod | None], update: CustomResource
    ) -> None:
        """Delete pods of an old template, highest number first, as many as may be unavailable."""
        if owner.get("spec.updateStrategy.type", "RollingUpdate") != "RollingUpdate":
            return
        allowed = owner.get("spec.updateStrategy.rollingUpdate.maxUnavailable", 1)
        room = max(1, scaled(allowed, len(replicas), up=True))
        partition = self._partition(owner)
        for pod in reversed(replicas):
            if pod is None or stateful_pods.ordinal_of(owner, pod) < partition or room <= 0:
                return
            old = pod.metadata.labels.get(HASH_LABEL) != update.metadata.name
            if old and not pod.is_terminating:
                await self._delete(owner, pod)
                room -= 1
            elif pod.is_terminating or not self._is_available(owner, pod):
                room -= 1

    async def _create(self, owner: CustomResource, number: int, revision: CustomResource) -> None:
        for claim in stateful_pods.make_claims(owner, number):
            await self._create_claim(owner, claim)
        template = template_of(revision)
        pod = stateful_pods.make_pod(owner, number, template, revision.metadata.name)
        name = pod["metadata"]["name"]
        what = f"create Pod {name} in StatefulSet {owner.metadata.name}"
        try:
            await self.writer.create(PODS, pod)
        except ApiError as error:
            if error.is_already_exists:
                raise
            text = f"{what} failed error: {error}"
            self.events.record(owner, WARNING, "FailedCreate", text)
            raise
        self.events.record(owner, NORMAL, "SuccessfulCreate", f"{what} successful")

    async def _create_claim(self, owner: CustomResource, claim: Object) -> None:
        metadata = claim["metadata"]
        if self._claims.get(metadata["name"], metadata["namespace"]) is not None:
            return
        try:
            await self.writer.create(CLAIMS, claim)
        except ApiError as error:
            if not error.is_already_exists:
                raise
            return
        pod = metadata["name"].partition(f"-{owner.metadata.name}-")[2]
        text = (
            f"create Claim {metadata['name']} Pod {owner.metadata.name}-{pod} "
            f"in StatefulSet {owner.metadata.name} success"
        )
        self.events.record(owner, NORMAL, "SuccessfulCreate", text)

    async def _delete(self, owner: CustomResource, pod: Pod) -> None:
        await self.writer.delete(PODS, pod)
        text = f"delete Pod {pod.metadata.name} in StatefulSet {owner.metadata.name} successful"
        self.events.record(owner, NORMAL, "SuccessfulDelete", text)

    async def _write_status(
        self,
        owner: CustomResource,
        mine: list[Pod],
        current: CustomResource,
        update: CustomResource,
    ) -> None:
        def at(revision: CustomResource) -> int:
            name = revision.metadata.name
            return sum(
                pod.metadata.labels.get(HASH_LABEL) == name and not pod.is_terminating
                for pod in mine
            )

        ready = [
            pod for pod in mine if pod.status.phase == "Running" and controlled_pods.is_ready(pod)
        ]
        wanted = owner.get("spec.replicas", 1)
        done = at(update) == len(mine) == len(ready) == wanted
        # Once the update is complete, the update revision is the current one.
        # stateful_set_utils.go, completeRollingUpdate
        current = update if done else current
        status: Object = {
            "observedGeneration": owner.metadata.generation,
            "replicas": len(mine),
            "readyReplicas": len(ready),
            "availableReplicas": sum(self._is_available(owner, pod) for pod in ready),
            "currentReplicas": at(current),
            "updatedReplicas": at(update),
            "currentRevision": current.metadata.name,
            "updateRevision": update.metadata.name,
            "collisionCount": owner.get("status.collisionCount", 0),
        }
        always = ("replicas", "availableReplicas", "collisionCount")
        status = {key: value for key, value in status.items() if value or key in always}
        if status != (owner.raw.get("status") or {}):
            await self.writer.replace(STATEFUL_SETS, {**owner.raw, "status": status}, "status")
