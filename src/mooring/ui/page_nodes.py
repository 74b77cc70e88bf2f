"""The nodes of a snapshot as a page shows them: whole columns, and the rows that have changed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from mooring.api import Condition, Node
from mooring.framework.nodes import Nodes

#: Labels with more distinct values than this make no useful groups.
MOST_GROUPS = 64
#: Resources that every cluster has, in this order; others follow by name.
_FIRST = ("cpu", "memory", "pods")

#: A row of `NodeTable.rows`: row, cordoned, not ready, then allocatable and requested of each
#: resource.
ChangedRow = list[int | bool]


class NodeTable:
    """The columns of all nodes. `version` grows when anything but amounts has changed.

    Owned by the event loop of the scheduler whose snapshot it shows.
    """

    def __init__(self, snapshot: Callable[[], Nodes]) -> None:
        self._snapshot = snapshot
        self.version = 0
        self._generation = -1
        #: The node objects that `version` is about, by row.
        self._known: list[Node] = []
        self._resources: Sequence[str] = ()

    @property
    def generation(self) -> int:
        """Return the generation of the snapshot."""
        return self._snapshot().generation

    def update(self) -> None:
        """Take note of what has changed; call it before `version` is compared."""
        nodes = self._snapshot()
        rows = nodes.changed_since(self._generation)
        self._generation = nodes.generation
        infos = nodes.infos()
        if rows is None or len(self._known) != len(infos):
            found = [info.node for info in infos]
            is_same = len(found) == len(self._known) and all(map(_is_alike, found, self._known))
            self._known = found
        else:
            is_same = True
            for row in set(rows):
                is_same &= _is_alike(infos[row].node, self._known[row])
                self._known[row] = infos[row].node
        if not is_same:
            self.version += 1
            self._resources = _resources(self._known)

    def whole(self) -> dict[str, Any]:
        """Return all columns."""
        self.update()
        nodes = self._snapshot()
        return {
            "version": self.version,
            "generation": self._generation,
            "names": list(nodes.names),
            "cordoned": nodes.unschedulable.tolist(),
            "notReady": [unready_condition(node) is not None for node in self._known],
            "resources": [
                {
                    "name": resource,
                    "allocatable": nodes.allocatable(resource).tolist(),
                    "requested": _requested(nodes, resource).tolist(),
                }
                for resource in self._resources
            ],
            "labels": _labels(self._known),
        }

    def rows(self, generation: int) -> list[ChangedRow] | None:
        """Return the rows that have changed after a generation; None if that is not known."""
        nodes = self._snapshot()
        changed = nodes.changed_since(generation)
        if changed is None:
            return None
        some = nodes.select(nodes.rows_of(nodes.names[row] for row in sorted(set(changed))))
        assert some.rows is not None
        rows = some.rows.tolist()
        infos = nodes.infos()
        columns: list[list[Any]] = [
            rows,
            some.unschedulable.tolist(),
            [unready_condition(infos[row].node) is not None for row in rows],
        ]
        for resource in self._resources:
            columns.append(some.allocatable(resource).tolist())
            columns.append(_requested(some, resource).tolist())
        return [list(row) for row in zip(*columns, strict=True)]


def unready_condition(node: Node) -> Condition | None:
    """Return the condition that makes `kubectl get nodes` print NotReady; None if there is none.

    A node that no kubelet reports has no conditions, and is not called NotReady.
    """
    ready = (one for one in node.status.conditions if one.type == "Ready")
    return next((one for one in ready if one.status != "True"), None)


def _is_alike(one: Node, other: Node) -> bool:
    """Return whether two node objects differ in nothing that `version` is about."""
    return one is other or (
        one.metadata.name == other.metadata.name
        and one.metadata.labels == other.metadata.labels
        and one.status.allocatable.keys() == other.status.allocatable.keys()
    )


def _resources(nodes: Sequence[Node]) -> list[str]:
    found = {name for node in nodes for name in node.status.allocatable}
    return [name for name in _FIRST if name in found] + sorted(found.difference(_FIRST))


def _requested(nodes: Nodes, resource: str) -> Any:
    return nodes.pod_count if resource == "pods" else nodes.requested(resource)


def _labels(nodes: Sequence[Node]) -> dict[str, list[str | None]]:
    """Return the labels that divide the nodes into a few groups, with each node's value."""
    counts: dict[str, Counter[str]] = {}
    for node in nodes:
        for key, value in node.metadata.labels.items():
            counts.setdefault(key, Counter())[value] += 1
    return {
        key: [node.metadata.labels.get(key) for node in nodes]
        for key, values in sorted(counts.items())
        if len(values) <= MOST_GROUPS and (len(values) < len(nodes) or len(nodes) < 2)
    }
