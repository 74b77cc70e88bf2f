"""`mooring extender`: answer a stock kube-scheduler's webhooks with plugins."""

from __future__ import annotations

import argparse
import ipaddress
import sys
from urllib.parse import urlsplit

from msgspec.structs import replace

from mooring.api.durations import Duration
from mooring.api.quantity import value
from mooring.cli.messages import warn
from mooring.config.defaults import EXTENDER_TIMEOUT
from mooring.config.types import ExtenderManagedResource
from mooring.errors import ConfigError, ObjectError
from mooring.extender.extender_options import (
    PAIR_NAME,
    PORT,
    ExtenderOptions,
    extender_section,
    section_yaml,
)
from mooring.extender.extender_profiles import load_served
from mooring.framework.features import FeatureGates
from mooring.observe.file_rights import warn_of_changeable
from mooring.observe.files import read_file
from mooring.observe.logs import configure
from mooring.registry import default_registry, load_plugins, plugin_files
from mooring.serve.serving_options import SecureServing

_DESCRIPTION = """Serve plugins to a stock kube-scheduler as an HTTP extender: Filter answers filter
and preempt, Score answers prioritize, Bind answers bind. --print-config prints what to add to
kube-scheduler's configuration."""

_LARGEST_REQUEST = 2**30
_NOT_VERIFIED = (
    "# kube-scheduler does not verify this certificate: name the authority that signed it in "
    "tlsConfig.caFile.\n"
)


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add `extender`."""
    parser = subparsers.add_parser(
        "extender",
        help="serve plugins to a stock kube-scheduler, as an HTTP extender",
        description=_DESCRIPTION,
    )
    add_plugin_options(parser)
    parser.add_argument(
        "--kubeconfig",
        default="",
        metavar="FILE",
        help="the cluster (default: that of the pod, of $KUBECONFIG or of ~/.kube/config; if there "
        "is none, requests must carry whole nodes)",
    )
    parser.add_argument(
        "--feature-gates", default="", metavar="A=true,B=false", help="feature gates to set"
    )
    parser.add_argument(
        "--bind-address", default="0.0.0.0", metavar="IP", help="(default: all addresses)"
    )
    parser.add_argument("--port", type=int, default=PORT, metavar="P", help=f"(default: {PORT})")
    parser.add_argument("--http", action="store_true", help="serve plain HTTP, without TLS")
    parser.add_argument(
        "--tls-cert-file",
        default="",
        metavar="FILE",
        help="the certificate to serve with; without it a self-signed one is made",
    )
    parser.add_argument("--tls-private-key-file", default="", metavar="FILE", help="its key")
    parser.add_argument(
        "--cert-dir",
        default="",
        metavar="FOLDER",
        help=f"where the self-signed certificate is kept, as {PAIR_NAME}.crt and .key",
    )
    parser.add_argument(
        "--client-ca-file",
        default="",
        metavar="FILE",
        help="answer only clients with a certificate of these authorities",
    )
    parser.add_argument(
        "--max-request-size",
        default="16Mi",
        metavar="SIZE",
        help="the largest request, at most 1Gi (default: 16Mi)",
    )
    add_section_options(parser)
    parser.add_argument(
        "--url", default="", metavar="URL", help="how kube-scheduler reaches this extender"
    )
    parser.add_argument(
        "--print-config",
        action="store_true",
        help="print the extenders section for kube-scheduler's configuration, and end",
    )
    parser.add_argument("-v", "--v", type=int, default=0, metavar="N", help="how much to log")
    parser.set_defaults(run=_run)


def add_plugin_options(parser: argparse.ArgumentParser) -> None:
    """Add the options that say which plugins are served."""
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="serve a plugin; with --config, at the points that the file names; may be repeated",
    )
    parser.add_argument(
        "--config",
        metavar="FILE",
        help="a KubeSchedulerConfiguration: the plugins that it adds to the defaults are served",
    )


def add_section_options(parser: argparse._ActionsContainer) -> None:
    """Add the options that only change what kube-scheduler's configuration says."""
    parser.add_argument(
        "--managed-resource",
        action="append",
        default=[],
        metavar="NAME[:ignored]",
        help="answer only for pods that request this resource; with :ignored, kube-scheduler does "
        "not check it itself; may be repeated",
    )
    parser.add_argument(
        "--ignorable",
        action="store_true",
        help="let kube-scheduler go on without this extender if it fails",
    )
    parser.add_argument(
        "--node-cache-capable",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="whether requests carry names of nodes (default) or whole nodes",
    )
    parser.add_argument(
        "--http-timeout",
        default=str(EXTENDER_TIMEOUT),
        metavar="DURATION",
        help=f"how long kube-scheduler waits for an answer (default: {EXTENDER_TIMEOUT})",
    )


