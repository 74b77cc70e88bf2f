"""The scheduler's metrics: kube-scheduler's names, labels, buckets and help.

# kube-scheduler: metrics/metrics.go, plugins/volumebinding/metrics
"""

from __future__ import annotations

from collections.abc import Callable

from mooring.observe import metrics_1_36
from mooring.observe.exposition import expose
from mooring.observe.families import (
    BETA,
    STABLE,
    ComponentMetrics,
    MetricsRegistry,
    exponential_buckets,
)

# Values of the label "result".
SCHEDULED = "scheduled"
UNSCHEDULABLE = "unschedulable"
WAITING_ON_PREEMPTION = "waiting_on_preemption"
ERROR = "error"
SUCCESS = "success"

# Values of the label "queue".
ACTIVE = "active"
BACKOFF = "backoff"
GATED = "gated"
INCOMPLETE = "incomplete"
PENDING = "pending"

# Values of the label "type": a pod that belongs to no group, and a group.
POD = "pod"
POD_GROUP = "podgroup"

#: Value of the label "event" for the pods that are being scheduled.
POD_POPPED = "PodPopped"

# Values of the label "operation".
BINDING = "binding"
PRIORITIZING_EXTENDER = "prioritizing_extender"

#: The percentage of scheduling cycles in which each plugin is timed.
# kube-scheduler: scheduler.go (pluginMetricsSamplePercent)
PLUGIN_METRICS_SAMPLE_PERCENT = 10

# Starting at 1 ms, 0.1 ms, 0.01 ms, 0.01 ms and 10 ms.
_ATTEMPT_SECONDS = exponential_buckets(0.001, 2, 15)
_POINT_SECONDS = exponential_buckets(0.0001, 2, 12)
_PLUGIN_SECONDS = exponential_buckets(0.00001, 1.5, 20)
_BATCH_SECONDS = exponential_buckets(0.00001, 2, 12)
_POD_SECONDS = exponential_buckets(0.01, 2, 20)
_PREEMPTION_SECONDS = exponential_buckets(0.001, 2, 16)
_VICTIMS = exponential_buckets(1, 2, 11)

#: The gates that hide a metric and are off by default.
_OFF_BY_DEFAULT = frozenset(
    ("SchedulerAsyncAPICalls", "GenericWorkload", "TopologyAwareWorkloadScheduling")
)


def _by_default(gate: str) -> bool:
    return gate not in _OFF_BY_DEFAULT


