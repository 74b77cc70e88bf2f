"""PodDisruptionBudgets: how many more pods may be disrupted now."""

# kubernetes: pkg/controller/disruption/disruption.go

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from mooring.api import CustomResource, Pod, PodDisruptionBudget, Selector, parse_time
from mooring.controllers import controlled_pods, owners, status_conditions
from mooring.controllers.controlled_kinds import BUDGETS, DEPLOYMENTS, REPLICA_SETS, STATEFUL_SETS
from mooring.controllers.controller import Controller, ControllerContext, itself
from mooring.controllers.deployment_sets import scaled
from mooring.controllers.rest_mapper import RestMapper
from mooring.controllers.work_queue import Key
from mooring.controllers.writer import Object
from mooring.errors import ApiError

#: disruption.go: DeletionTimeout. An allowed eviction that is not visible by then is forgotten.
DELETION_SECONDS = 120.0
ALLOWED = "DisruptionAllowed"


class DisruptionController(Controller):
    """The controller that keeps the status of each budget, on which evictions depend."""

    name = "controllermanager"

    def __init__(self, context: ControllerContext) -> None:
        super().__init__(context)
        self._places = RestMapper(context.client)
        self._budgets = self.watch(PodDisruptionBudget, itself)
        self._pods = self.watch(Pod, self._budgets_of, self._size)
        self._sets = self.watch(REPLICA_SETS, self._budgets_there)
        self._deployments = self.watch(DEPLOYMENTS, self._budgets_there)
        self._stateful = self.watch(STATEFUL_SETS, self._budgets_there)

    def _budgets_of(self, pod: Pod) -> Iterable[Key]:
        for budget in self._budgets.list(pod.metadata.namespace):
            if _selector(budget).matches(pod.metadata.labels):
                yield budget.metadata.namespace, budget.metadata.name

    def _size(self, key: Key) -> int:
        return self.context.store(Pod).count(key[0])

    def _budgets_there(self, workload: CustomResource) -> Iterable[Key]:
        for budget in self._budgets.list(workload.metadata.namespace):
            yield budget.metadata.namespace, budget.metadata.name

    async def reconcile(self, key: Key) -> float | None:
        """Count a budget's pods and write its status."""
        budget: PodDisruptionBudget | None = self._budgets.get(key[1], key[0])
        if budget is None:
            return None
        selector = _selector(budget)
        mine = [
            pod
            for pod in self._pods.list(key[0])
            if selector.matches(pod.metadata.labels) and not pod.is_finished
        ]
        expected, desired = await self._expect(budget, mine)
        disrupted, again = self._disrupted(budget, mine)
        healthy = sum(
            controlled_pods.is_ready(pod)
            and not pod.is_terminating
            and pod.metadata.name not in disrupted
            for pod in mine
        )
        allowed = max(0, healthy - desired) if expected > 0 else 0
        status: Object = {
            "observedGeneration": budget.metadata.generation,
            "disruptionsAllowed": allowed,
            "currentHealthy": healthy,
            "desiredHealthy": desired,
            "expectedPods": expected,
        }
        if disrupted:
            status["disruptedPods"] = disrupted
        await self._write_status(budget, status)
        return again

    async def _expect(self, budget: PodDisruptionBudget, mine: list[Pod]) -> tuple[int, int]:
        """Return how many pods are expected, and how many must be healthy."""
        spec = budget.spec
        if spec.max_unavailable is not None:
            expected = await self._scale(mine)
            return expected, max(0, expected - scaled(spec.max_unavailable, expected, up=True))
        least = spec.min_available
        if isinstance(least, str):
            expected = await self._scale(mine)
            return expected, scaled(least, expected, up=True)
        return len(mine), 1 if least is None else least

    async def _scale(self, mine: list[Pod]) -> int:
        """Return how many pods the controllers of these pods ask for."""
        found: dict[str, int] = {}
        for pod in mine:
            reference = owners.controller_of(pod)
            if reference is None or reference.uid in found:
                continue
            owner: Any = None
            if reference.kind == "ReplicaSet":
                owner = self._sets.get(reference.name, pod.metadata.namespace)
                above = owners.controller_of(owner) if owner is not None else None
                if above is not None and above.kind == "Deployment":
                    reference = above
                    owner = self._deployments.get(above.name, pod.metadata.namespace)
            elif reference.kind == "StatefulSet":
                owner = self._stateful.get(reference.name, pod.metadata.namespace)
            if owner is not None:
                found[reference.uid] = owner.get("spec.replicas", 1)
            else:
                scale = await self._ask_scale(reference, pod.metadata.namespace)
                if scale is not None:
                    found[reference.uid] = scale
        return sum(found.values())

    async def _ask_scale(self, reference: Any, namespace: str) -> int | None:
        """Return the scale of a custom resource from the server; None if it has none."""
        place = await self._places.find(reference.api_version, reference.kind)
        if place is None:
            return None
        try:
            found = await self.writer.get(place[0], namespace, reference.name, "scale")
        except ApiError as error:
            if error.status in (404, 405):
                return None
            raise
        scale: int = (found.get("spec") or {}).get("replicas", 0)
        return scale

    def _disrupted(
        self, budget: PodDisruptionBudget, mine: list[Pod]
    ) -> tuple[dict[str, str], float | None]:
        """Return the pods whose allowed eviction is not visible yet, and the seconds to wait."""
        now = self.context.clock.wall_time()
        there = {pod.metadata.name: pod for pod in mine}
        kept: dict[str, str] = {}
        again: float | None = None
        for name, when in budget.status.disrupted_pods.items():
            pod = there.get(name)
            left = parse_time(when) + DELETION_SECONDS - now
            if pod is not None and not pod.is_terminating and left > 0:
                kept[name] = when
                again = left if again is None else min(again, left)
        return kept, again

    async def _write_status(self, budget: PodDisruptionBudget, status: Object) -> None:
        enough = status["disruptionsAllowed"] > 0
        known = budget.status
        old = {
            "observedGeneration": known.observed_generation,
            "disruptionsAllowed": known.disruptions_allowed,
            "currentHealthy": known.current_healthy,
            "desiredHealthy": known.desired_healthy,
            "expectedPods": known.expected_pods,
        }
        if known.disrupted_pods:
            old["disruptedPods"] = known.disrupted_pods  # type: ignore[assignment]
        told = any(
            one.type == ALLOWED and (one.status == "True") == enough for one in known.conditions
        )
        if status == old and told:
            return
        metadata = budget.metadata
        raw = await self.writer.get(BUDGETS, metadata.namespace, metadata.name)
        if raw["metadata"]["resourceVersion"] != metadata.resource_version:
            # An eviction changed the budget, and the informer has not seen the change yet.
            self.queue.add((metadata.namespace, metadata.name))
            return
        status["conditions"] = (raw.get("status") or {}).get("conditions") or []
        reason = "SufficientPods" if enough else "InsufficientPods"
        word = "True" if enough else "False"
        made = status_conditions.make(ALLOWED, word, reason, "", self.context.timestamp())
        status_conditions.put(status, {**made, "observedGeneration": metadata.generation})
        await self.writer.replace(BUDGETS, {**raw, "status": status}, "status")


def _selector(budget: PodDisruptionBudget) -> Selector:
    return Selector.from_label_selector(budget.spec.selector)