def make_options(args: argparse.Namespace) -> ExtenderOptions:
    """Return the checked options of a command line; raise ConfigError if one is invalid."""
    gates = FeatureGates.from_text(getattr(args, "feature_gates", ""))
    plugins = (*args.plugins, *load_plugins(args.plugin))
    registry = default_registry(plugins)
    config = load_served(args.config, plugins, registry, gates)
    warn((*gates.warnings, *config.warnings))
    return ExtenderOptions(
        config=config,
        registry=registry,
        features=gates,
        plugins=plugins,
        managed_resources=tuple(_managed(text) for text in args.managed_resource),
        ignorable=args.ignorable,
        node_cache_capable=args.node_cache_capable,
        timeout=_timeout(args.http_timeout),
    )


def _managed(text: str) -> ExtenderManagedResource:
    name, _, rest = text.partition(":")
    if not name or rest not in ("", "ignored"):
        raise ConfigError(
            f"--managed-resource={text}: must be NAME or NAME:ignored, such as example.com/gpu"
        )
    return ExtenderManagedResource(name=name, ignored_by_scheduler=rest == "ignored")


def _timeout(text: str) -> Duration:
    try:
        found = Duration.parse(text)
    except ValueError as error:
        raise ConfigError(f"--http-timeout={text}: {error}") from None
    if found <= 0:
        raise ConfigError(f"--http-timeout={text}: must be greater than 0")
    return found


def _run(args: argparse.Namespace) -> int:
    options = _with_serving(make_options(args), args)
    if args.print_config:
        sys.stdout.write(_section(options))
        return 0
    # Imported here, because the other commands need no server.
    from mooring.extender.extender_server import run_extender
    from mooring.observe.output import steady_output
    from mooring.serve.acceptor import raise_open_files_limit

    verbosity = configure(v=args.v)
    warn_of_changeable((*plugin_files(args.plugin), *filter(None, (args.config,))))
    raise_open_files_limit()
    # A plugin may print to a pipe that nobody reads; that must not block the server.
    with steady_output():
        return run_extender(options, verbosity)


def _with_serving(options: ExtenderOptions, args: argparse.Namespace) -> ExtenderOptions:
    if not 0 < args.port < 2**16:
        raise ConfigError(f"--port={args.port}: must be from 1 to 65535")
    try:
        ipaddress.ip_address(args.bind_address)
    except ValueError:
        raise ConfigError(f"--bind-address={args.bind_address}: must be an IP address") from None
    if bool(args.tls_cert_file) != bool(args.tls_private_key_file):
        raise ConfigError("--tls-cert-file and --tls-private-key-file must be given together")
    if args.http and (args.tls_cert_file or args.cert_dir or args.client_ca_file):
        raise ConfigError("--http: without TLS, certificates cannot be used")
    if args.url and (urlsplit(args.url).scheme not in ("http", "https") or not _host(args.url)):
        raise ConfigError(f"--url={args.url}: must be an http or https URL with a host")
    serving = SecureServing(
        bind_address=args.bind_address,
        port=args.port,
        cert_dir=args.cert_dir,
        pair_name=PAIR_NAME,
        certificate_file=args.tls_cert_file,
        key_file=args.tls_private_key_file,
        hosts=(_host(args.url),) if args.url else (),
    )
    return replace(
        options,
        kubeconfig=args.kubeconfig,
        serving=serving,
        plain_http=args.http,
        client_ca_file=args.client_ca_file,
        max_request=_size(args.max_request_size),
        url=args.url,
    )


def _host(url: str) -> str:
    return urlsplit(url).hostname or ""


def _size(text: str) -> int:
    try:
        found = value(text)
    except ObjectError as error:
        raise ConfigError(f"--max-request-size={text}: {error}") from None
    if not 0 < found <= _LARGEST_REQUEST:
        raise ConfigError(f"--max-request-size={text}: must be from 1 byte to 1Gi")
    return found


def _section(options: ExtenderOptions) -> str:
    """Return the section for kube-scheduler; a self-signed certificate in a folder is made now."""
    from mooring.serve.certificates import authority_in
    from mooring.serve.serving_tls import ServingTls

    serving, authority = options.serving, b""
    file = serving.certificate_file
    if serving.cert_dir and not file:
        ServingTls(serving, ask=False, authorities=b"")
        file = f"{serving.cert_dir}/{serving.pair_name}.crt"
    if file:
        try:
            authority = authority_in(read_file(file))
        except OSError as error:
            raise ConfigError(error.strerror or str(error), file=file) from None
    found = section_yaml(options, [extender_section(options, authority)])
    is_verified = options.plain_http or bool(authority)
    return found if is_verified else _NOT_VERIFIED + found
