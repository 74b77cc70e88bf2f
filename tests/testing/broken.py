"""Plugins that each break one rule of the contract."""

from __future__ import annotations

import asyncio
import random
from typing import Any

import msgspec
import numpy as np
import pytest

from mooring import Plugin, PluginError, Status
from mooring.testing import check_plugin

BUSY = Status.unschedulable("node(s) were busy")
NO_CPU = Status.unschedulable("node(s) lacked the label cpu=true")


def check(plugin: type[Plugin], message: str) -> None:
    """Assert that a plugin is refused, by name and with a message."""
    with pytest.raises(PluginError, match=message) as caught:
        check_plugin(plugin)
    assert caught.value.plugin == plugin.name


class Misspelt(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> None: ...

    def pre_bnd(self, state: Any, pod: Any, node_name: str) -> None: ...


class ArgsThatGrow(Plugin):
    class Args(msgspec.Struct):
        seconds: int = 5

        def __post_init__(self) -> None:
            self.seconds *= 1000

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


class ArgsThatDoNotLoad(Plugin):
    class Args(msgspec.Struct):
        seconds: int = "5"  # type: ignore[assignment]

    def filter(self, state: Any, pod: Any, node: Any) -> None: ...


class ChangesItsArgs(Plugin):
    class Args(msgspec.Struct):
        seen: int = 0

    def filter(self, state: Any, pod: Any, node: Any) -> None:
        self.args.seen += 1


class RollsDice(Plugin):
    def score(self, state: Any, pod: Any, node: Any) -> int:
        return random.randint(0, 100)


class Remembers(Plugin):
    """A filter that refuses a node for a pod the second time."""

    def __init__(self, args: Any = None, handle: Any = None) -> None:
        super().__init__(args, handle)
        self._seen: set[tuple[str, str]] = set()

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        if (pod.uid, node.name) in self._seen:
            return BUSY
        self._seen.add((pod.uid, node.name))
        return None


class FiltersDiffer(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return None if node.labels.get("cpu") == "true" else NO_CPU

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield NO_CPU, ~nodes.has_label("cpu")


class CodesDiffer(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return BUSY if node.pods else None

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield Status.unresolvable(*BUSY.reasons), nodes.pod_count > 0


class ScoresDiffer(Plugin):
    def score(self, state: Any, pod: Any, node: Any) -> int:
        return len(node.pods)

    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return nodes.pod_count * 2


class ComparesWithThoseAsked(Plugin):
    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        yield BUSY, nodes.pod_count > nodes.pod_count.mean()


class ScoresBySizeOfTheChoice(Plugin):
    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        return np.full(len(nodes), min(len(nodes), 100), dtype=np.int64)


class LikesTheFirstRow(Plugin):
    def score(self, state: Any, pod: Any, node: Any) -> int:
        return 100 if node.row == 0 else 0


class CountsAsks(Plugin):
    """A filter whose second answer about all nodes differs from the first."""

    def filter_nodes(self, state: Any, pod: Any, nodes: Any) -> Any:
        asked = state.get(self.name, 0)
        if nodes.is_all:
            state.write(self.name, asked + 1)
        yield BUSY, np.full(len(nodes), nodes.is_all and asked > 0)


class ScoresTooHigh(Plugin):
    def score(self, state: Any, pod: Any, node: Any) -> int:
        return len(node.pods) * 60


class NormalisesTooHigh(Plugin):
    def score(self, state: Any, pod: Any, node: Any) -> int:
        return len(node.pods)

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        return scores - 1


class NormalisesByCount(Plugin):
    def score_nodes(self, state: Any, pod: Any, nodes: Any) -> int:
        return 7

    def normalize_score(self, state: Any, pod: Any, scores: Any) -> Any:
        return scores + len(scores)


class _CountsPods(Plugin):
    """A filter that refuses every node if the number of pods in the cluster is odd."""

    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
        state.write(self.name, [int(nodes.pod_count.sum())])

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return BUSY if state.read(self.name)[0] % 2 else None


class HasNoAddPod(_CountsPods):
    pass


class HasNoRemovePod(_CountsPods):
    def pre_filter(self, state: Any, pod: Any, nodes: Any) -> None:
        state.write(self.name, _Count(int(nodes.pod_count.sum())))

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return BUSY if state.read(self.name).count % 2 else None

    def add_pod(self, state: Any, pod: Any, other: Any, node: Any) -> None:
        state.read(self.name).count += 1


class SharesItsState(_CountsPods):
    def add_pod(self, state: Any, pod: Any, other: Any, node: Any) -> None:
        state.read(self.name)[0] += 1

    def remove_pod(self, state: Any, pod: Any, other: Any, node: Any) -> None:
        state.read(self.name)[0] -= 1


class _Count:
    def __init__(self, count: int) -> None:
        self.count = count

    def clone(self) -> _Count:
        return _Count(self.count)


class AddPodRaises(_CountsPods):
    def add_pod(self, state: Any, pod: Any, other: Any, node: Any) -> None:
        raise LookupError("no such node")


class _Reserves(Plugin):
    def __init__(self, args: Any = None, handle: Any = None) -> None:
        super().__init__(args, handle)
        self.reserved = 0

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return BUSY if self.reserved > 0 else None

    def reserve(self, state: Any, pod: Any, node_name: str) -> None:
        self.reserved += 1


class UnreservesTwice(_Reserves):
    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        self.reserved -= 1


class ForgetsToUnreserve(_Reserves):
    def unreserve(self, state: Any, pod: Any, node_name: str) -> None: ...


class UnreserveRaises(_Reserves):
    def reserve(self, state: Any, pod: Any, node_name: str) -> None:
        state.write(self.name, node_name)

    def unreserve(self, state: Any, pod: Any, node_name: str) -> None:
        state.read(self.name)
        state.delete(self.name)


class RemembersNodes(Plugin):
    """A filter that reads a node's label once and never again."""

    def __init__(self, args: Any = None, handle: Any = None) -> None:
        super().__init__(args, handle)
        self._found: dict[str, bool] = {}

    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        found = self._found.setdefault(node.name, node.labels.get("cpu") == "true")
        return None if found else NO_CPU


class LessBothWays(Plugin):
    def less(self, a: Any, b: Any) -> bool:
        return a.pod.priority >= b.pod.priority


class OrdersDiffer(Plugin):
    def less(self, a: Any, b: Any) -> bool:
        return a.pod.name < b.pod.name

    def sort_key(self, queued: Any) -> tuple[int]:
        return (-queued.pod.priority,)


class PostBindRaises(Plugin):
    def post_bind(self, state: Any, pod: Any, node_name: str) -> None:
        raise LookupError("no such pod")


class PermitsWithTrue(Plugin):
    def permit(self, state: Any, pod: Any, node_name: str) -> bool:
        return True


class WaitsOutside(Plugin):
    async def pre_bind(self, state: Any, pod: Any, node_name: str) -> None:
        await asyncio.sleep(0)


class FilterRaises(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> None:
        raise LookupError("no such label")


class SignsTooLittle(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> Status | None:
        return BUSY if pod.priority > 5 else None

    def sign_pod(self, pod: Any) -> Any:
        return ()


class ReadsPodsAfterAll(Plugin):
    reads_pods = False

    def score(self, state: Any, pod: Any, node: Any) -> int:
        return min(len(node.pods), 100)


class ReadsPodLabelsAfterAll(Plugin):
    reads_pod_labels = False

    def score(self, state: Any, pod: Any, node: Any) -> int:
        pods = (other.pod for other in node.pods.values())
        return min(100, sum("relabelled" not in pod.metadata.labels.values() for pod in pods))

    def sign_pod(self, pod: Any) -> Any:
        return ()


class SignsWithAList(Plugin):
    def filter(self, state: Any, pod: Any, node: Any) -> None: ...

    def sign_pod(self, pod: Any) -> Any:
        return [pod.priority]
