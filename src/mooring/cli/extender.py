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
from mooring.config.types import ExtenderManagedResource
from mooring.errors import ConfigError, ObjectError
from mooring.extender.extender_defaults import PAIR_NAME
from mooring.extender.extender_options import (
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

_LARGEST_REQUEST = 2**30
_NOT_VERIFIED = (
    "# kube-scheduler does not verify this certificate: name the authority that signed it in "
    "tlsConfig.caFile.\n"
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


def run(args: argparse.Namespace) -> int:
    """Serve plugins, or print the section for kube-scheduler; return the exit status."""
    options = _with_serving(make_options(args), args)
    if args.print_config:
        sys.stdout.write(_section(options))
        return 0
    # Imported here, because --print-config needs no server.
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
