"""KubeSchedulerConfiguration v1 as Structs, in kube-scheduler's field names."""

# kube-scheduler: k8s.io/kube-scheduler config/v1/types.go, component-base config/v1alpha1/types.go

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.api.durations import Duration
from mooring.config import defaults
from mooring.config.struct_fields import struct_fields
from mooring.typing import Int32, Int64


class _Type(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class LeaderElection(_Type, frozen=True, kw_only=True):
    """The settings of leader election among replicas."""

    #: Whether replicas elect a leader, which alone schedules.
    leader_elect: bool = defaults.LEADER_ELECT
    #: How long other replicas wait for a renewal before one of them takes over.
    lease_duration: Duration = defaults.LEASE_DURATION
    #: How long the leader tries to renew before it gives up.
    renew_deadline: Duration = defaults.RENEW_DEADLINE
    #: The pause between two attempts to acquire or renew.
    retry_period: Duration = defaults.RETRY_PERIOD
    #: The kind of the lock; only `leases` is supported.
    resource_lock: str = defaults.RESOURCE_LOCK
    #: The name of the lock object.
    resource_name: str = defaults.RESOURCE_NAME
    #: The namespace of the lock object.
    resource_namespace: str = defaults.RESOURCE_NAMESPACE


class ClientConnection(_Type, frozen=True, kw_only=True):
    """The settings of the connection to the API server."""

    #: The kubeconfig file; without one, the service account of the pod is used.
    kubeconfig: str = ""
    #: Accepted for compatibility; Mooring reads JSON.
    accept_content_types: str = ""
    #: Accepted for compatibility; Mooring writes JSON.
    content_type: str = defaults.CONTENT_TYPE
    #: Requests per second on average; a negative number means no limit.
    qps: float = defaults.QPS
    #: Requests that may be sent at once.
    burst: Int32 = defaults.BURST


class PluginRef(_Type, frozen=True, kw_only=True):
    """A plugin's name; the weight matters only if the plugin scores."""

    #: The name of the plugin, or `*` for all defaults in `disabled`.
    name: str = ""
    #: The weight of the scores; 0 or none means the default.
    weight: Int32 | None = None


class PluginSet(_Type, frozen=True, kw_only=True):
    """The plugins enabled and disabled at one extension point; `*` disables all defaults."""

    #: The plugins to add, in order.
    enabled: tuple[PluginRef, ...] = ()
    #: The plugins to remove from the defaults.
    disabled: tuple[PluginRef, ...] = ()


class Plugins(_Type, frozen=True, kw_only=True):
    """The plugins enabled and disabled at each extension point."""

    #: Decides whether a pod may enter the queue.
    pre_enqueue: PluginSet = PluginSet()
    #: Orders the queue; exactly one plugin.
    queue_sort: PluginSet = PluginSet()
    #: Prepares an attempt, or ends it.
    pre_filter: PluginSet = PluginSet()
    #: Refuses nodes.
    filter: PluginSet = PluginSet()
    #: Runs if no node is feasible, for example to preempt.
    post_filter: PluginSet = PluginSet()
    #: Prepares scoring.
    pre_score: PluginSet = PluginSet()
    #: Scores the feasible nodes.
    score: PluginSet = PluginSet()
    #: Notes that a node was chosen, and undoes it.
    reserve: PluginSet = PluginSet()
    #: Agrees, refuses, or lets the pod wait.
    permit: PluginSet = PluginSet()
    #: Prepares the bind, for example volumes.
    pre_bind: PluginSet = PluginSet()
    #: Binds the pod to the node.
    bind: PluginSet = PluginSet()
    #: Is told of the bind.
    post_bind: PluginSet = PluginSet()
    #: Plugins for every point that they implement.
    multi_point: PluginSet = PluginSet()
    #: Proposes placements of a pod group.
    placement_generate: PluginSet = PluginSet()
    #: Scores placements of a pod group.
    placement_score: PluginSet = PluginSet()
    #: Runs if no placement of a pod group is feasible; None in releases without the field.
    pod_group_post_filter: PluginSet | None = None

    def sets(self) -> Iterator[tuple[str, PluginSet]]:
        """Yield every plugin set with its key in the file, as (key, set)."""
        for field in struct_fields(type(self)):
            plugin_set: PluginSet | None = getattr(self, field.name)
            if plugin_set is not None:
                yield field.encode_name, plugin_set

    def at(self, key: str) -> PluginSet:
        """Return the plugin set under a key of the file, such as `preFilter`."""
        plugin_set: PluginSet | None = getattr(self, _FIELD_OF_KEY[key])
        return PluginSet() if plugin_set is None else plugin_set


class PluginConfig(_Type, frozen=True, kw_only=True):
    """One plugin's arguments: plain data as read, its `Args` Struct once typed."""

    #: The name of the plugin.
    name: str = ""
    #: The arguments; see below.
    args: Any = None


class ProfileConfig(_Type, frozen=True, kw_only=True):
    """One scheduler name: which plugins run, and how."""

    #: The `spec.schedulerName` of the pods that this profile serves.
    scheduler_name: str | None = None
    #: As above, for this profile.
    percentage_of_nodes_to_score: Int32 | None = None
    #: The plugins of each extension point; the defaults without it.
    plugins: Plugins | None = None
    #: The arguments of plugins.
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(_Type, frozen=True, kw_only=True):
    """A resource that an extender manages."""

    #: The name of the extended resource.
    name: str = ""
    #: Whether NodeResourcesFit ignores the resource.
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(_Type, frozen=True, kw_only=True):
    """The TLS settings of the connection to an extender."""

    #: Whether the certificate of the extender is not verified.
    insecure: bool = False
    #: The name that the certificate must have.
    server_name: str = ""
    #: The file of the client certificate.
    cert_file: str = ""
    #: The file of the client key.
    key_file: str = ""
    #: The file of the trusted certificates.
    ca_file: str = msgspec.field(name="caFile", default="")
    #: The client certificate; wins over the file.
    cert_data: bytes = b""
    #: The client key; wins over the file.
    key_data: bytes = b""
    #: The trusted certificates; win over the file.
    ca_data: bytes = msgspec.field(name="caData", default=b"")


class Extender(_Type, frozen=True, kw_only=True):
    """A webhook that takes part in scheduling."""

    #: The address of the extender.
    url_prefix: str = ""
    #: The path for filtering; none means that it does not filter.
    filter_verb: str = ""
    #: The path for preemption.
    preempt_verb: str = ""
    #: The path for scoring.
    prioritize_verb: str = ""
    #: The weight of its scores; required with `prioritizeVerb`.
    weight: Int64 = 0
    #: The path for binding; one extender at most.
    bind_verb: str = ""
    #: Whether HTTPS is used.
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    #: The TLS settings.
    tls_config: ExtenderTLSConfig | None = None
    #: Zero means `defaults.EXTENDER_TIMEOUT`.
    http_timeout: Duration = Duration(0)
    #: Whether the extender knows the nodes, so that requests carry names only.
    node_cache_capable: bool = False
    #: If set, only pods that request one of these are sent.
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    #: Whether scheduling goes on if the extender fails.
    ignorable: bool = False


class KubeSchedulerConfiguration(_Type, frozen=True, kw_only=True):
    """A whole configuration."""

    #: The version of the format.
    api_version: str = defaults.API_VERSION
    #: The kind of the file.
    kind: str = defaults.KIND
    #: Accepted for compatibility; must be greater than 0.
    parallelism: Int32 = defaults.PARALLELISM
    #: Leader election.
    leader_election: LeaderElection = LeaderElection()
    #: The connection to the API server.
    client_connection: ClientConnection = ClientConnection()
    #: Whether `/debug/pprof` is served.
    enable_profiling: bool = defaults.ENABLE_PROFILING
    #: None until defaulted: on if profiling is on.
    enable_contention_profiling: bool | None = None
    #: The percentage of nodes to examine; 0 means all nodes, or a share that depends on their
    #: number if a plugin must be called node by node.
    percentage_of_nodes_to_score: Int32 = defaults.PERCENTAGE_OF_NODES_TO_SCORE
    #: The first pause after a failed attempt.
    pod_initial_backoff_seconds: Int64 = defaults.POD_INITIAL_BACKOFF_SECONDS
    #: The longest pause after failed attempts.
    pod_max_backoff_seconds: Int64 = defaults.POD_MAX_BACKOFF_SECONDS
    #: The profiles; one with the defaults if there is none.
    profiles: tuple[ProfileConfig, ...] = ()
    #: The webhooks.
    extenders: tuple[Extender, ...] = ()
    #: Whether a standby fills its cache only once it leads.
    delay_cache_until_active: bool = False


_FIELD_OF_KEY = {field.encode_name: field.name for field in msgspec.structs.fields(Plugins)}
