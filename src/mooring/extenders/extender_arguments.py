"""The requests to extenders and their results, as both sides of the webhook write them.

# k8s.io/kube-scheduler: extender/v1/types.go
"""

from __future__ import annotations

from typing import TypeVar

import msgspec

from mooring.api import Container, Pod
from mooring.errors import ExtenderError
from mooring.extenders.go_json import read

_Raw = msgspec.Raw
_NULL = _Raw(b"null")

T = TypeVar("T")


class ExtenderArgs(msgspec.Struct, rename="pascal"):
    """The request of filter and prioritize: the pod, and the nodes, whole or by name."""

    pod: _Raw
    #: A v1.NodeList; null if the extender knows the nodes.
    nodes: _Raw = _NULL
    node_names: list[str] | None = None


class NodeListDocument(msgspec.Struct):
    """A v1.NodeList whose nodes are kept as they were written."""

    items: list[_Raw] | None = None


class ExtenderFilterDocument(msgspec.Struct, rename="pascal"):
    """The result of filter."""

    nodes: NodeListDocument | None = None
    node_names: list[str] | None = None
    failed_nodes: dict[str, str] = {}
    failed_and_unresolvable_nodes: dict[str, str] = {}
    error: str = ""


class HostPriority(msgspec.Struct, rename="pascal", gc=False):
    """The score of a node in the result of prioritize, from 0 to 10."""

    host: str
    score: int


class MetaPod(msgspec.Struct):
    """A pod by its uid."""

    UID: str = ""


class VictimsDocument(msgspec.Struct):
    """The victims on a node: whole pods."""

    Pods: list[_Raw] | None = None
    NumPDBViolations: int = 0


class MetaVictimsDocument(msgspec.Struct):
    """The victims on a node, by uid."""

    Pods: list[MetaPod] | None = None
    NumPDBViolations: int = 0


class ExtenderPreemptionArgs(msgspec.Struct, rename="pascal"):
    """The request of preempt: the candidates, by uid if the extender knows the nodes."""

    pod: _Raw
    node_name_to_victims: dict[str, VictimsDocument] | None = None
    node_name_to_meta_victims: dict[str, MetaVictimsDocument] | None = None


class ExtenderPreemptionResult(msgspec.Struct, rename="pascal"):
    """The result of preempt: the candidates that are left."""

    node_name_to_meta_victims: dict[str, MetaVictimsDocument] = {}


class ExtenderBindingArgs(msgspec.Struct):
    """The request of bind."""

    PodName: str
    PodNamespace: str
    PodUID: str
    Node: str


class ExtenderBindingResult(msgspec.Struct, rename="pascal"):
    """The result of bind; an empty error means success."""

    error: str = ""


def read_arguments(body: bytes, struct: type[T]) -> T:
    """Decode a request; raise ExtenderError with the reason if it is not valid.

    Names of fields are case-insensitive at the top, as in Go: schedulers before 1.17 write them in
    lower case.
    """
    try:
        return msgspec.json.decode(body, type=struct)
    except (msgspec.DecodeError, UnicodeError, RecursionError):
        # Says in Go's words what is wrong with a body that is not JSON.
        read(body)
    try:
        written = msgspec.json.decode(body, type=dict[str, _Raw])
        spelled = {field.encode_name.casefold(): field.encode_name for field in _fields(struct)}
        renamed = {spelled.get(name.casefold(), name): value for name, value in written.items()}
        return msgspec.json.decode(msgspec.json.encode(renamed), type=struct)
    except (msgspec.DecodeError, UnicodeError, RecursionError) as error:
        raise ExtenderError(f"not a request of extender/v1: {error}") from None


def is_null(document: msgspec.Raw) -> bool:
    """Return whether a part of a request is absent or null."""
    return bytes(document) in (b"", b"null")


def _fields(struct: type) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(struct)


def requests_any(pod: Pod, resources: frozenset[str]) -> bool:
    """Return whether a container of a pod requests or limits one of some resources."""

    def has_any(container: Container) -> bool:
        wanted = container.resources
        return not resources.isdisjoint(wanted.requests) or not resources.isdisjoint(wanted.limits)

    return any(map(has_any, pod.spec.containers)) or any(map(has_any, pod.spec.init_containers))
