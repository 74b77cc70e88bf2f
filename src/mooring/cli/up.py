"""`mooring up`: run a local cluster that kubectl can use."""

from __future__ import annotations

import argparse
import asyncio
import signal
from pathlib import Path

from mooring.errors import ConfigError
from mooring.local.local_cluster import LocalCluster, Settings

_DESCRIPTION = """Run a local Kubernetes cluster in this process: an API server that kubectl and
other clients can use, without Docker, etcd or Go. Ctrl-C ends it."""


def add_parser(subparsers: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    """Add the command to `mooring`."""
    parser = subparsers.add_parser(
        "up", help="run a local cluster that kubectl can use", description=_DESCRIPTION
    )
    parser.add_argument(
        "--nodes", type=int, default=0, metavar="N", help="how many fake nodes to run"
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
    settings = Settings(
        host=args.bind_address,
        port=args.port,
        kubeconfig=args.kubeconfig,
        data_dir=args.data_dir,
        nodes=args.nodes,
        enabled=tuple(name for name, _, value in wanted if name and value != "false"),
    )
    return asyncio.run(_serve(settings))


async def _serve(settings: Settings) -> int:
    done = asyncio.Event()
    loop = asyncio.get_running_loop()
    for one in (signal.SIGINT, signal.SIGTERM):
        loop.add_signal_handler(one, done.set)
    cluster = LocalCluster(settings)
    try:
        await cluster.start()
    except OSError as error:
        raise ConfigError(f"cannot listen on {settings.host}:{settings.port}: {error}") from None
    print(f"The local cluster runs at {cluster.url}", flush=True)
    print(f"Try: kubectl --kubeconfig {settings.kubeconfig} get namespaces", flush=True)
    await done.wait()
    await cluster.stop()
    return 0
