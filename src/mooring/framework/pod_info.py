"""PodInfo: a pod with the derived values that are computed once and read often.

# kube-scheduler: framework/types.go (PodInfo, AffinityTerm, CalculateResource)
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import lru_cache
from operator import attrgetter

import msgspec
from msgspec.structs import replace

from mooring.api import Pod, PodAffinityTerm, PodStatus
from mooring.api.labels import Selector
from mooring.api.pod_resource_requests import (
    RequestOptions,
    is_resize_infeasible,
    pod_and_non_zero_requests,
)
from mooring.api.ports import host_ports
from mooring.api.scheduling import PodAffinity, PodAntiAffinity
from mooring.api.spelling import spelled
from mooring.api.timestamps import parse_time
from mooring.framework.features import FeatureGates

#: (address, protocol, port)
HostPort = tuple[str, str, int]


class AffinityTerm(msgspec.Struct, frozen=True):
    """A pod (anti-)affinity term, parsed; equal terms of different pods compare equal."""

    topology_key: str
    selector: Selector
    #: The namespaces that the term names, or the pod's own if it names none and has no selector.
    namespaces: frozenset[str]
    #: Matches namespaces by label; NOTHING if the term has none.
    namespace_selector: Selector
    #: Preference weight; 0 for required terms.
    weight: int = 0

    def matches(self, pod: Pod, namespace_labels: Mapping[str, str]) -> bool:
        """Return whether the term matches `pod`, in a namespace with these labels."""
        return (
            pod.metadata.namespace in self.namespaces
            or self.namespace_selector.matches(namespace_labels)
        ) and self.selector.matches(pod.metadata.labels)


Terms = tuple[AffinityTerm, ...]


def _terms(namespace: str, section: PodAffinity | PodAntiAffinity | None) -> tuple[Terms, Terms]:
    """Return the required and the preferred terms of an affinity section."""
    if section is None:
        return (), ()
    encoded = msgspec.json.encode(section)
    if len(encoded) > _LONG_SECTION:
        return _parse_long_section(namespace, encoded)
    return _parse_section(namespace, encoded)


#: Of longer sections, in bytes, only a few are cached: 4,096 of them could fill the memory.
_LONG_SECTION = 16384


@lru_cache(maxsize=4)
def _parse_long_section(namespace: str, section: bytes) -> tuple[Terms, Terms]:
    """Parse a long section, once for the pods of one template."""
    return _parse_terms(namespace, msgspec.json.decode(section, type=PodAffinity))


@lru_cache(maxsize=4096)
def _parse_section(namespace: str, section: bytes) -> tuple[Terms, Terms]:
    """Parse a section, once for all pods with the same section: there may be thousands."""
    return _parse_terms(namespace, msgspec.json.decode(section, type=PodAffinity))


def _parse_terms(namespace: str, section: PodAffinity | PodAntiAffinity) -> tuple[Terms, Terms]:
    own = frozenset((namespace,))
    return (
        tuple(
            _parse_term(own, term, 0)
            for term in section.required_during_scheduling_ignored_during_execution
        ),
        tuple(
            _parse_term(own, term.pod_affinity_term, term.weight)
            for term in section.preferred_during_scheduling_ignored_during_execution
        ),
    )


def _parse_term(own: frozenset[str], term: PodAffinityTerm, weight: int) -> AffinityTerm:
    """Parse a term of a pod; `own` holds the pod's namespace."""
    selected = term.namespace_selector
    return AffinityTerm(
        term.topology_key,
        Selector.from_label_selector(term.label_selector),
        own if not term.namespaces and selected is None else frozenset(term.namespaces),
        Selector.from_label_selector(selected),
        weight,
    )


