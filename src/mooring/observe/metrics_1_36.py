"""Metrics that kube-scheduler 1.36 shows otherwise than the reference.

The catalogue in `metrics.py` is that of the reference; with `--emulated-version=1.36` these
differences apply to it.
"""

# kube-scheduler 1.36.4: metrics/metrics.go

from __future__ import annotations

#: Metrics that the reference has removed, or hides because they are deprecated.
ONLY_IN_1_36 = frozenset(
    {
        "scheduler_preemption_goroutines_duration_seconds",
        "scheduler_resourceclaim_creates_total",
    }
)

#: Metrics that came with 1.37.
NOT_IN_1_36 = frozenset(
    {
        "dynamic_resource_allocation_resourceclaim_creates_total",
        "scheduler_batch_rescore_attempts_total",
        "scheduler_batch_rescore_duration_seconds",
        "scheduler_generated_placements_total",
        "scheduler_placement_evaluation_duration_seconds",
        "scheduler_placement_evaluations_total",
        "scheduler_pre_queueing_hint_evaluations_total",
        "scheduler_preemption_evaluation_duration_seconds",
        "scheduler_preemption_execution_duration_seconds",
        "scheduler_preemption_pdb_violations_total",
        "scheduler_preemption_workload_disruptions",
        "scheduler_queue_incoming_entities_total",
        "scheduler_queued_entities",
        "scheduler_workload_preemption_attempts_total",
        "scheduler_workload_preemption_victims",
    }
)

#: Metrics that were ALPHA.
ALPHA_IN_1_36 = frozenset(
    {
        "scheduler_plugin_execution_duration_seconds",
        "scheduler_scheduling_algorithm_duration_seconds",
    }
)

#: The help of metrics whose text has changed.
HELP_IN_1_36 = {
    "scheduler_pending_pods": (
        "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
        "'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
        "unschedulablePods that the scheduler attempted to schedule and failed; 'gated' is the "
        "number of unschedulable pods that the scheduler never attempted to schedule because "
        "they are gated."
    ),
    "scheduler_pod_scheduled_after_flush_total": (
        "Number of pods that were successfully scheduled after being flushed from "
        "unschedulablePods due to timeout. This metric helps detect potential queueing hint "
        "misconfigurations or event handling issues."
    ),
    "scheduler_podgroup_scheduling_attempt_duration_seconds": (
        "Pod group scheduling attempt latency in seconds (scheduling algorithm + binding)"
    ),
    "scheduler_preemption_victims": "Number of selected preemption victims",
    "scheduler_store_schedule_results_duration_seconds": "Latency for getting a no.",
}
