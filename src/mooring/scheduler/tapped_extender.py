"""TappedExtender: an extender whose answers in scheduling cycles the taps hear of."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mooring.api import Pod
from mooring.framework.extender import Extender, ExtenderFilterResult, Victims
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.framework.plugin_errors import error_message
from mooring.scheduler.taps import Taps


class TappedExtender:
    """An extender (`framework.extender.Extender`) that tells the taps what it answers."""

    def __init__(self, extender: Extender, taps: Taps) -> None:
        self._extender = extender
        self._taps = taps
        self.name = extender.name
        self.weight = extender.weight
        self.ignorable = extender.ignorable
        self.is_filter = extender.is_filter
        self.is_prioritizer = extender.is_prioritizer
        self.is_binder = extender.is_binder
        self.supports_preemption = extender.supports_preemption

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the extender manages all resources, or one that the pod requests."""
        return self._extender.is_interested(pod)

    async def filter(self, pod: Pod, nodes: Sequence[NodeInfo]) -> ExtenderFilterResult:
        """Return the verdict on which nodes fit; the taps get its three parts as a list."""
        try:
            result = await self._extender.filter(pod, nodes)
        except Exception as error:
            self._failed("filter", pod, error)
            raise
        parts = [result.feasible, result.failed, result.failed_and_unresolvable]
        self._answered("filter", pod, parts)
        return result

    async def prioritize(self, pod: Pod, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        """Return a score from 0 to 10 by node name."""
        try:
            scores = await self._extender.prioritize(pod, nodes)
        except Exception as error:
            self._failed("prioritize", pod, error)
            raise
        self._answered("prioritize", pod, scores)
        return scores

    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], nodes: Nodes
    ) -> Mapping[str, Victims]:
        """Return the acceptable candidates; the taps get the uids of the victims on each."""
        try:
            accepted = await self._extender.process_preemption(pod, victims, nodes)
        except Exception as error:
            self._failed("preempt", pod, error)
            raise
        answer = {
            node: [[victim.metadata.uid for victim in those.pods], those.pdb_violations]
            for node, those in accepted.items()
        }
        self._answered("preempt", pod, answer)
        return accepted

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Bind the pod; raise on failure."""
        await self._extender.bind(pod, node_name)

    def _answered(self, verb: str, pod: Pod, answer: Any) -> None:
        self._taps.extender_answered(self.name, verb, pod, answer, "")

    def _failed(self, verb: str, pod: Pod, error: Exception) -> None:
        self._taps.extender_answered(self.name, verb, pod, None, error_message(error))
