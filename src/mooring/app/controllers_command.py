"""The command line of `mooring controllers`: its flags, which are those of `mooring run`."""

from __future__ import annotations

import logging
import shutil
import sys
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import msgspec

from mooring.api.field_errors import aggregate
from mooring.api.quota_requests import CONTAINERS, SCHEDULER, PodRequestsMode
from mooring.app.controllers_flags import FLAGS, QUOTA_FLAG
from mooring.app.flag_table import LEADER_ELECTION_FIELDS
from mooring.app.flags import FlagValues, parse_flags, usage
from mooring.app.options import (
    header_mistakes,
    read_authentication,
    read_authorization,
    read_log_options,
    read_secure_serving,
    serving_mistakes,
)
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
        quota_requests=flags[QUOTA_FLAG],
    )


def _quota_mistakes(flags: FlagValues) -> Iterable[str]:
    if flags[QUOTA_FLAG] not in (CONTAINERS, SCHEDULER):
        yield f'--{QUOTA_FLAG} must be {CONTAINERS} or {SCHEDULER}, got "{flags[QUOTA_FLAG]}"'


def _election_mistakes(election: LeaderElection) -> Iterable[str]:
    if election.leader_elect:
        for flag, value in (
            ("leader-elect-resource-name", election.resource_name),
            ("leader-elect-resource-namespace", election.resource_namespace),
        ):
            if not value:
                yield f"--{flag} must not be empty"
