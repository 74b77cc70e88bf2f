"""Disruption budgets: which victims would violate one.

# kube-scheduler: framework/preemption/util.go (FilterVictimsWithPDBViolation); in 1.36
# plugins/defaultpreemption/default_preemption.go (filterPodsWithPDBViolation)
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from mooring.api import PodDisruptionBudget
from mooring.api.labels import Selector
from mooring.errors import ObjectError
from mooring.framework.pod_info import PodInfo


class Budgets:
    """The cluster's PodDisruptionBudgets, with selectors compiled."""

    def __init__(
        self, budgets: Iterable[PodDisruptionBudget], *, stop_at_exceeded: bool = True
    ) -> None:
        #: Whether a pod does not count against further budgets once it exceeds one.
        self._stop_at_exceeded = stop_at_exceeded
        self._by_namespace: dict[str, list[tuple[PodDisruptionBudget, Selector]]] = {}
        # By name, so that the same victims are chosen each time; kube-scheduler uses any order.
        for budget in sorted(budgets, key=lambda one: one.metadata.name):
            try:
                selector = Selector.from_label_selector(budget.spec.selector)
            except ObjectError:
                continue
            # An empty selector matches nothing here, unlike elsewhere.
            if not selector.empty:
                self._by_namespace.setdefault(budget.metadata.namespace, []).append(
                    (budget, selector)
                )

    def __bool__(self) -> bool:
        return bool(self._by_namespace)

    def split(self, pods: Sequence[PodInfo]) -> tuple[list[PodInfo], list[PodInfo]]:
        """Return (violating, others); each pod, in order, uses one disruption of its budgets."""
        violating: list[PodInfo] = []
        others: list[PodInfo] = []
        used: dict[int, int] = {}
        for pod in pods:
            (violating if self._use(pod, used) else others).append(pod)
        return violating, others

    def violations(self, pods: Sequence[PodInfo], used: dict[int, int]) -> int:
        """Return how many pods exceed a budget if they go too.

        `used` holds the disruptions that the pods of earlier calls have used, and is updated.
        """
        return sum(self._use(pod, used) for pod in pods)

    def _use(self, info: PodInfo, used: dict[int, int]) -> bool:
        """Count the pod against the budgets that cover it; return whether one is exceeded."""
        meta = info.pod.metadata
        violates = False
        for budget, selector in self._by_namespace.get(meta.namespace, ()) if meta.labels else ():
            if not selector.matches(meta.labels) or meta.name in budget.status.disrupted_pods:
                continue
            count = used[id(budget)] = used.get(id(budget), 0) + 1
            violates |= count > budget.status.disruptions_allowed
            if violates and self._stop_at_exceeded:
                break
        return violates
