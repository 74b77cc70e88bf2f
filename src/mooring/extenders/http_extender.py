"""HttpExtender: one webhook of the configuration.

# kube-scheduler: extender.go
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import msgspec

from mooring.api import Pod
from mooring.config.types import Extender as ExtenderConfig
from mooring.errors import ExtenderError, safe_url
from mooring.extenders.extender_arguments import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderPreemptionArgs,
    MetaPod,
    MetaVictimsDocument,
    VictimsDocument,
    requests_any,
)
from mooring.extenders.extender_documents import node_list_json, pod_json
from mooring.extenders.extender_results import (
    MetaVictims,
    read_binding,
    read_filter,
    read_preemption,
    read_priorities,
)
from mooring.extenders.webhook import Webhook
from mooring.framework.extender import ExtenderFilterResult, Victims
from mooring.framework.node_info import NodeInfo
from mooring.framework.nodes import Nodes

UNKNOWN_NODE = 'extender "{}" claims a filtered node "{}" which is not found in the input node list'
UNKNOWN_VICTIM = (
    "extender: {} claims to preempt pod (UID: &{{{}}}) on node: {}, but the pod is not found on "
    "that node"
)
NO_NODE_INFO = 'nodeinfo not found for node name "{}"'

_Raw = msgspec.Raw


class HttpExtender:
    """A client of one webhook (`framework.extender.Extender`). Failures raise ExtenderError."""

    def __init__(self, config: ExtenderConfig, webhook: Webhook) -> None:
        self.name = safe_url(config.url_prefix)
        self.weight = config.weight
        self.ignorable = config.ignorable
        self.is_filter = bool(config.filter_verb)
        self.is_prioritizer = bool(config.prioritize_verb)
        self.is_binder = bool(config.bind_verb)
        self.supports_preemption = bool(config.preempt_verb)
        self._config = config
        self._webhook = webhook
        self._managed = frozenset(resource.name for resource in config.managed_resources)

    def is_interested(self, pod: Pod) -> bool:
        """Return whether the extender manages all resources, or one that the pod requests."""
        return not self._managed or requests_any(pod, self._managed)

    async def filter(self, pod: Pod, nodes: Sequence[NodeInfo]) -> ExtenderFilterResult:
        """Return the verdict on which nodes fit.

        If the extender returns whole nodes, only their names are used: changes that it made to them
        are ignored.
        """
        body = await self._webhook.post(self._config.filter_verb, self._arguments(pod, nodes))
        answer = read_filter(body)
        if answer.error:
            raise ExtenderError(answer.error)
        feasible = answer.nodes or ()
        if self._config.node_cache_capable and answer.node_names is not None:
            feasible = answer.node_names
            asked = {node.name for node in nodes}
            for name in feasible:
                if name not in asked:
                    raise ExtenderError(UNKNOWN_NODE.format(self.name, name))
        return ExtenderFilterResult(feasible, answer.failed, answer.failed_and_unresolvable)

    async def prioritize(self, pod: Pod, nodes: Sequence[NodeInfo]) -> Mapping[str, int]:
        """Return a score from 0 to 10 by node name; the range is not checked."""
        body = await self._webhook.post(self._config.prioritize_verb, self._arguments(pod, nodes))
        return read_priorities(body)

    def _arguments(self, pod: Pod, nodes: Sequence[NodeInfo]) -> bytes:
        document = _Raw(pod_json(pod))
        if self._config.node_cache_capable:
            names = [node.name for node in nodes]
            return msgspec.json.encode(ExtenderArgs(document, node_names=names))
        node_list = _Raw(node_list_json(nodes))
        return msgspec.json.encode(ExtenderArgs(document, nodes=node_list))

    async def process_preemption(
        self, pod: Pod, victims: Mapping[str, Victims], nodes: Nodes
    ) -> Mapping[str, Victims]:
        """Return the acceptable preemption candidates, with the victims on each."""
        arguments = ExtenderPreemptionArgs(_Raw(pod_json(pod)))
        if self._config.node_cache_capable:
            arguments.node_name_to_meta_victims = {
                name: MetaVictimsDocument(
                    [MetaPod(pod.metadata.uid) for pod in those.pods], those.pdb_violations
                )
                for name, those in victims.items()
            }
        else:
            arguments.node_name_to_victims = {
                name: VictimsDocument(
                    [_Raw(pod_json(pod)) for pod in those.pods], those.pdb_violations
                )
                for name, those in victims.items()
            }
        body = await self._webhook.post(self._config.preempt_verb, msgspec.json.encode(arguments))
        return {
            name: self._victims(name, those, nodes) for name, those in read_preemption(body).items()
        }

    def _victims(self, node_name: str, victims: MetaVictims, nodes: Nodes) -> Victims:
        """Find the pods that an extender names by uid; they may differ from those proposed."""
        node = nodes.find(node_name)
        if node is None:
            raise ExtenderError(NO_NODE_INFO.format(node_name))
        pods = []
        for uid in victims.uids:
            found = node.pods.get(uid)
            if found is None:
                raise ExtenderError(UNKNOWN_VICTIM.format(self.name, uid, node_name))
            pods.append(found.pod)
        return Victims(tuple(pods), victims.pdb_violations)

    async def bind(self, pod: Pod, node_name: str) -> None:
        """Let the extender bind the pod; raise ExtenderError on failure."""
        meta = pod.metadata
        arguments = ExtenderBindingArgs(meta.name, meta.namespace, meta.uid, node_name)
        body = await self._webhook.post(
            self._config.bind_verb, msgspec.json.encode(arguments), repeatable=False
        )
        error = read_binding(body)
        if error:
            raise ExtenderError(error)

    async def close(self) -> None:
        """Close all connections."""
        await self._webhook.close()
