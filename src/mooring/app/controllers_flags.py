"""The flags of `mooring controllers`, which are those of `mooring run`."""

from __future__ import annotations

from msgspec.structs import replace

from mooring.api.quota_requests import CONTAINERS
from mooring.app.flag_table import (
    AUTHENTICATION,
    AUTHORIZATION,
    LEADER_ELECTION,
    LOGS,
    SECURE_SERVING,
)
from mooring.app.flag_values import BOOL, FLOAT32, INT32, STRING
from mooring.app.flags import Flag, FlagGroup
from mooring.config import defaults

#: The component in Events, requests and metrics, and the name of its lease.
COMPONENT = "mooring-controllers"
#: The port after the scheduler's.
PORT = 10260

#: The flag about ElasticQuotas.
QUOTA_FLAG = "elastic-quota-pod-requests"

_CLUSTER = FlagGroup(
    "Cluster",
    (
        Flag("kube-api-burst", INT32, defaults.BURST, "The burst of requests to the API server."),
        Flag("kube-api-qps", FLOAT32, defaults.QPS, "Requests per second to the API server."),
        Flag(
            QUOTA_FLAG,
            STRING,
            CONTAINERS,
            "What pods count for in ElasticQuotas: podRequests of the plugin CapacityScheduling.",
        ),
        Flag("kubeconfig", STRING, "", "The kubeconfig; without it, the first that is found."),
        Flag("master", STRING, "", "The API server's address; overrides the kubeconfig."),
    ),
)


#: Defaults and help that differ from those of a scheduler, by flag.
_CHANGED: dict[str, dict[str, object]] = {
    "secure-port": {"default": PORT},
    "leader-elect": {"help": "Write only while holding the lease, for replicas of one process."},
    "leader-elect-resource-name": {"default": COMPONENT},
}


def _changed(group: FlagGroup) -> FlagGroup:
    """Return a group of a scheduler's flags, for controllers."""
    flags = (replace(flag, **_CHANGED.get(flag.name, {})) for flag in group.flags)
    return replace(group, flags=tuple(flags))


FLAGS: tuple[FlagGroup, ...] = (
    _CLUSTER,
    _changed(SECURE_SERVING),
    AUTHENTICATION,
    AUTHORIZATION,
    _changed(LEADER_ELECTION),
    LOGS,
    FlagGroup("Global", (Flag("help", BOOL, False, "Print this text.", short="h"),)),
)
