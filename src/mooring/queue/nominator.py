"""Nominator: which pending pods are nominated to which nodes.

Preemption frees room on a node, but the victims need time to terminate. Until then the pod is
nominated to the node, and pods of the same or lower priority may not use that room.

# kube-scheduler: backend/queue/nominator.go
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice

from mooring.api import Pod
from mooring.framework.listers import Lister
from mooring.framework.pod_info import PodInfo, PodInfos

#: The number of changes that are remembered.
MAX_CHANGES = 4096


class PodNominator:
    """Nominations by node and by pod. They override `nominatedNodeName` in a pod's status."""

    def __init__(self, pod_infos: PodInfos, pods: Lister[Pod] | None = None) -> None:
        self._pod_infos = pod_infos
        #: Used to check that a pod still exists and is still pending; None: no check.
        self._pods = pods
        self._by_node: dict[str, dict[str, PodInfo]] = {}
        self._node_of: dict[str, str] = {}
        #: Incremented with every change.
        self.version = 0
        #: The nodes of the latest changes, oldest first.
        self._changed: deque[str] = deque(maxlen=MAX_CHANGES)

    def nominated_on(self, node_name: str) -> Sequence[PodInfo]:
        """Return the pods nominated to a node, in the order of their nomination."""
        return tuple(self._by_node.get(node_name, {}).values())

    def nodes(self) -> Iterable[str]:
        """Return the names of the nodes that have nominated pods."""
        return self._by_node.keys()

    def node_of(self, uid: str) -> str:
        """Return the node a pod is nominated to, or ""."""
        return self._node_of.get(uid, "")

    def changed_since(self, version: int) -> Sequence[str] | None:
        """Return the nodes whose nominations changed after a version, the latest change first.

        A node may be there twice. Return None if the changes are not remembered any more.
        """
        changes = self.version - version
        if changes > len(self._changed):
            return None
        return list(islice(reversed(self._changed), changes))

    def add(self, pod: Pod, node_name: str = "") -> None:
        """Nominate a pod to a node, by default the one in its status.

        Any earlier nomination is dropped. If neither names a node, or if the pod no longer exists
        or is bound, there is no new one.
        """
        uid = pod.metadata.uid
        self.delete(uid)
        node_name = node_name or pod.status.nominated_node_name
        if not node_name:
            return
        if self._pods is not None:
            found = self._pods.get(pod.metadata.name, pod.metadata.namespace)
            if found is None or found.spec.node_name:
                return
        self._node_of[uid] = node_name
        self._by_node.setdefault(node_name, {})[uid] = self._pod_infos.of(pod)
        self._note(node_name)

    def update(self, old: Pod, new: Pod) -> None:
        """Replace a pod object.

        If neither object names a node, the nomination in memory was not written yet: keep it.
        """
        kept = ""
        if not old.status.nominated_node_name and not new.status.nominated_node_name:
            kept = self._node_of.get(old.metadata.uid, "")
        self.delete(old.metadata.uid)
        self.add(new, kept)

    def delete(self, uid: str) -> None:
        """Drop a pod's nomination, if it has one."""
        node_name = self._node_of.pop(uid, None)
        if node_name is None:
            return
        pods = self._by_node[node_name]
        del pods[uid]
        if not pods:
            del self._by_node[node_name]
        self._note(node_name)

    def _note(self, node_name: str) -> None:
        self.version += 1
        self._changed.append(node_name)
