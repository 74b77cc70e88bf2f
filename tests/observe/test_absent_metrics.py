"""The page on differences lists every metric of kube-scheduler that Mooring lacks."""

from __future__ import annotations

import fnmatch

from mooring.observe.metrics import Metrics
from mooring.observe.process_metrics import ProcessMetrics
from tests.reference.differences import listed

#: The metrics of kube-scheduler 1.36.4 besides scheduler_*, after a start with leader election.
REFERENCE = [
    "aggregator_discovery_aggregation_count_total",
    "aggregator_discovery_nopeer_requests_total",
    "apiserver_audit_event_total",
    "apiserver_audit_requests_rejected_total",
    "apiserver_client_certificate_expiration_seconds",
    "apiserver_delegated_authn_request_duration_seconds",
    "apiserver_delegated_authn_request_total",
    "apiserver_envelope_encryption_dek_cache_fill_percent",
    "apiserver_storage_data_key_generation_duration_seconds",
    "apiserver_storage_data_key_generation_failures_total",
    "apiserver_storage_envelope_transformation_cache_misses_total",
    "apiserver_validation_declarative_validation_mismatch_total",
    "apiserver_validation_declarative_validation_panic_total",
    "apiserver_validation_duplicate_validation_error_total",
    "apiserver_webhooks_x509_insecure_sha1_total",
    "apiserver_webhooks_x509_missing_san_total",
    "authentication_token_cache_active_fetch_count",
    "authentication_token_cache_fetch_total",
    "authentication_token_cache_request_duration_seconds",
    "authentication_token_cache_request_total",
    "cardinality_enforcement_unexpected_categorizations_total",
    "disabled_metrics_total",
    "go_goroutines",
    "go_info",
    "go_threads",
    "hidden_metrics_total",
    "kubernetes_build_info",
    "kubernetes_feature_enabled",
    "leader_election_master_status",
    "process_cpu_seconds_total",
    "process_max_fds",
    "process_network_receive_bytes_total",
    "process_network_transmit_bytes_total",
    "process_open_fds",
    "process_resident_memory_bytes",
    "process_start_time_seconds",
    "process_virtual_memory_bytes",
    "process_virtual_memory_max_bytes",
    "registered_metrics_total",
    "rest_client_exec_plugin_certificate_rotation_age",
    "rest_client_exec_plugin_ttl_seconds",
    "rest_client_rate_limiter_duration_seconds",
    "rest_client_request_duration_seconds",
    "rest_client_request_size_bytes",
    "rest_client_requests_total",
    "rest_client_response_size_bytes",
    "rest_client_transport_cache_entries",
    "rest_client_transport_cert_rotation_gc_calls_total",
    "rest_client_transport_create_calls_total",
    "version_info",
    "workqueue_adds_total",
    "workqueue_depth",
    "workqueue_longest_running_processor_seconds",
    "workqueue_queue_duration_seconds",
    "workqueue_retries_total",
    "workqueue_unfinished_work_seconds",
    "workqueue_work_duration_seconds",
]


def shown() -> set[str]:
    metrics = Metrics()
    ProcessMetrics(metrics.registry, "1.37.1", emulation="1.37", min_compatibility="1.36")
    return {
        f"{family.name}_total" if family.type == "counter" else family.name
        for family in metrics.registry.collect()
    }


def test_every_metric_is_shown_or_said_to_be_absent() -> None:
    ours, patterns = shown(), listed("metric")
    assert patterns
    left_out = {
        name for name in REFERENCE if any(fnmatch.fnmatchcase(name, one) for one in patterns)
    }
    assert set(REFERENCE) - ours == left_out
