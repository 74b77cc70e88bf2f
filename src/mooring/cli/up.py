"""`mooring up`: run a local cluster that kubectl can use."""

from __future__ import annotations

import argparse
import asyncio
import signal
from pathlib import Path
from typing import TYPE_CHECKING

from mooring.errors import ConfigError

if TYPE_CHECKING:
    from mooring.local.local_cluster import Settings

#: Fake nodes where nothing is said about them.
NODES = 3

_DESCRIPTION = """Run a local Kubernetes cluster in this process: an API server that kubectl and
other clients can use, without Docker, etcd or Go. Ctrl-C ends it."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser(
        "up", help="run a local cluster that kubectl can use", description=_DESCRIPTION
    )
    parser.add_argument(
        "--nodes",
        type=int,
        metavar="N",
        help=f"how many fake nodes to run (default: {NODES}; none where -f is given)",
    )
    parser.add_argument(
        "-f",
        "--filename",
        action="append",
        default=[],
        metavar="FILE",
        help="manifests to begin with, whose nodes become fake nodes: a file, a folder, or "
        '"-" for standard input; may be repeated',
    )
    parser.add_argument("--config", type=Path, metavar="FILE", help="a KubeSchedulerConfiguration")
    parser.add_argument(
        "--plugin",
        action="append",
        default=[],
        metavar="FILE.py:Class",
        help="register a plugin, and without --config enable it; may be repeated",
    )
    parser.add_argument(
        "--image",
        action="append",
        default=[],
        metavar="NAME=FILE.py:Class",
        help="run containers of this image as schedulers with this plugin; may be repeated",
    )
    parser.add_argument(
        "--port", type=int, default=0, metavar="P", help="the port; 0 takes a free one"
    )
    parser.add_argument(
        "--bind-address",
        default="127.0.0.1",
        metavar="ADDRESS",
        help="the address to listen on (default: 127.0.0.1)",
    )
    parser.add_argument(
        "--kubeconfig",
        type=Path,
        default=Path(".mooring/kubeconfig"),
        metavar="PATH",
        help="where to write the kubeconfig (default: .mooring/kubeconfig)",
    )
    parser.add_argument(
        "--data-dir", type=Path, metavar="DIR", help="keep the objects in a folder over restarts"
    )
    parser.add_argument(
        "--runtime-config",
        default="",
        metavar="VERSIONS",
        help="group versions to serve beyond the default ones, such as "
        "scheduling.k8s.io/v1alpha2=true, separated by commas",
    )
    parser.set_defaults(run=_run)


def _run(args: argparse.Namespace) -> int:
    wanted = (one.partition("=") for one in args.runtime_config.split(","))
    # Imported here: the other commands do without the half second that these take.
    from mooring.api.manifests import read_objects
    from mooring.cli.manifest_files import read_texts
    from mooring.framework.features import FeatureGates
    from mooring.local.api_server import ServerSettings
    from mooring.local.local_cluster import Settings
    from mooring.local.nodes.images import Images, parse_image
    from mooring.local.scheduling import make_plan
    from mooring.registry import load_plugin

    plugins = [*args.plugins, *(load_plugin(reference) for reference in args.plugin)]
    server = ServerSettings(
        host=args.bind_address,
        port=args.port,
        kubeconfig=args.kubeconfig,
        data_dir=args.data_dir,
        enabled=tuple(name for name, _, value in wanted if name and value != "false"),
    )
    plan = make_plan(args.config, plugins, FeatureGates())
    objects = [
        found
        for file, text in read_texts(args.filename, args.config)
        for found in read_objects(text, file)
    ]
    nodes = args.nodes if args.nodes is not None else 0 if args.filename else NODES
    images = Images(map(parse_image, args.image))
    return asyncio.run(_serve(Settings(server, plan, nodes, tuple(objects), images)))


async def _serve(settings: Settings) -> int:
    from mooring.local.local_cluster import LocalCluster

    server = settings.server
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, done.set)
    cluster = LocalCluster(settings)
    try:
        await cluster.start()
    except OSError as error:
        raise ConfigError(f"cannot listen on {server.host}:{server.port}: {error}") from None
    print(f"The local cluster runs at {cluster.server.url}", flush=True)
    print(f"Try: kubectl --kubeconfig {server.kubeconfig} get namespaces", flush=True)
    await done.wait()
    await cluster.stop()
    return 0
