"""KubeSchedulerConfiguration v1 as Structs, in kube-scheduler's field names."""

# kube-scheduler: k8s.io/kube-scheduler config/v1/types.go, component-base config/v1alpha1/types.go

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec

from mooring.api.durations import Duration
from mooring.config import defaults
from mooring.config.decode import INT32, INT64
from mooring.config.struct_fields import struct_fields


class _Type(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    pass


class LeaderElection(_Type, frozen=True, kw_only=True):
    """The settings of leader election among replicas."""

    leader_elect: bool = defaults.LEADER_ELECT
    lease_duration: Duration = defaults.LEASE_DURATION
    renew_deadline: Duration = defaults.RENEW_DEADLINE
    retry_period: Duration = defaults.RETRY_PERIOD
    resource_lock: str = defaults.RESOURCE_LOCK
    resource_name: str = defaults.RESOURCE_NAME
    resource_namespace: str = defaults.RESOURCE_NAMESPACE


class ClientConnection(_Type, frozen=True, kw_only=True):
    """The settings of the connection to the API server."""

    kubeconfig: str = ""
    accept_content_types: str = ""
    content_type: str = defaults.CONTENT_TYPE
    qps: float = defaults.QPS
    burst: INT32 = defaults.BURST


class PluginRef(_Type, frozen=True, kw_only=True):
    """A plugin's name; the weight matters only if the plugin scores."""

    name: str = ""
    weight: INT32 | None = None


class PluginSet(_Type, frozen=True, kw_only=True):
    """The plugins enabled and disabled at one extension point; `*` disables all defaults."""

    enabled: tuple[PluginRef, ...] = ()
    disabled: tuple[PluginRef, ...] = ()


class Plugins(_Type, frozen=True, kw_only=True):
    """The plugins enabled and disabled at each extension point."""

    pre_enqueue: PluginSet = PluginSet()
    queue_sort: PluginSet = PluginSet()
    pre_filter: PluginSet = PluginSet()
    filter: PluginSet = PluginSet()
    post_filter: PluginSet = PluginSet()
    pre_score: PluginSet = PluginSet()
    score: PluginSet = PluginSet()
    reserve: PluginSet = PluginSet()
    permit: PluginSet = PluginSet()
    pre_bind: PluginSet = PluginSet()
    bind: PluginSet = PluginSet()
    post_bind: PluginSet = PluginSet()
    multi_point: PluginSet = PluginSet()
    placement_generate: PluginSet = PluginSet()
    placement_score: PluginSet = PluginSet()

    def sets(self) -> Iterator[tuple[str, PluginSet]]:
        """Yield every plugin set with its key in the file, as (key, set)."""
        for field in struct_fields(type(self)):
            yield field.encode_name, getattr(self, field.name)

    def at(self, key: str) -> PluginSet:
        """Return the plugin set under a key of the file, such as `preFilter`."""
        plugin_set: PluginSet = getattr(self, _FIELD_OF_KEY[key])
        return plugin_set


class PluginConfig(_Type, frozen=True, kw_only=True):
    """One plugin's arguments: plain data as read, its `Args` Struct once typed."""

    name: str = ""
    args: Any = None


class ProfileConfig(_Type, frozen=True, kw_only=True):
    """One scheduler name: which plugins run, and how."""

    scheduler_name: str | None = None
    percentage_of_nodes_to_score: INT32 | None = None
    plugins: Plugins | None = None
    plugin_config: tuple[PluginConfig, ...] = ()


class ExtenderManagedResource(_Type, frozen=True, kw_only=True):
    """A resource that an extender manages."""

    name: str = ""
    ignored_by_scheduler: bool = False


class ExtenderTLSConfig(_Type, frozen=True, kw_only=True):
    """The TLS settings of the connection to an extender."""

    insecure: bool = False
    server_name: str = ""
    cert_file: str = ""
    key_file: str = ""
    ca_file: str = msgspec.field(name="caFile", default="")
    cert_data: bytes = b""
    key_data: bytes = b""
    ca_data: bytes = msgspec.field(name="caData", default=b"")


class Extender(_Type, frozen=True, kw_only=True):
    """A webhook that takes part in scheduling."""

    url_prefix: str = ""
    filter_verb: str = ""
    preempt_verb: str = ""
    prioritize_verb: str = ""
    weight: INT64 = 0
    bind_verb: str = ""
    enable_https: bool = msgspec.field(name="enableHTTPS", default=False)
    tls_config: ExtenderTLSConfig | None = None
    #: Zero means `defaults.EXTENDER_TIMEOUT`.
    http_timeout: Duration = Duration(0)
    node_cache_capable: bool = False
    managed_resources: tuple[ExtenderManagedResource, ...] = ()
    ignorable: bool = False


class KubeSchedulerConfiguration(_Type, frozen=True, kw_only=True):
    """A whole configuration."""

    api_version: str = defaults.API_VERSION
    kind: str = defaults.KIND
    parallelism: INT32 = defaults.PARALLELISM
    leader_election: LeaderElection = LeaderElection()
    client_connection: ClientConnection = ClientConnection()
    enable_profiling: bool = defaults.ENABLE_PROFILING
    #: None until defaulted: on if profiling is on.
    enable_contention_profiling: bool | None = None
    percentage_of_nodes_to_score: INT32 = defaults.PERCENTAGE_OF_NODES_TO_SCORE
    pod_initial_backoff_seconds: INT64 = defaults.POD_INITIAL_BACKOFF_SECONDS
    pod_max_backoff_seconds: INT64 = defaults.POD_MAX_BACKOFF_SECONDS
    profiles: tuple[ProfileConfig, ...] = ()
    extenders: tuple[Extender, ...] = ()
    delay_cache_until_active: bool = False


_FIELD_OF_KEY = {field.encode_name: field.name for field in msgspec.structs.fields(Plugins)}