@spelled(GetPod="pod")
class PodInfo:
    """A pod and the values that the scheduler derives from it.

    Immutable, except that the cache replaces `pod` by a newer version that counts the same.
    """

    __slots__ = (
        "claim_keys",
        "has_affinity",
        "host_ports",
        "non_zero_cpu",
        "non_zero_memory",
        "pod",
        "preferred_affinity",
        "preferred_anti_affinity",
        "priority",
        "requests",
        "required_affinity",
        "required_anti_affinity",
        "start_time",
        "uid",
    )

    def __init__(self, pod: Pod, options: RequestOptions) -> None:
        self.pod = pod
        self.uid: str = pod.metadata.uid
        self.priority: int = pod.spec.priority or 0
        #: What the pod requests: cpu in thousandths, the rest in whole units.
        self.requests: dict[str, int]
        self.requests, non_zero = pod_and_non_zero_requests(pod, options)
        self.non_zero_cpu, self.non_zero_memory = non_zero
        self.host_ports: tuple[HostPort, ...] = host_ports(pod)
        #: "namespace/name" of every claim the pod names (not those of ephemeral volumes).
        self.claim_keys: tuple[str, ...] = tuple(
            f"{pod.metadata.namespace}/{volume.persistent_volume_claim.claim_name}"
            for volume in pod.spec.volumes
            if volume.persistent_volume_claim is not None
        )
        started = pod.status.start_time
        #: Epoch seconds, or None while the pod has not started.
        self.start_time: float | None = parse_time(started) if started else None
        affinity = pod.spec.affinity
        toward = None if affinity is None else affinity.pod_affinity
        away = None if affinity is None else affinity.pod_anti_affinity
        #: Whether the pod has a podAffinity or podAntiAffinity section at all.
        self.has_affinity = toward is not None or away is not None
        namespace = pod.metadata.namespace
        self.required_affinity, self.preferred_affinity = _terms(namespace, toward)
        self.required_anti_affinity, self.preferred_anti_affinity = _terms(namespace, away)

    def on(self, pod: Pod) -> PodInfo:
        """Return the PodInfo of a copy of the pod that differs only in its node name."""
        # Each slot is copied by name because a loop takes four times as long, and every pod that
        # gets a node is copied.
        other = PodInfo.__new__(PodInfo)
        other.pod = pod
        other.claim_keys = self.claim_keys
        other.has_affinity = self.has_affinity
        other.host_ports = self.host_ports
        other.non_zero_cpu = self.non_zero_cpu
        other.non_zero_memory = self.non_zero_memory
        other.preferred_affinity = self.preferred_affinity
        other.preferred_anti_affinity = self.preferred_anti_affinity
        other.priority = self.priority
        other.requests = self.requests
        other.required_affinity = self.required_affinity
        other.required_anti_affinity = self.required_anti_affinity
        other.start_time = self.start_time
        other.uid = self.uid
        return other

    @property
    def key(self) -> str:
        """Return "namespace/name"."""
        return self.pod.key

    def __repr__(self) -> str:
        return f"PodInfo({self.key!r})"


#: Fields of a bound pod's status that can change without changing any plugin's answer.
_PASSING = {"conditions", "observed_generation", "nominated_node_name"}
_meta = attrgetter("namespace", "annotations", "deletion_timestamp", "owner_references")
_status = attrgetter(*(name for name in PodStatus.__struct_fields__ if name not in _PASSING))


def counts_alike(old: Pod, new: Pod) -> bool:
    """Return whether two versions of a pod count the same on its node, labels aside.

    Finalizers, versions and the nominated node do not count, nor do conditions, except the one
    which says that a resize is infeasible. (Labels are compared separately: the API server adds
    zone labels when it binds a pod.)
    """
    return (
        old.spec == new.spec
        and _meta(old.metadata) == _meta(new.metadata)
        and _status(old.status) == _status(new.status)
        and is_resize_infeasible(old) == is_resize_infeasible(new)
    )


#: Above this many pods the memo is cleared; pods on nodes keep their PodInfo anyway.
_MEMO_LIMIT = 4096


class PodInfos:
    """A factory of PodInfos under one set of feature gates, with a memo by object identity.

    All plugins of a cycle ask for the same pod, so the memo saves computing it again.
    """

    def __init__(self, gates: FeatureGates) -> None:
        self._options = RequestOptions.from_gates(
            gates.enabled, by_container=gates.release.resizes_by_container
        )
        self._memo: dict[int, PodInfo] = {}

    def of(self, pod: Pod) -> PodInfo:
        """Return the PodInfo of a pod object."""
        memo = self._memo
        info = memo.get(id(pod))
        # The memo keeps the pod alive, so its id cannot be reused while the entry exists.
        if info is not None and info.pod is pod:
            return info
        if len(memo) >= _MEMO_LIMIT:
            memo.clear()
        info = memo[id(pod)] = PodInfo(pod, self._options)
        return info

    def placed(self, pod: Pod, node_name: str) -> PodInfo:
        """Return the PodInfo of a copy of the pod placed on a node; nothing is computed again."""
        return self.of(pod).on(replace(pod, spec=replace(pod.spec, node_name=node_name)))
