"""ElasticQuota of scheduling.x-k8s.io: what a namespace is guaranteed and may borrow."""

from __future__ import annotations

from typing import ClassVar

from mooring.api.meta import TypedObject
from mooring.api.quantity import ResourceList
from mooring.api.wire import Wire


class ElasticQuotaSpec(Wire, frozen=True, kw_only=True):
    """The bounds of a namespace's use; None if a bound is not given."""

    #: What the namespace is guaranteed; others may borrow what it does not use.
    min: ResourceList | None = None
    #: What the namespace may use at most, with what it borrows.
    max: ResourceList | None = None


class ElasticQuotaStatus(Wire, frozen=True, kw_only=True):
    """The observed use, written by the controller of quotas."""

    used: ResourceList = {}


class ElasticQuota(TypedObject, frozen=True, kw_only=True):
    """A quota of one namespace that may borrow what other namespaces do not use."""

    api_version: ClassVar[str] = "scheduling.x-k8s.io/v1alpha1"
    kind: ClassVar[str] = "ElasticQuota"

    spec: ElasticQuotaSpec = ElasticQuotaSpec()
    status: ElasticQuotaStatus = ElasticQuotaStatus()
