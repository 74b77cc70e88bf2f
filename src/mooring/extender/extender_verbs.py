"""ExtenderVerbs: the answers of an extender, from the columns of the nodes.

# k8s.io/kube-scheduler: extender/v1/types.go; kube-scheduler: extender.go
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext

import msgspec
import numpy as np

from mooring.api import Node, Pod, PodDisruptionBudget, decode_as
from mooring.binding.binding_points import run_bind
from mooring.cycle.filtering import filter_nodes_with_nominated
from mooring.cycle.pre_filter import PreFilterResult, run_pre_filter
from mooring.cycle.profile import Profile
from mooring.cycle.scoring import MAX_EXTENDER_PRIORITY, rank
from mooring.cycle.timing import FILTER
from mooring.errors import ApiError, ExtenderError, ObjectError, PluginError, cut_text
from mooring.extender.extender_cluster import ExtenderCluster
from mooring.extender.extender_preemption import CandidateCheck
from mooring.extenders.extender_arguments import (
    ExtenderArgs,
    ExtenderBindingArgs,
    ExtenderBindingResult,
    ExtenderFilterDocument,
    ExtenderPreemptionArgs,
    ExtenderPreemptionResult,
    HostPriority,
    MetaPod,
    MetaVictimsDocument,
    NodeListDocument,
    is_null,
    read_arguments,
    requests_any,
)
from mooring.framework.nodes import Nodes, Rows
from mooring.framework.plugin import MAX_NODE_SCORE
from mooring.framework.state import CycleState
from mooring.framework.status import Code, Status
from mooring.observe.metrics import PLUGIN_METRICS_SAMPLE_PERCENT

UNKNOWN_NODE = "node(s) were unknown to the extender"
NAMES_ONLY = (
    "the request has names of nodes only, and this extender has no cluster to look them up: set "
    "nodeCacheCapable: false, or start it with --kubeconfig"
)
NO_NODES = "the request has neither Nodes nor NodeNames"
OTHER_POD = "pod {} has the UID {}, not {}"
OTHER_NODE = "pod {} is on node {} already"

#: Plugins are timed in one of this many requests.
_SAMPLE_EVERY = 100 // PLUGIN_METRICS_SAMPLE_PERCENT


class _Asked(msgspec.Struct):
    """The nodes of a request."""

    names: Sequence[str]
    #: Those that are known, and the place of each in `names`.
    nodes: Nodes
    places: Rows
    #: The whole nodes as they were written; None if the request has names only.
    documents: list[msgspec.Raw] | None


class _Refusals:
    """The nodes of a request that are refused, and why."""

    def __init__(self, names: Sequence[str], *, resolvable: bool) -> None:
        self._names = names
        self._resolvable = resolvable
        self.failed: dict[str, str] = {}
        self.unresolvable: dict[str, str] = {}

    def add(self, places: Rows, status: Status) -> None:
        """Refuse the nodes at some places of the request."""
        names = self._names
        is_final = status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE or not self._resolvable
        refused = self.unresolvable if is_final else self.failed
        asked = [names[place] for place in places.tolist()]
        if status.names_node:
            refused.update((name, cut_text(status.for_node(name).message)) for name in asked)
        else:
            refused.update(dict.fromkeys(asked, cut_text(status.message)))


class ExtenderVerbs:
    """The verbs filter, prioritize, preempt and bind. Owned by the event loop of the cluster.

    Each takes the body of a request and returns that of the response. It raises ExtenderError for a
    bad request, and PluginError if a plugin failed and the response has no field for that. With
    several profiles, a pod is answered by the one that its schedulerName names, and else by none.
    `managed` are the resources of the pods to answer for (all pods if empty), `weight` is the
    weight of the extender in kube-scheduler's configuration.
    """

    def __init__(
        self, cluster: ExtenderCluster, *, weight: int, managed: frozenset[str] = frozenset()
    ) -> None:
        self._cluster = cluster
        self._managed = managed
        self._weight = max(weight, 1)
        self._requests = 0
        profiles = cluster.profiles.values()
        if cluster.is_live and any(one.filter or one.pre_filter for one in profiles):
            # Asked for now, so that its informer is started with the others.
            cluster.lister(PodDisruptionBudget)

    def filter(self, body: bytes) -> bytes:
        """Return which nodes pass, and why the others do not."""
        arguments = read_arguments(body, ExtenderArgs)
        pod = self._pod(arguments.pod)
        asked = self._asked(arguments)
        profile = self._profile(pod)
        if profile is None:
            return _passing(asked, None)
        # Without a cluster no plugin sees pods, so the removal of pods would change nothing.
        refusals = _Refusals(asked.names, resolvable=self._cluster.is_live)
        with self._carrying(asked):
            passed = self._filter(profile, pod, asked, refusals)
        if isinstance(passed, Status):
            return msgspec.json.encode(ExtenderFilterDocument(error=cut_text(passed.message)))
        return _passing(asked, passed, refusals)

    def _filter(
        self, profile: Profile, pod: Pod, asked: _Asked, refusals: _Refusals
    ) -> Rows | Status:
        """Return the places of the nodes that pass, or the fault of a plugin."""
        nodes, places = asked.nodes, asked.places
        if len(places) < len(asked.names):
            unknown = np.setdiff1d(np.arange(len(asked.names)), places)
            refusals.add(unknown, Status.unschedulable(UNKNOWN_NODE))
        state, before = self._pre_filter(profile, pod)
        if before.status is not None:
            if not before.status.is_rejected:
                return before.status
            refusals.add(places, before.status)
            return places[:0]
        if before.node_names is not None:
            found = (name in before.node_names for name in nodes.names)
            inside = np.fromiter(found, np.bool_, len(nodes))
            refusals.add(places[~inside], before.outside)
            nodes, places = nodes.where(inside), places[inside]
        start = profile.recorder.now()
        info = self._cluster.pod_infos.of(pod)
        verdicts = filter_nodes_with_nominated(profile, self._cluster.nominator, state, info, nodes)
        profile.recorder.point(FILTER, verdicts.error, start)
        if verdicts.error is not None:
            return verdicts.error
        for status, positions in verdicts.refusals:
            refusals.add(places[positions], status)
        return places if verdicts.passed is None else places[verdicts.passed]

    def prioritize(self, body: bytes) -> bytes:
        """Return the score of each node, from 0 to 10."""
        arguments = read_arguments(body, ExtenderArgs)
        pod = self._pod(arguments.pod)
        asked = self._asked(arguments)
        profile = self._profile(pod)
        scores = np.zeros(len(asked.names), dtype=np.int64)
        if profile is not None and len(asked.nodes):
            with self._carrying(asked):
                state, before = self._pre_filter(profile, pod)
                if before.status is not None and not before.status.is_rejected:
                    raise _failure(before.status)
                ranking = rank(profile, state, pod, asked.nodes)
            if ranking.error is not None:
                raise _failure(ranking.error)
            # To the nearest of the eleven scores, the higher one from the middle between two.
            full = MAX_NODE_SCORE * self._weight
            rounded = (ranking.totals * (2 * MAX_EXTENDER_PRIORITY) + full) // (2 * full)
            scores[asked.places] = rounded.clip(0, MAX_EXTENDER_PRIORITY)
        return msgspec.json.encode(list(map(HostPriority, asked.names, scores.tolist())))

    def preempt(self, body: bytes) -> bytes:
        """Return the candidates of a preemption that are left, with their victims."""
        arguments = read_arguments(body, ExtenderPreemptionArgs)
        pod = self._pod(arguments.pod)
        proposed = _victims(arguments)
        profile = self._profile(pod)
        if profile is None or not self._cluster.is_live:
            return msgspec.json.encode(ExtenderPreemptionResult(proposed))
        self._cluster.catch_up()
        state, before = self._pre_filter(profile, pod)
        if before.status is not None:
            if not before.status.is_rejected:
                raise _failure(before.status)
            if before.status.code is Code.UNSCHEDULABLE_AND_UNRESOLVABLE:
                return msgspec.json.encode(ExtenderPreemptionResult())
        check = CandidateCheck(profile.handle, state, pod)
        kept = ExtenderPreemptionResult({})
        for name, those in proposed.items():
            if before.node_names is not None and name not in before.node_names:
                continue
            uids = [one.UID for one in those.Pods or ()]
            victims = check.victims(name, uids, those.NumPDBViolations)
            if victims is not None:
                kept.node_name_to_meta_victims[name] = victims
        return msgspec.json.encode(kept)

    async def bind(self, body: bytes) -> bytes:
        """Bind a pod; the result says why if that failed."""
        arguments = read_arguments(body, ExtenderBindingArgs)
        try:
            error = await self._bind(arguments)
        except ApiError as found:
            error = found.message or str(found)
        return msgspec.json.encode(ExtenderBindingResult(cut_text(error)))

    async def _bind(self, arguments: ExtenderBindingArgs) -> str:
        """Bind a pod; return why that failed, or ""."""
        cluster, node_name = self._cluster, arguments.Node
        cluster.catch_up()
        name, namespace, uid = arguments.PodName, arguments.PodNamespace, arguments.PodUID
        pod = cluster.pod(name, namespace)
        if pod is None or pod.metadata.uid != uid:
            pod = await cluster.client.get(Pod, name, namespace)
            cluster.catch_up()
        if pod.metadata.uid != uid:
            return OTHER_POD.format(pod.key, pod.metadata.uid, uid)
        if pod.spec.node_name:
            same = pod.spec.node_name == node_name
            return "" if same else OTHER_NODE.format(pod.key, pod.spec.node_name)
        profile = self._profile(pod)
        if profile is None or not profile.bind:
            await cluster.client.bind(pod, node_name)
            return ""
        if cluster.cache.pod(uid) is None:
            # The next pod must see this one on its node, before the informer does.
            pod = cluster.cache.assume_pod(pod, node_name)
        status: Status | None = Status.error("the bind was cancelled")
        try:
            status = await run_bind(profile, self._state(), pod, node_name)
        finally:
            if status is not None and cluster.cache.is_assumed(uid):
                cluster.cache.forget_pod(uid)
        return "" if status is None else status.message or status.code.label

    # What a request asks about.

    def _profile(self, pod: Pod) -> Profile | None:
        """Return the profile that answers for a pod; None if there is nothing to say."""
        profiles = self._cluster.profiles
        if self._managed and not requests_any(pod, self._managed):
            return None
        if len(profiles) == 1:
            return next(iter(profiles.values()))
        return profiles.get(pod.spec.scheduler_name)

    def _pod(self, document: msgspec.Raw) -> Pod:
        pod = _read_pod(document)
        try:
            # Reads quantities, times and selectors, any of which may be malformed.
            self._cluster.pod_infos.of(pod)
        except ObjectError as error:
            raise ExtenderError(f"Pod: {error}") from None
        return pod

    def _state(self) -> CycleState:
        state = CycleState()
        self._requests += 1
        state.record_plugin_metrics = self._requests % _SAMPLE_EVERY == 0
        return state

    def _pre_filter(self, profile: Profile, pod: Pod) -> tuple[CycleState, PreFilterResult]:
        state = self._state()
        return state, run_pre_filter(profile, state, pod, self._cluster.snapshot)

    def _asked(self, arguments: ExtenderArgs) -> _Asked:
        cluster = self._cluster
        cluster.catch_up()
        if not is_null(arguments.nodes):
            return self._whole_nodes(bytes(arguments.nodes))
        names = arguments.node_names
        if names is None:
            raise ExtenderError(NO_NODES)
        if not cluster.is_live:
            raise ExtenderError(NAMES_ONLY)
        nodes = cluster.cache.nodes
        rows = nodes.rows_of(names)
        places = np.arange(len(rows), dtype=np.intp)
        if len(rows) and int(rows.min()) < 0:
            places = np.flatnonzero(rows >= 0)
        return _Asked(names, nodes.select(rows[places]), places, None)

    def _whole_nodes(self, body: bytes) -> _Asked:
        documents = read_arguments(body, NodeListDocument).items or []
        try:
            nodes = [decode_as(bytes(one), Node) for one in documents]
        except ObjectError as error:
            raise ExtenderError(str(error)) from None
        names = [node.metadata.name for node in nodes]
        if not all(names) or len(set(names)) < len(names):
            raise ExtenderError("Nodes: every node must have a name of its own")
        try:
            view = self._cluster.view_of(nodes)
        except ObjectError as error:
            raise ExtenderError(f"Nodes: {error}") from None
        return _Asked(names, view, np.arange(len(names), dtype=np.intp), documents)

    def _carrying(self, asked: _Asked) -> AbstractContextManager[None]:
        if asked.documents is None:
            return nullcontext()
        return self._cluster.carrying(asked.nodes.all)


def _passing(asked: _Asked, passed: Rows | None, refusals: _Refusals | None = None) -> bytes:
    """Return the result of filter; without `passed`, all nodes pass."""
    result = ExtenderFilterDocument()
    if refusals is not None:
        result.failed_nodes = refusals.failed
        result.failed_and_unresolvable_nodes = refusals.unresolvable
    places = None if passed is None or len(passed) == len(asked.names) else passed.tolist()
    if asked.documents is None:
        names = asked.names
        kept = names if places is None else [names[place] for place in places]
        result.node_names = list(kept)
    else:
        documents = asked.documents
        items = documents if places is None else [documents[place] for place in places]
        result.nodes = NodeListDocument(items)
    return msgspec.json.encode(result)


def _read_pod(document: msgspec.Raw) -> Pod:
    if is_null(document):
        raise ExtenderError("Pod is null, expected a pod")
    try:
        return decode_as(bytes(document), Pod)
    except ObjectError as error:
        raise ExtenderError(str(error)) from None


def _victims(arguments: ExtenderPreemptionArgs) -> dict[str, MetaVictimsDocument]:
    """Return the proposed victims by node, as uids."""
    if arguments.node_name_to_meta_victims is not None:
        return arguments.node_name_to_meta_victims
    if arguments.node_name_to_victims is None:
        raise ExtenderError("the request has neither NodeNameToVictims nor NodeNameToMetaVictims")
    return {
        name: MetaVictimsDocument(
            [MetaPod(_read_pod(pod).metadata.uid) for pod in those.Pods or ()],
            those.NumPDBViolations,
        )
        for name, those in arguments.node_name_to_victims.items()
    }


def _failure(status: Status) -> PluginError:
    return PluginError(status.message, plugin=status.plugin)