class Metrics:
    """Every metric of one scheduler, in a registry of its own.

    A metric with labels is indexed with their values, in the order of its labels below.
    """

    def __init__(
        self,
        enabled: Callable[[str], bool] = _by_default,
        registry: MetricsRegistry | None = None,
        *,
        as_in_1_36: bool = False,
    ) -> None:
        self.registry = registry or MetricsRegistry()
        self.maker = (
            ComponentMetrics(
                self.registry,
                enabled,
                absent=metrics_1_36.NOT_IN_1_36,
                alpha=metrics_1_36.ALPHA_IN_1_36,
                help=metrics_1_36.HELP_IN_1_36,
            )
            if as_in_1_36
            else ComponentMetrics(self.registry, enabled, absent=metrics_1_36.ONLY_IN_1_36)
        )
        self._attempts()
        self._queue()
        self._framework()
        self._batching()
        self._preemption_and_calls()
        self._dynamic_resources_and_volumes()
        self._pod_groups()
        self._placements()

    def expose(self) -> bytes:
        """Return the body of /metrics."""
        return expose(self.registry.collect())

    def observe_attempt(self, result: str, profile: str, seconds: float) -> None:
        """Count a scheduling attempt and its duration."""
        self.scheduling_attempt_duration[result, profile].observe(seconds)
        self.schedule_attempts[result, profile].inc()

    def _attempts(self) -> None:
        make = self.maker
        #: result, profile
        self.schedule_attempts = make.counters(
            "scheduler_schedule_attempts_total",
            "Number of attempts to schedule pods, by the result. 'unschedulable' means a pod could "
            "not be scheduled, while 'error' means an internal scheduler problem.",
            ("result", "profile"),
            stability=STABLE,
        )
        #: result, profile
        self.scheduling_attempt_duration = make.histograms(
            "scheduler_scheduling_attempt_duration_seconds",
            "Scheduling attempt latency in seconds (scheduling algorithm + binding)",
            ("result", "profile"),
            _ATTEMPT_SECONDS,
            stability=STABLE,
        )
        self.scheduling_algorithm_duration = make.histogram(
            "scheduler_scheduling_algorithm_duration_seconds",
            "Scheduling algorithm latency in seconds",
            _ATTEMPT_SECONDS,
            stability=BETA,
        )
        #: attempts ("15+" from fifteen on)
        self.pod_scheduling_sli_duration = make.histograms(
            "scheduler_pod_scheduling_sli_duration_seconds",
            "E2e latency for a pod being scheduled, from the time the pod enters the scheduling "
            "queue and might involve multiple scheduling attempts.",
            ("attempts",),
            _POD_SECONDS,
            stability=BETA,
        )
        self.pod_scheduling_attempts = make.histogram(
            "scheduler_pod_scheduling_attempts",
            "Number of attempts to successfully schedule a pod.",
            exponential_buckets(1, 2, 5),
            stability=STABLE,
        )
        self.pod_scheduled_after_flush = make.counter(
            "scheduler_pod_scheduled_after_flush_total",
            "Number of pods that were successfully scheduled after being flushed from "
            "unschedulableEntities due to timeout. This metric helps detect potential queueing "
            "hint misconfigurations or event handling issues.",
        )
        #: operation
        self.goroutines = make.gauges(
            "scheduler_goroutines",
            "Number of running goroutines split by the work they do such as binding.",
            ("operation",),
            stability=BETA,
        )
        #: type
        self.cache_size = make.gauges(
            "scheduler_cache_size",
            "Number of nodes, pods, and assumed (bound) pods in the scheduler cache.",
            ("type",),
        )
        #: event
        self.event_handling_duration = make.histograms(
            "scheduler_event_handling_duration_seconds",
            "Event handling latency in seconds.",
            ("event",),
            _POINT_SECONDS,
        )

    def _queue(self) -> None:
        make = self.maker
        #: queue
        self.pending_pods = make.gauges(
            "scheduler_pending_pods",
            "Number of pending pods, by the queue type. 'active' means number of pods in activeQ; "
            "'backoff' means number of pods in backoffQ; 'unschedulable' means number of pods in "
            "unschedulableEntities that the scheduler attempted to schedule and failed; 'gated' is "
            "the number of unschedulable pods that the scheduler never attempted to schedule "
            "because they are gated; 'incomplete' means number of pods in incompletePodGroupPods; "
            "'pending' means number of pods in pendingPodGroupPods.",
            ("queue",),
            stability=STABLE,
        )
        #: queue, type
        self.queued_entities = make.gauges(
            "scheduler_queued_entities",
            "Number of queued scheduling entities ('pod' or 'podgroup'; 'pod' stands for "
            "individual pods that are not members of any podgroup) by the queue type. 'active' "
            "means number of entities in activeQ; 'backoff' means number of entities in backoffQ; "
            "'unschedulable' means number of entities in unschedulableEntities that the scheduler "
            "attempted to schedule and failed; 'gated' is the number of unschedulable entities "
            "that the scheduler never attempted to schedule because they are gated.",
            ("queue", "type"),
        )
        #: queue, event
        self.queue_incoming_pods = make.counters(
            "scheduler_queue_incoming_pods_total",
            "Number of pods added to scheduling queues by event and queue type.",
            ("queue", "event"),
            stability=STABLE,
        )
        #: queue, event, type
        self.queue_incoming_entities = make.counters(
            "scheduler_queue_incoming_entities_total",
            "Number of scheduling entities added to scheduling queues by event, queue type, and "
            "entity type. Entity types are either 'pod' (for individual pods that are not members "
            "of any podgroup) or 'podgroup'.",
            ("queue", "event", "type"),
        )
        #: plugin, profile
        self.unschedulable_pods = make.gauges(
            "scheduler_unschedulable_pods",
            "The number of unschedulable pods broken down by plugin name. A pod will increment the "
            "gauge for all plugins that caused it to not schedule and so this metric have meaning "
            "only when broken down by plugin.",
            ("plugin", "profile"),
            stability=BETA,
        )
        #: event
        self.inflight_events = make.gauges(
            "scheduler_inflight_events",
            "Number of events currently tracked in the scheduling queue.",
            ("event",),
        )
        #: plugin, event, hint
        self.queueing_hint_duration = make.histograms(
            "scheduler_queueing_hint_execution_duration_seconds",
            "Duration for running a queueing hint function of a plugin.",
            ("plugin", "event", "hint"),
            _PLUGIN_SECONDS,
        )

        #: plugin, result
        self.pre_queueing_hint_evaluations = make.counters(
            "scheduler_pre_queueing_hint_evaluations_total",
            "Number of PreQueueingHint evaluations, labeled by plugin and result (all_pods or "
            "narrowed).",
            ("plugin", "result"),
        )

    def _framework(self) -> None:
        make = self.maker
        #: extension_point, status, profile
        self.extension_point_duration = make.histograms(
            "scheduler_framework_extension_point_duration_seconds",
            "Latency for running all plugins of a specific extension point.",
            ("extension_point", "status", "profile"),
            _POINT_SECONDS,
            stability=STABLE,
        )
        #: plugin, extension_point, status
        self.plugin_duration = make.histograms(
            "scheduler_plugin_execution_duration_seconds",
            "Duration for running a plugin at a specific extension point.",
            ("plugin", "extension_point", "status"),
            _PLUGIN_SECONDS,
            stability=BETA,
        )
        #: plugin, extension_point, profile
        self.plugin_evaluations = make.counters(
            "scheduler_plugin_evaluation_total",
            "Number of attempts to schedule pods by each plugin and the extension point (available "
            "only in PreFilter, Filter, PreScore, and Score).",
            ("plugin", "extension_point", "profile"),
            stability=BETA,
        )
        #: result
        self.permit_wait_duration = make.histograms(
            "scheduler_permit_wait_duration_seconds",
            "Duration of waiting on permit.",
            ("result",),
            _ATTEMPT_SECONDS,
            stability=BETA,
        )

    def _batching(self) -> None:
        make = self.maker
        #: profile, result
        self.batch_attempts = make.counters(
            "scheduler_batch_attempts_total",
            "Counts of results when we attempt to use batching.",
            ("profile", "result"),
        )
        #: profile, reason
        self.batch_cache_flushed = make.counters(
            "scheduler_batch_cache_flushed_total",
            "Counts of cache flushes by reason.",
            ("profile", "reason"),
        )
        #: hinted, profile
        self.get_node_hint_duration = make.histograms(
            "scheduler_get_node_hint_duration_seconds",
            "Latency for getting a node hint.",
            ("hinted", "profile"),
            _BATCH_SECONDS,
        )
        #: profile
        self.store_schedule_results_duration = make.histograms(
            "scheduler_store_schedule_results_duration_seconds",
            "Latency for storing scheduling results.",
            ("profile",),
            _BATCH_SECONDS,
        )
        #: profile
        self.batch_rescore_attempts = make.counters(
            "scheduler_batch_rescore_attempts_total",
            "Counts of rescore attempts during opportunistic batching.",
            ("profile",),
        )
        #: profile
        self.batch_rescore_duration = make.histograms(
            "scheduler_batch_rescore_duration_seconds",
            "Latency for rescoring a node during opportunistic batching.",
            ("profile",),
            _BATCH_SECONDS,
        )

    def _preemption_and_calls(self) -> None:
        make = self.maker
        self.preemption_victims = make.histogram(
            "scheduler_preemption_victims",
            "Number of selected preemption victims for preemption initiated by a single pod",
            exponential_buckets(1, 2, 7),
            stability=STABLE,
        )
        self.preemption_attempts = make.counter(
            "scheduler_preemption_attempts_total",
            "Total preemption attempts in the cluster till now",
            stability=STABLE,
        )
        #: result
        self.preemption_goroutines_duration = make.histograms(
            "scheduler_preemption_goroutines_duration_seconds",
            "Duration in seconds for running goroutines for the preemption.",
            ("result",),
            _POD_SECONDS,
            gate="SchedulerAsyncPreemption",
        )
        #: result
        self.preemption_goroutines = make.counters(
            "scheduler_preemption_goroutines_execution_total",
            "Number of preemption goroutines executed.",
            ("result",),
            gate="SchedulerAsyncPreemption",
        )
        #: call_type, result
        self.async_api_calls = make.counters(
            "scheduler_async_api_call_execution_total",
            "Total number of API calls executed by the async dispatcher.",
            ("call_type", "result"),
            gate="SchedulerAsyncAPICalls",
        )
        #: call_type, result
        self.async_api_call_duration = make.histograms(
            "scheduler_async_api_call_execution_duration_seconds",
            "Duration in seconds for executing API call in the async dispatcher.",
            ("call_type", "result"),
            _ATTEMPT_SECONDS,
            gate="SchedulerAsyncAPICalls",
        )
        #: call_type
        self.pending_async_api_calls = make.gauges(
            "scheduler_pending_async_api_calls",
            "Number of API calls currently pending in the async queue.",
            ("call_type",),
            gate="SchedulerAsyncAPICalls",
        )

    def _dynamic_resources_and_volumes(self) -> None:
        make = self.maker
        #: status
        self.resource_claim_creates = make.counters(
            "scheduler_resourceclaim_creates_total",
            "Number of ResourceClaims creation requests within scheduler",
            ("status",),
            gate="DRAExtendedResource",
        )
        #: status, admin_access, owner_api_group, owner_api_kind
        self.owned_resource_claim_creates = make.counters(
            "dynamic_resource_allocation_resourceclaim_creates_total",
            "Number of ResourceClaims creation requests, categorized by creation status, admin "
            "access, and owning API group and kind (either Pod or scheduling.k8s.io/PodGroup)",
            ("status", "admin_access", "owner_api_group", "owner_api_kind"),
            gate="DRAExtendedResource",
        )
        #: profile, driver, status
        self.binding_conditions_allocations = make.counters(
            "scheduler_dra_bindingconditions_allocations_total",
            "Number of allocations using devices with BindingConditions, counted per driver per "
            "scheduling attempt",
            ("profile", "driver", "status"),
            gate="DRADeviceBindingConditions",
        )
        #: profile, driver, status
        self.binding_conditions_wait_duration = make.histograms(
            "scheduler_dra_bindingconditions_wait_duration_seconds",
            "Time in seconds spent waiting for BindingConditions to be satisfied during PreBind.",
            ("profile", "driver", "status"),
            exponential_buckets(0.1, 2, 14),
            gate="DRADeviceBindingConditions",
        )
        #: operation
        self.volume_binder_cache_requests = make.counters(
            "scheduler_volume_binder_cache_requests_total",
            "Total number for request volume binding cache",
            ("operation",),
        )
        #: operation
        self.volume_scheduling_stage_errors = make.counters(
            "scheduler_volume_scheduling_stage_error_total",
            "Volume scheduling stage error count",
            ("operation",),
        )

    def _pod_groups(self) -> None:
        make = self.maker
        #: result, profile
        self.pod_group_schedule_attempts = make.counters(
            "scheduler_podgroup_schedule_attempts_total",
            "Number of attempts to schedule pod group, by the result. 'unschedulable' means a pod "
            "group could not be scheduled, while 'error' means an internal scheduler problem.",
            ("result", "profile"),
            gate="GenericWorkload",
        )
        #: result, profile
        self.pod_group_scheduling_attempt_duration = make.histograms(
            "scheduler_podgroup_scheduling_attempt_duration_seconds",
            "Pod group scheduling attempt latency in seconds",
            ("result", "profile"),
            _ATTEMPT_SECONDS,
            gate="GenericWorkload",
        )
        self.pod_group_scheduling_algorithm_duration = make.histogram(
            "scheduler_podgroup_scheduling_algorithm_duration_seconds",
            "Pod group scheduling algorithm latency in seconds",
            _ATTEMPT_SECONDS,
            gate="GenericWorkload",
        )
        #: result
        self.workload_preemption_attempts = make.counters(
            "scheduler_workload_preemption_attempts_total",
            "Total preemption attempts initiated by workload (including pod groups) in the cluster "
            "till now.",
            ("result",),
            gate="GenericWorkload",
        )
        self.workload_preemption_victims = make.histogram(
            "scheduler_workload_preemption_victims",
            "Number of pod preemption victims caused by workload preemption.",
            _VICTIMS,
            gate="GenericWorkload",
        )
        #: preemptor
        self.preemption_workload_disruptions = make.histograms(
            "scheduler_preemption_workload_disruptions",
            "Number of workload preemption units being preempted. A single preemption unit can be "
            "all pods in a pod group (in case of DisruptionMode=all), or a single pod (in case of "
            "DisruptionMode=single).",
            ("preemptor",),
            _VICTIMS,
            gate="GenericWorkload",
        )
        #: preemptor, result
        self.preemption_evaluation_duration = make.histograms(
            "scheduler_preemption_evaluation_duration_seconds",
            "Duration in seconds for identifying the target preemption victims.",
            ("preemptor", "result"),
            _PREEMPTION_SECONDS,
            gate="GenericWorkload",
        )
        #: preemptor, result
        self.preemption_execution_duration = make.histograms(
            "scheduler_preemption_execution_duration_seconds",
            "Duration in seconds for preempting the target preemption victims. With async "
            "preemption enabled, preemption execution does not block the scheduling of other pods.",
            ("preemptor", "result"),
            _PREEMPTION_SECONDS,
            gate="GenericWorkload",
        )
        #: preemptor
        self.preemption_pdb_violations = make.counters(
            "scheduler_preemption_pdb_violations_total",
            "Total number of pod disruption budget violations caused by preemption.",
            ("preemptor",),
            gate="GenericWorkload",
        )

    def _placements(self) -> None:
        make = self.maker
        #: profile
        self.generated_placements = make.counters(
            "scheduler_generated_placements_total",
            "Number of candidate placements generated when scheduling pod groups.",
            ("profile",),
            gate="TopologyAwareWorkloadScheduling",
        )
        #: result, profile
        self.placement_evaluations = make.counters(
            "scheduler_placement_evaluations_total",
            "Number of candidate placements evaluated when scheduling pod groups, by result. "
            "'feasible' means the pod group fit into the placement, while 'infeasible' means it "
            "did not.",
            ("result", "profile"),
            gate="TopologyAwareWorkloadScheduling",
        )
        #: result, profile
        self.placement_evaluation_duration = make.histograms(
            "scheduler_placement_evaluation_duration_seconds",
            "Latency in seconds of evaluating a single candidate placement when scheduling pod "
            "groups, by result. 'feasible' means the pod group fit into the placement, while "
            "'infeasible' means it did not.",
            ("result", "profile"),
            _ATTEMPT_SECONDS,
            gate="TopologyAwareWorkloadScheduling",
        )
