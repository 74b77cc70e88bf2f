"""Metadata common to all objects: names, labels, owners, times, label selectors."""

from __future__ import annotations

from typing import ClassVar

from mooring.api.spelling import spelled
from mooring.api.wire import Wire


class OwnerReference(Wire, frozen=True, kw_only=True):
    """A reference to an object that owns this one."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """The metadata of an object. Times are RFC 3339 text; see `mooring.api.timestamps`."""

    name: str = ""
    generate_name: str = ""
    namespace: str = ""
    uid: str = ""
    resource_version: str = ""
    generation: int = 0
    creation_timestamp: str | None = None
    deletion_timestamp: str | None = None
    deletion_grace_period_seconds: int | None = None
    labels: dict[str, str] = {}
    annotations: dict[str, str] = {}
    owner_references: tuple[OwnerReference, ...] = ()
    finalizers: tuple[str, ...] = ()


class LabelSelectorRequirement(Wire, frozen=True, kw_only=True):
    """A requirement on one label. Operators: In, NotIn, Exists, DoesNotExist."""

    key: str = ""
    operator: str = ""
    values: tuple[str, ...] = ()


class LabelSelector(Wire, frozen=True, kw_only=True):
    """A selector of objects by label; see `mooring.api.labels.Selector` for matching."""

    match_labels: dict[str, str] = {}
    match_expressions: tuple[LabelSelectorRequirement, ...] = ()


class LocalObjectReference(Wire, frozen=True, kw_only=True):
    """A reference to an object in the same namespace."""

    name: str = ""


class ObjectReference(Wire, frozen=True, kw_only=True):
    """A reference to any object."""

    api_version: str = ""
    kind: str = ""
    namespace: str = ""
    name: str = ""
    uid: str = ""
    resource_version: str = ""
    field_path: str = ""


class Condition(Wire, frozen=True, kw_only=True):
    """One aspect of an object's state (status is True, False or Unknown)."""

    type: str = ""
    status: str = ""
    observed_generation: int = 0
    last_probe_time: str | None = None
    last_heartbeat_time: str | None = None
    last_transition_time: str | None = None
    reason: str = ""
    message: str = ""


@spelled(ObjectMeta="metadata", TypeMeta="kind")
class KubeObject(Wire, frozen=True, kw_only=True):
    """Any Kubernetes object: something with metadata."""

    metadata: ObjectMeta = ObjectMeta()

    @property
    def name(self) -> str:
        """Return metadata.name."""
        return self.metadata.name

    @property
    def namespace(self) -> str:
        """Return metadata.namespace, empty for cluster-scoped objects."""
        return self.metadata.namespace

    @property
    def uid(self) -> str:
        """Return metadata.uid."""
        return self.metadata.uid

    @property
    def labels(self) -> dict[str, str]:
        """Return metadata.labels (read only)."""
        return self.metadata.labels

    @property
    def annotations(self) -> dict[str, str]:
        """Return metadata.annotations (read only)."""
        return self.metadata.annotations

    @property
    def key(self) -> str:
        """Return "namespace/name", or the name alone for cluster-scoped objects."""
        metadata = self.metadata
        return f"{metadata.namespace}/{metadata.name}" if metadata.namespace else metadata.name


class TypedObject(KubeObject, frozen=True, kw_only=True):
    """An object of a kind that Mooring knows: the class has apiVersion and kind."""

    api_version: ClassVar[str]
    kind: ClassVar[str]
