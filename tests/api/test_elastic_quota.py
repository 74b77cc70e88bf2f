"""ElasticQuota of scheduling.x-k8s.io."""

from __future__ import annotations

from mooring.api import ElasticQuota, decode, encode

RAW = {
    "apiVersion": "scheduling.x-k8s.io/v1alpha1",
    "kind": "ElasticQuota",
    "metadata": {"name": "q", "namespace": "team"},
    "spec": {"min": {"cpu": "4"}, "max": {"cpu": "8", "memory": "1Gi"}},
    "status": {"used": {"cpu": "2"}},
}


def test_a_quota_is_decoded_and_written() -> None:
    quota = decode(RAW)
    assert isinstance(quota, ElasticQuota)
    assert quota.spec.min == {"cpu": "4"}
    assert quota.spec.max == {"cpu": "8", "memory": "1Gi"}
    assert quota.status.used == {"cpu": "2"}
    assert encode(quota) == RAW


def test_an_absent_bound_differs_from_an_empty_one() -> None:
    quota = decode({**RAW, "spec": {"min": {}}})
    assert isinstance(quota, ElasticQuota)
    assert (quota.spec.min, quota.spec.max) == ({}, None)
