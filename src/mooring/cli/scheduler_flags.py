"""The flags of the commands that ask the leading scheduler."""

from __future__ import annotations

import argparse
from typing import TYPE_CHECKING

from mooring.errors import ConfigError

if TYPE_CHECKING:
    from mooring.leader.scheduler_questions import SchedulerAddress


def add_scheduler_flags(parser: argparse.ArgumentParser, *, lease_default: str) -> None:
    """Add the flags that name the scheduler; `lease_default` describes the default of --lease."""
    parser.add_argument(
        "--scheduler",
        default="",
        metavar="URL",
        help="the https:// URL of the leader's port, in place of kubectl port-forward",
    )
    parser.add_argument(
        "--certificate-sha256",
        type=_fingerprint,
        metavar="HEX",
        help="the SHA-256 of the certificate of --scheduler; by default the Lease names it",
    )
    parser.add_argument(
        "--lease",
        default="",
        metavar="NAMESPACE/NAME",
        help=f"the Lease of the scheduler; by default {lease_default}",
    )


def read_scheduler_address(args: argparse.Namespace) -> SchedulerAddress:
    """Return the scheduler that the flags name; raise ConfigError if they are inconsistent."""
    from mooring.leader.leader_lookup import LeaseName
    from mooring.leader.scheduler_questions import SchedulerAddress

    if args.certificate_sha256 and not args.scheduler:
        raise ConfigError("--certificate-sha256 needs --scheduler: give both")
    lease = None
    if args.lease:
        namespace, slash, name = args.lease.partition("/")
        if not (namespace and slash and name):
            raise ConfigError(f"--lease must be NAMESPACE/NAME, got {args.lease!r}")
        lease = LeaseName(namespace, name)
    return SchedulerAddress(
        url=args.scheduler,
        certificate_sha256=args.certificate_sha256 or "",
        lease=lease,
        kubeconfig=args.kubeconfig,
    )


def _fingerprint(text: str) -> str:
    from mooring.explain.lease_annotations import read_fingerprint

    found = read_fingerprint(text)
    if not found:
        raise argparse.ArgumentTypeError(f"must be 64 hexadecimal digits, got {text!r}")
    return found
