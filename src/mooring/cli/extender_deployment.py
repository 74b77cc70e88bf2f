"""The Kubernetes objects that run an extender beside a stock kube-scheduler."""

from __future__ import annotations

import argparse
import base64
from collections.abc import Mapping

from msgspec.structs import replace

from mooring.cli.extender import make_options
from mooring.cli.rights import Rule, binding_rules, reading_rules
from mooring.cli.scheduler_deployment import (
    TLS_FOLDER,
    ContainerProgram,
    DeploymentSettings,
    Object,
    labelled_object,
    labels_of,
    objects,
)
from mooring.client.client import Client
from mooring.client.no_server import NoServer
from mooring.errors import ConfigError
from mooring.extender.extender_cluster import ExtenderCluster
from mooring.extender.extender_defaults import PORT
from mooring.extender.extender_options import (
    ExtenderOptions,
    extender_section,
    section_yaml,
)
from mooring.extender.extender_profiles import served_verbs, total_weight
from mooring.extender.extender_verbs import ExtenderVerbs
from mooring.observe.clock import SystemClock
from mooring.observe.metrics import Metrics
from mooring.serve.certificates import PemPair, authority_in, self_signed_pair

_REPLICAS = 2
_HTTPS = 443

_HOW = """\
Add this to kube-scheduler's configuration. If kube-scheduler cannot resolve names of Services, as
on the host's network, write the Service's cluster IP into urlPrefix and the name into
tlsConfig.serverName."""
_OWN_SECRET = (
    "Name the authority of the Secret {} in tlsConfig.caFile, or the certificate is not verified."
)


def extender_objects(
    args: argparse.Namespace,
    plugins: tuple[str, ...],
    plugin_files: Mapping[str, str],
    config: str,
) -> tuple[list[Object], str]:
    """Return the objects in the order of creation, and a comment for kube-scheduler's operator.

    `plugins` are the references of the plugins in the container, `plugin_files` their files;
    `config` is the text of the configuration file.
    """
    name, namespace = args.name, args.namespace
    host = f"{name}.{namespace}.svc"
    options = replace(make_options(args), url=f"https://{host}")
    if args.replicas is not None and args.replicas < 0:
        raise ConfigError(f"--replicas={args.replicas}: must be 0 or more")
    settings = DeploymentSettings(
        name=name,
        namespace=namespace,
        image=args.image,
        replicas=_REPLICAS if args.replicas is None else args.replicas,
        config=config,
        lease=None,
        plugin_files=plugin_files,
        plugins=plugins,
        rules=extender_rules(options),
        program=ContainerProgram(
            container="extender",
            command=("mooring", "extender"),
            arguments=(*_managed(options), *_serving()),
            port=PORT,
            is_extender=True,
            tls_secret=args.tls_secret or f"{name}-tls",
        ),
    )
    found = objects(settings)
    served, authority = [_service(settings)], b""
    if not args.tls_secret:
        pair = self_signed_pair(host, (f"{host}.cluster.local", f"{name}.{namespace}", name))
        authority = authority_in(pair.certificate)
        served.insert(0, _secret(settings, pair, authority))
    # After the account, and before the Deployment that uses them.
    found[1:1] = served
    lines = _HOW.splitlines()
    if args.tls_secret:
        lines.append(_OWN_SECRET.format(args.tls_secret))
    section = section_yaml(options, [extender_section(options, authority)])
    comment = "".join(f"# {line}\n" for line in [*lines, "", *section.splitlines()])
    return found, comment.replace("# \n", "#\n")


def extender_rules(options: ExtenderOptions) -> list[Rule]:
    """Return the rights of an extender: to read what its plugins ask for, and to bind if one does.

    The plugins are made, but nothing is started.
    """
    profiles = options.config.profiles
    cluster = ExtenderCluster(
        profiles,
        client=Client(NoServer()),
        is_live=True,
        registry=options.registry,
        features=options.features,
        clock=SystemClock(),
        metrics=Metrics(options.features.enabled),
    )
    ExtenderVerbs(cluster, weight=total_weight(profiles))
    rules = reading_rules(informer.name for informer in cluster.informers)
    return [*rules, *binding_rules()] if "bind" in served_verbs(profiles) else rules


def _managed(options: ExtenderOptions) -> list[str]:
    return [
        f"--managed-resource={one.name}{':ignored' if one.ignored_by_scheduler else ''}"
        for one in options.managed_resources
    ]


def _serving() -> list[str]:
    return [
        f"--port={PORT}",
        f"--tls-cert-file={TLS_FOLDER}/tls.crt",
        f"--tls-private-key-file={TLS_FOLDER}/tls.key",
        "--v=2",
    ]


def _secret(settings: DeploymentSettings, pair: PemPair, authority: bytes) -> Object:
    files = {"tls.crt": pair.certificate, "tls.key": pair.key, "ca.crt": authority}
    return {
        **labelled_object("v1", "Secret", settings, suffix="-tls"),
        "type": "kubernetes.io/tls",
        "data": {name: base64.b64encode(data).decode() for name, data in files.items()},
    }


def _service(settings: DeploymentSettings) -> Object:
    port = {"name": "https", "port": _HTTPS, "targetPort": "https"}
    spec = {"selector": labels_of(settings), "ports": [port]}
    return {**labelled_object("v1", "Service", settings), "spec": spec}
