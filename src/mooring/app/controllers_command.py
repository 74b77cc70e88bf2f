"""The command line of `mooring controllers`: its flags, which are those of `mooring run`."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec
from msgspec.structs import replace

from mooring.api.field_errors import aggregate
from mooring.api.quota_requests import CONTAINERS, SCHEDULER, PodRequestsMode
from mooring.app.flag_table import (
    AUTHENTICATION,
    AUTHORIZATION,
    LEADER_ELECTION,
    LEADER_ELECTION_FIELDS,
    LOGS,
    SECURE_SERVING,
)
from mooring.app.flag_values import BOOL, FLOAT32, INT32, STRING
from mooring.app.flags import Flag, FlagGroup, FlagValues, parse_flags, usage
from mooring.app.options import (
    header_mistakes,
    read_authentication,
    read_authorization,
    read_log_options,
    read_secure_serving,
    serving_mistakes,
)
from mooring.config import defaults
from mooring.errors import ConfigError, MooringError
from mooring.framework.features import FeatureGates
from mooring.observe.logs import Verbosity, configure, log_error
from mooring.serve.serving_options import (
    Authentication,
    Authorization,
    InsecureServing,
    SecureServing,
)

if TYPE_CHECKING:
    from mooring.config.types import LeaderElection

log = logging.getLogger(__name__)

PROGRAM = "mooring controllers"
#: The component in Events, requests and metrics, and the name of its lease.
COMPONENT = "mooring-controllers"
#: The port after the scheduler's.
PORT = 10260

_QUOTA_FLAG = "elastic-quota-pod-requests"

_CLUSTER = FlagGroup(
    "Cluster",
    (
        Flag("kube-api-burst", INT32, defaults.BURST, "The burst of requests to the API server."),
        Flag("kube-api-qps", FLOAT32, defaults.QPS, "Requests per second to the API server."),
        Flag(
            _QUOTA_FLAG,
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


class ControllersSettings(msgspec.Struct, frozen=True, kw_only=True):
    """Everything that a command line asks for, checked and complete."""

    flags: FlagValues
    kubeconfig: str
    master: str
    qps: float
    burst: int
    election: LeaderElection
    serving: SecureServing
    authentication: Authentication
    authorization: Authorization
    verbosity: Verbosity
    quota_requests: PodRequestsMode


def run_controllers_command(
    argv: Sequence[str], run: Callable[[ControllersSettings], int], *, program: str = PROGRAM
) -> int:
    """Process a command line; return the exit status.

    Mistakes of the command line are printed, all other errors are logged.
    """
    try:
        flags = parse_flags(FLAGS, argv, program=program)
        if flags["help"]:
            width = shutil.get_terminal_size().columns
            print(usage(FLAGS, program=program, width=width), end="")
            return 0
        how = read_log_options(flags, FeatureGates())
        verbosity = configure(how.format, how.v, how.vmodule)
        settings = make_settings(flags, verbosity)
    except ConfigError as error:
        print(f'Error: {error}\nRun "{program} --help" for the flags.', file=sys.stderr)
        return 1
    try:
        return run(settings)
    except MooringError as error:
        log_error(log, error, "command failed")
        return 1


def make_settings(flags: FlagValues, verbosity: Verbosity) -> ControllersSettings:
    """Type and check the flags; raise ConfigError with all errors at once."""
    # Imported here, because help and mistakes of the command line do not need it.
    from mooring.config.types import LeaderElection

    serving, authentication = read_secure_serving(flags), read_authentication(flags)
    election = LeaderElection(
        **{field: flags[name] for name, field in LEADER_ELECTION_FIELDS.items()}
    )
    errors = [
        *serving_mistakes(serving, InsecureServing()),
        *header_mistakes(authentication.request_headers, FeatureGates()),
        *_election_mistakes(election),
        *_quota_mistakes(flags),
    ]
    if errors:
        raise ConfigError(aggregate(errors))
    return ControllersSettings(
        flags=flags,
        kubeconfig=flags["kubeconfig"],
        master=flags["master"],
        qps=flags["kube-api-qps"],
        burst=flags["kube-api-burst"],
        election=election,
        serving=serving,
        authentication=authentication,
        authorization=read_authorization(flags),
        verbosity=verbosity,
        quota_requests=flags[_QUOTA_FLAG],
    )


def _quota_mistakes(flags: FlagValues) -> Iterable[str]:
    if flags[_QUOTA_FLAG] not in (CONTAINERS, SCHEDULER):
        yield f'--{_QUOTA_FLAG} must be {CONTAINERS} or {SCHEDULER}, got "{flags[_QUOTA_FLAG]}"'


def _election_mistakes(election: LeaderElection) -> Iterable[str]:
    if election.leader_elect:
        for flag, value in (
            ("leader-elect-resource-name", election.resource_name),
            ("leader-elect-resource-namespace", election.resource_namespace),
        ):
            if not value:
                yield f"--{flag} must not be empty"
