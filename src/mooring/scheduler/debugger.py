"""Debugger: logs the contents of cache and queue on SIGUSR2, and compares them with the informers.

# kube-scheduler: backend/cache/debugger
"""

from __future__ import annotations

import logging
from collections.abc import Iterable

from mooring.api import Node, Pod
from mooring.framework.node_info import NodeInfo
from mooring.informers.factory import InformerFactory
from mooring.observe.logs import kv
from mooring.queue.queued_pod_info import Place
from mooring.scheduler.scheduler import Scheduler

log = logging.getLogger(__name__)


class Debugger:
    """A dumper and comparer of cache and queue. Called on the scheduling loop."""

    def __init__(self, scheduler: Scheduler, informers: InformerFactory) -> None:
        self._scheduler = scheduler
        self._informers = informers

    def dump(self) -> None:
        """Write the contents of cache and queue to the log, between two cycles."""
        self._scheduler.inbox.post(self._dump)

    def _dump(self) -> None:
        self.compare()
        cache = self._scheduler.cache
        nodes = "\n".join(_describe(info) for info in cache.nodes.infos())
        log.info("Dump of cached NodeInfo", extra=kv(nodes=nodes))
        queue = self._scheduler.queue
        pending = [pod.key for place in Place for pod in queue.pods_in(place)]
        log.info(
            "Dump of scheduling queue",
            extra=kv(summary=queue.summary(), pods="\n".join(pending)),
        )

    def compare(self) -> None:
        """Compare the cache with the informers and log what differs."""
        log.info("Cache comparer started")
        cache = self._scheduler.cache
        nodes = [node.metadata.name for node in self._informers.lister(Node).list()]
        _report("Nodes", nodes, cache.nodes.names)
        pods = [pod.metadata.uid for pod in self._pods() if pod.spec.node_name]
        _report("Pods", pods, [info.uid for info in cache.pods])
        log.info("Cache comparer finished")

    def _pods(self) -> Iterable[Pod]:
        return self._informers.lister(Pod).list()


def _report(what: str, actual: Iterable[str], cached: Iterable[str]) -> None:
    real, known = set(actual), set(cached)
    if real != known:
        differing = {
            f"missed{what}": sorted(real - known),
            f"redundant{what}": sorted(known - real),
        }
        log.info("Cache mismatch", extra=kv(**differing))


def _describe(info: NodeInfo) -> str:
    pods = ", ".join(pod.key for pod in info.pods.values())
    return (
        f"Node name: {info.name}; Requested Resources: {info.requested}; "
        f"Allocatable Resources: {info.allocatable}; "
        f"Scheduled Pods(number: {len(info.pods)}): {pods}"
    )
