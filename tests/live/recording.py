"""Two plugins that implement every point, record their calls, and fail if a pod says so.

For example, the annotation `Second.permit: wait 0.5` makes plugin Second answer `wait 0.5` at
Permit, on the pod's first attempt only.
"""

from __future__ import annotations

import asyncio
import json
from typing import Any

import msgspec

from mooring import ActionType, ClusterEvent, EventResource, Nominate, Plugin, PreFlight, Status

REFUSED = "{} refused at {}"
BROKEN = "{} broke at {}"
#: Exceptions that do not derive from Exception, by name.
LEAVING = {
    kind.__name__: kind
    for kind in (SystemExit, KeyboardInterrupt, GeneratorExit, asyncio.CancelledError)
}


class First(Plugin):
    """A plugin at every point."""

    class Args(msgspec.Struct, kw_only=True):
        """The file that calls are written to."""

        journal: str

    def __init__(self, args: Any = None, handle: Any = None) -> None:
        super().__init__(args, handle)
        self._journal = open(args.journal, "a", buffering=1, encoding="utf-8")  # noqa: SIM115
        #: Attempts so far, by pod.
        self._attempts: dict[str, int] = {}

    async def close(self) -> None:
        self._journal.close()

    def events_to_register(self) -> list[ClusterEvent]:
        return [ClusterEvent(EventResource.ASSIGNED_POD, ActionType.DELETE)]

    def pre_enqueue(self, pod: Any) -> Any:
        if pod.metadata.uid in self._attempts:
            return None
        answer = self._answer(pod, "pre_enqueue")
        self._attempts[pod.metadata.uid] = 0
        return answer

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> Any:
        self._attempts[pod.metadata.uid] += 1
        return self._answer(pod, "pre_filter")

    def filter(self, state: Any, pod: Any, node: Any) -> Any:
        return self._answer(pod, "filter", node.name)

    def post_filter(self, state: Any, pod: Any, statuses: Any) -> Any:
        return self._answer(pod, "post_filter") or Status.unschedulable()

    def pre_score(self, state: Any, pod: Any, nodes: Any) -> Any:
        return self._answer(pod, "pre_score")

    def score(self, state: Any, pod: Any, node: Any) -> Any:
        return self._answer(pod, "score", node.name) or 1

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        return scores if (answer := self._answer(pod, "normalize_score")) is None else answer

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer(pod, "reserve", node_name)

    def unreserve(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer(pod, "unreserve", node_name)

    def permit(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer(pod, "permit", node_name)

    def pre_bind_pre_flight(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer(pod, "pre_bind_pre_flight", node_name) or PreFlight()

    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer(pod, "pre_bind", node_name)

    async def bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer(pod, "bind", node_name) or Status.skip()

    def post_bind(self, state: Any, pod: Any, node_name: str) -> Any:
        return self._answer(pod, "post_bind", node_name)

    def _answer(self, pod: Any, point: str, node: str = "") -> Any:
        self._note(pod, point, node)
        wanted = pod.metadata.annotations.get(f"{self.name}.{point}", "")
        if self._attempts.get(pod.metadata.uid, 1) != 1:
            return None
        how, _, what = wanted.partition(" ")
        refused = REFUSED.format(self.name, point)
        match how:
            case "refuse":
                return Status.unschedulable(refused)
            case "resolve":
                return Status.unresolvable(refused)
            case "error":
                return Status.error(BROKEN.format(self.name, point))
            case "raise":
                raise ValueError(BROKEN.format(self.name, point))
            case "leave":
                raise LEAVING[what](BROKEN.format(self.name, point))
            case "wait":
                return Status.wait(float(what))
            case "skip":
                return Status.skip()
            case "nominate":
                return Nominate(what)
            case "nonsense":
                return "nonsense"
        return None

    def _note(self, pod: Any, point: str, node: str) -> None:
        call = {"pod": pod.key, "plugin": self.name, "point": point, "node": node}
        self._journal.write(json.dumps(call) + "\n")


class Second(First):
    """A second such plugin; it registers for node events, and allows pods waiting at its Permit."""

    def events_to_register(self) -> list[ClusterEvent]:
        return [ClusterEvent(EventResource.NODE, ActionType.UPDATE_NODE_LABEL)]

    def reserve(self, state: Any, pod: Any, node_name: str) -> Any:
        for waiting in self.handle.waiting_pods():
            match waiting.pod.metadata.annotations.get("then"):
                case "allow":
                    waiting.allow(self.name)
                case "reject":
                    waiting.reject(self.name, REFUSED.format(self.name, "last"))
                case "preempt":
                    waiting.preempt(self.name, "preempted")
        return super().reserve(state, pod, node_name)


class Sort(Plugin):
    """A plugin that orders the queue by name, in descending order."""

    def less(self, a: Any, b: Any) -> bool:
        return bool(a.pod.metadata.name > b.pod.metadata.name)
