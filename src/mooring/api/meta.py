"""Metadata common to all objects: names, labels, owners, times, label selectors."""

from __future__ import annotations

import re
from calendar import timegm
from functools import lru_cache
from typing import ClassVar

from mooring.api.spelling import spelled
from mooring.api.wire import Wire
from mooring.errors import ObjectError


class OwnerReference(Wire, frozen=True, kw_only=True):
    """A reference to an object that owns this one."""

    api_version: str = ""
    kind: str = ""
    name: str = ""
    uid: str = ""
    controller: bool | None = None
    block_owner_deletion: bool | None = None


class ObjectMeta(Wire, frozen=True, kw_only=True):
    """The metadata of an object. Times are RFC 3339 text; see `parse_time`."""

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


_TIME = re.compile(
    r"(\d{4})-(\d\d)-(\d\d)[Tt](\d\d):(\d\d):(\d\d)(?:\.(\d+))?(?:[Zz]|([+-])(\d\d):(\d\d))"
)


@lru_cache(maxsize=65536)
def parse_time_ns(text: str) -> int:
    """Parse an RFC 3339 time into whole nanoseconds since the epoch."""
    match = _TIME.fullmatch(text)
    if match is None:
        raise ObjectError(f'time must look like "2006-01-02T15:04:05Z", got {text!r}')
    year, month, day, hour, minute, second, fraction, sign, off_hour, off_minute = match.groups()
    if not (
        1 <= int(month) <= 12
        and 1 <= int(day) <= 31
        and int(hour) < 24
        and int(minute) < 60
        and int(second) < 60
    ):
        raise ObjectError(f"time is out of range: {text!r}")
    seconds = timegm((int(year), int(month), int(day), int(hour), int(minute), int(second)))
    if sign:
        offset = int(off_hour) * 3600 + int(off_minute) * 60
        seconds -= offset if sign == "+" else -offset
    return seconds * 1_000_000_000 + int(((fraction or "") + "000000000")[:9])


@lru_cache(maxsize=65536)
def parse_time(text: str) -> float:
    """Parse an RFC 3339 time into seconds since the epoch."""
    return parse_time_ns(text) / 1e9
