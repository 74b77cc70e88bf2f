"""RecordedExtender: an extender that gives the answers of a journal and asks nobody."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence

from mooring.api import Pod
from mooring.config.types import Extender as ExtenderConfig
from mooring.errors import ExtenderError, safe_url
from mooring.extenders.extender_arguments import requests_any
from mooring.framework.extender import ExtenderFilterResult, Victims
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes
from mooring.journal.entries import ExtenderAnswer

FILTER = "filter"
PRIORITIZE = "prioritize"
PREEMPT = "preempt"

NO_ANSWER = 'the journal holds no answer of extender "{}" to {} about this attempt'


class RecordedExtender:
    """An extender of a recorded attempt (`framework.extender.Extender`).

    With `lenient`, for rules other than the recorded ones, it accepts nodes that it was not asked
    about.
    """

    def __init__(self, config: ExtenderConfig, *, lenient: bool = False) -> None:
        self.name = safe_url(config.url_prefix)
        self.weight = config.weight
        self.ignorable = config.ignorable
        self.is_filter = bool(config.filter_verb)
        self.is_prioritizer = bool(config.prioritize_verb)
        self.is_binder = bool(config.bind_verb)
        self.supports_preemption = bool(config.preempt_verb)
        self._managed = frozenset(resource.name for resource in config.managed_resources)
        self._lenient = lenient
        self._answers: dict[str, deque[ExtenderAnswer]] = {}

    def expect(self, answers: Iterable[ExtenderAnswer]) -> None:
        """Replace the answers by those of the attempt that is decided next."""
        self._answers = {}
        for answer in answers:
            if safe_url(answer.extender) == self.name:
                self._answers.setdefault(answer.verb, deque()).append(answer)

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the extender manages all resources, or one that the pod requests."""
        return not self._managed or requests_any(pod, self._managed)

    def _answer(self, verb: str) -> ExtenderAnswer | None:
        """Return the next answer; None if there is none and that is accepted."""
        left = self._answers.get(verb)
        if not left:
            if self._lenient:
                return None
            raise ExtenderError(NO_ANSWER.format(self.name, verb))
        # With other rules it may be asked more often: the last answer counts again.
        answer = left[0] if self._lenient and len(left) == 1 else left.popleft()
        if answer.error:
            raise ExtenderError(answer.error)
        return answer

    async def filter(self, pod: Pod, nodes: Sequence[NodeInfo]) -> ExtenderFilterResult:
        """Return the recorded verdict."""
        answer = self._answer(FILTER)
        if answer is None:
            return ExtenderFilterResult(tuple(node.name for node in nodes), {}, {})
        passed, failed, unresolvable = answer.answer
        if self._lenient:
            known = {*passed, *failed, *unresolvable}
            passed = [*passed, *(node.name for node in nodes if node.name not in known)]
        return ExtenderFilterResult(tuple(passed), failed, unresolvable)

    async def prioritize(self, pod: Pod, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        """Return the recorded scores."""
        answer = self._answer(PRIORITIZE)
        scores: Mapping[str, int] = {} if answer is None else answer.answer
        return scores

    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], nodes: Nodes
    ) -> Mapping[str, Victims]:
        """Return the recorded candidates, with their victims."""
        answer = self._answer(PREEMPT)
        if answer is None:
            return victims
        found: dict[str, Victims] = {}
        for name, (uids, violations) in answer.answer.items():
            node = nodes.find(name)
            if node is not None:
                pods = tuple(node.pods[uid].pod for uid in uids if uid in node.pods)
                found[name] = Victims(pods, violations)
        return found

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Do nothing: the journal shows which pods were bound."""
