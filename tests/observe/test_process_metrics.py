"""The metrics that every component has."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.observe.families import MetricsRegistry
from mooring.observe.process_metrics import ProcessLimits, ProcessMetrics

HOST = "127.0.0.1:6443"


@pytest.fixture
def registry() -> MetricsRegistry:
    return MetricsRegistry()


@pytest.fixture
def metrics(registry: MetricsRegistry) -> ProcessMetrics:
    return ProcessMetrics(registry, "1.37.1", emulation="1.37", min_compatibility="1.36")


def test_requests_are_counted(registry: MetricsRegistry, metrics: ProcessMetrics) -> None:
    metrics.requested("GET", HOST, "200", 0.5)
    metrics.sized("POST", HOST, 300, 5000)
    metrics.retried("GET", HOST, "429")
    metrics.throttled("GET", HOST, 2.0)
    value, verb = registry.get_sample_value, {"verb": "GET", "host": HOST}
    answered = {"code": "200", "method": "GET", "host": HOST}
    assert value("rest_client_requests_total", answered) == 1
    assert value("rest_client_request_duration_seconds_sum", verb) == 0.5
    assert value("rest_client_request_retries_total", {"code": "429", **verb}) == 1
    assert value("rest_client_rate_limiter_duration_seconds_sum", verb) == 2.0
    written = {"verb": "POST", "host": HOST}
    assert value("rest_client_request_size_bytes_sum", written) == 300
    assert value("rest_client_response_size_bytes_sum", written) == 5000


def test_the_lease_is_shown(registry: MetricsRegistry, metrics: ProcessMetrics) -> None:
    shown = []
    for leads in (False, True, False):
        metrics.leading("kube-scheduler", leads)
        labels = {"name": "kube-scheduler"}
        shown.append(registry.get_sample_value("leader_election_master_status", labels))
    metrics.slow_path("kube-scheduler")
    assert shown == [0, 1, 0]
    assert registry.get_sample_value("leader_election_slowpath_total", labels) == 1


def test_version_and_gates_are_shown(registry: MetricsRegistry, metrics: ProcessMetrics) -> None:
    metrics.show_features([("A", "ALPHA", False), ("B", "", True)])
    value = registry.get_sample_value
    assert value("kubernetes_feature_enabled", {"name": "A", "stage": "ALPHA"}) == 0
    assert value("kubernetes_feature_enabled", {"name": "B", "stage": ""}) == 1
    (build,) = (f for f in registry.collect() if f.name == "kubernetes_build_info")
    assert build.samples[0].labels["git_version"] == "v1.37.1"
    assert build.samples[0].labels["minor"] == "37"
    versions = {"component": "kube", "binary": "1.37.1", "emulation": "1.37", "min_compat": "1.36"}
    assert value("version_info", versions) == 1


def test_the_process_is_shown(registry: MetricsRegistry, metrics: ProcessMetrics) -> None:
    names = {family.name for family in registry.collect()}
    assert {"process_resident_memory_bytes", "process_virtual_memory_max_bytes"} <= names


def test_bytes_over_the_network_come_from_netstat(tmp_path: Path) -> None:
    netstat = tmp_path / "netstat"
    netstat.write_text(
        "TcpExt: A B\nTcpExt: 1 2\nIpExt: InOctets OutOctets Other\nIpExt: 70 80 9\n"
    )
    found = {family.name: family for family in ProcessLimits(netstat).collect()}
    assert found["process_network_receive_bytes"].samples[0].value == 70
    assert found["process_network_transmit_bytes"].samples[0].value == 80


def test_a_system_without_netstat_shows_none(tmp_path: Path) -> None:
    found = [family.name for family in ProcessLimits(tmp_path / "absent").collect()]
    assert found == ["process_virtual_memory_max_bytes"]
