"""What the page shows, as plain data: all of it is read from a scheduler that only reads."""

from __future__ import annotations

import secrets
from collections.abc import Callable
from typing import Any

import msgspec

from mooring.errors import ObjectError
from mooring.explain.data import answer_data
from mooring.explain.live_examination import examine_now
from mooring.framework.node_info import NodeInfo
from mooring.framework.pod_info import PodInfo
from mooring.ui.page_leader import PageLeader
from mooring.ui.page_nodes import NodeTable, unready_condition
from mooring.ui.page_source import PageSource
from mooring.ui.pending_pods import PendingPodList
from mooring.ui.seen_decisions import SeenDecision

#: Entries of one page of a list.
PAGE_SIZE = 100
#: Results of a search, for pods and for nodes.
MOST_FOUND = 20
#: Decisions in one message to the page.
MOST_AT_ONCE = 500


class LiveCursor(msgspec.Struct):
    """What a reader of the changes has been told."""

    version: int
    generation: int
    sequence: int
    #: The revision of the decisions (`SeenDecisions.revision`).
    revision: int
    #: What it was told of the whole cluster.
    summary: dict[str, Any] = msgspec.field(default_factory=dict)


class PageData:
    """The data of the page. Owned by the event loop of the scheduler."""

    def __init__(
        self,
        source: PageSource,
        *,
        rules: str,
        server: str,
        past: Callable[[], dict[str, Any]] | None = None,
        leader: PageLeader | None = None,
    ) -> None:
        """Show a source; `past` tells the moment of a journal, `leader` adds the leader's data."""
        self._source = source
        self._past = past
        self._leader = leader
        self._scheduler = source.scheduler
        self._rules = rules
        self._server = server
        #: Numbers of another process mean nothing here.
        self._epoch = secrets.token_hex(4)
        self._pods = source.pods
        self._pending = PendingPodList(self._pods)
        self.nodes = NodeTable(lambda: self._scheduler.cache.nodes)
        self.decisions = source.decisions

    # The whole cluster.

    def about(self) -> dict[str, Any]:
        """Return what does not change: the cluster, the rules, their profiles, the moment."""
        return {
            "server": self._server,
            "rules": self._rules,
            "past": None if self._past is None else self._past(),
            "profiles": [
                {
                    "name": profile.name,
                    "weights": {step.name: step.weight for step in profile.score},
                }
                for profile in self._scheduler.profiles.values()
            ],
        }

    def summary(self) -> dict[str, Any]:
        """Return the state of the whole cluster in a few numbers."""
        return {
            "nodes": len(self._scheduler.cache.nodes),
            "pods": len(self._scheduler.cache.pods),
            "pending": len(self._pending),
            "failure": self._source.failure,
            "lostSince": self._source.lost_since,
            "unread": self._source.unread,
            "leader": None if self._leader is None else self._leader.state,
        }

    # Nodes and pods.

    def node(self, name: str) -> dict[str, Any]:
        """Return one node with its pods; raise ObjectError if there is none."""
        info = self._scheduler.cache.nodes.find(name)
        if info is None:
            raise ObjectError(f'there is no node "{name}"')
        return _node(info)

    async def pending(self, text: str, offset: int) -> dict[str, Any]:
        """Return a page of the pods without a node, with their places in the leader's queue."""
        found = self._pending.page(text, offset, PAGE_SIZE)
        places, problem = await self._places()
        for pod in found["pods"]:
            pod["place"] = places.get(f"{pod['namespace']}/{pod['name']}", "")
        return {**found, "problem": problem}

    async def place(self, namespace: str, name: str) -> dict[str, str]:
        """Return where a pod is in the leader's queue; "problem" says why that is unknown."""
        places, problem = await self._places()
        return {"place": places.get(f"{namespace}/{name}", ""), "problem": problem}

    async def _places(self) -> tuple[dict[str, str], str]:
        return ({}, "") if self._leader is None else await self._leader.places()

    def search(self, text: str) -> dict[str, Any]:
        """Return the nodes and pods whose names contain a text."""
        nodes = [name for name in self._scheduler.cache.nodes.names if text in name]
        pods: list[dict[str, str]] = []
        for pod in self._pods.list():
            if text in pod.key:
                pods.append(
                    {
                        "namespace": pod.metadata.namespace,
                        "name": pod.metadata.name,
                        "node": pod.spec.node_name,
                    }
                )
                if len(pods) == MOST_FOUND:
                    break
        return {"nodes": sorted(nodes)[:MOST_FOUND], "pods": pods}

    async def explain(self, namespace: str, name: str) -> dict[str, Any]:
        """Return what `mooring explain -o json` prints; raise ObjectError if there is no pod."""
        pod = self._pods.get(name, namespace)
        if pod is None:
            raise ObjectError(f'there is no pod "{name}" in namespace {namespace}')
        found = await examine_now(self._scheduler, pod)
        return answer_data(
            found,
            rules=self._rules,
            unread=self._source.unread,
            current=pod.spec.node_name,
        )

    async def explain_attempt(
        self, namespace: str, name: str, attempt: int | None
    ) -> dict[str, Any] | str:
        """Return the leader's explanation of an attempt, or why there is none.

        `attempt` is None for the last one. Raise LeaderBusyError if the leader must be asked later,
        and MooringError if a numbered attempt cannot be explained.
        """
        if self._leader is None:
            if attempt is not None:
                raise ObjectError("no leader is asked, so attempts are not known")
            return ""
        return await self._leader.explain(namespace, name, attempt)

    # Changes.

    def newest_decisions(self) -> list[SeenDecision]:
        """Return the newest decisions, oldest first."""
        self.decisions.settle()
        return self.decisions.after(0, MOST_AT_ONCE)

    def whole_nodes(self) -> dict[str, Any]:
        """Return the columns of all nodes, and the mark from which changes follow."""
        table = self.nodes.whole()
        decisions = self.decisions
        cursor = LiveCursor(
            self.nodes.version, self.nodes.generation, decisions.last, decisions.revision
        )
        return {"mark": self.mark(cursor), **table}

    def mark(self, cursor: LiveCursor) -> str:
        """Return a cursor as text, which a reader sends to continue."""
        numbers = (cursor.version, cursor.generation, cursor.sequence, cursor.revision)
        return ".".join([self._epoch, *map(str, numbers)])

    def cursor(self, mark: str) -> LiveCursor:
        """Return the cursor of a mark; one that nothing has been told to if it is not ours."""
        epoch, *numbers = mark.split(".")
        if epoch == self._epoch and len(numbers) == 4 and all(map(str.isdecimal, numbers)):
            version, generation, sequence, revision = map(int, numbers)
            return LiveCursor(version, generation, sequence, revision)
        return LiveCursor(-1, -1, 0, 0)

    def changes(self, cursor: LiveCursor) -> dict[str, Any] | None:
        """Return what has happened since a cursor, and move it; None if nothing has.

        "reset" says that the columns of the nodes must be read again; "allDecisions" replaces all
        decisions that were sent before.
        """
        message = {
            **self._node_changes(cursor),
            **self._new_decisions(cursor),
        }
        summary = self.summary()
        if summary != cursor.summary:
            cursor.summary = message["summary"] = summary
        return message or None

    def _node_changes(self, cursor: LiveCursor) -> dict[str, Any]:
        table = self.nodes
        table.update()
        before, cursor.generation = cursor.generation, table.generation
        rows = table.rows(before) if cursor.version == table.version else None
        if rows is None:
            cursor.version = table.version
            return {"reset": table.generation}
        if not rows:
            return {}
        return {
            "nodes": {
                "version": table.version,
                "after": before,
                "generation": table.generation,
                "rows": rows,
            }
        }

    def _new_decisions(self, cursor: LiveCursor) -> dict[str, Any]:
        decisions = self.decisions
        decisions.settle()
        before, cursor.sequence = cursor.sequence, decisions.last
        if cursor.revision != decisions.revision:
            cursor.revision = decisions.revision
            return {"allDecisions": decisions.after(0, MOST_AT_ONCE)}
        found = decisions.after(before, MOST_AT_ONCE)
        return {"decisions": found} if found else {}


def _node(info: NodeInfo) -> dict[str, Any]:
    unready = unready_condition(info.node)
    return {
        "name": info.name,
        "cordoned": info.unschedulable,
        "notReady": unready
        and {
            "reason": ": ".join(filter(None, (unready.reason, unready.message))),
            "since": unready.last_transition_time or "",
        },
        "labels": dict(info.labels),
        "taints": [taint.to_string() for taint in info.taints],
        "allocatable": info.allocatable,
        "requested": {**info.requested, "pods": len(info.pods)},
        "pods": [_pod(pod) for pod in info.pods.values()],
    }


def _pod(info: PodInfo) -> dict[str, Any]:
    pod = info.pod
    return {
        "namespace": pod.metadata.namespace,
        "name": pod.metadata.name,
        "priority": pod.priority,
        "requests": dict(info.requests),
    }
