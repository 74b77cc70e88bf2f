"""What plugins that preempt under a policy of their own have in common."""

from __future__ import annotations

from typing import Any

from mooring import ClusterEvent, CycleState, Handle, Nominate, Plugin, Status
from mooring.api import Pod, PodDisruptionBudget
from mooring.framework.decision import NodeStatuses
from mooring.framework.preemption import PreemptionPolicy, Preemptor


class PreemptingPlugin(Plugin):
    """The base class of a plugin that only preempts; a subclass makes its policy."""

    def __init__(self, args: Any = None, handle: Handle | None = None) -> None:
        super().__init__(args, handle)
        self._preemptor: Preemptor | None = None

    def _make_policy(self) -> PreemptionPolicy:
        """Return the rules of this plugin."""
        return PreemptionPolicy(self.handle)

    def start(self) -> None:
        """Request the informer of disruption budgets, and prepare the machinery of preemption."""
        self.handle.lister(PodDisruptionBudget)
        self._preemptor = self.handle.preemptor(self.name, self._make_policy())

    async def post_filter(
        self, state: CycleState, pod: Pod, statuses: NodeStatuses
    ) -> Nominate | Status:
        """Find a node to clear, remove the victims and nominate it."""
        assert self._preemptor is not None
        return await self._preemptor.preempt(state, pod, statuses)

    def events_to_register(self) -> list[ClusterEvent]:
        """Return no event: the plugins that refused the pod know what helps it."""
        return []
