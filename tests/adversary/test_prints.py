"""Plugins that print without end, to pipes that nobody reads, to no reader and to a full disk."""

from __future__ import annotations

import asyncio
import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path

import msgspec
import pytest

from mooring.apiserver.api_server import ApiServer, ServerSettings
from mooring.apiserver.in_process_transport import LocalTransport
from mooring.client.client import Client
from tests.apiserver.api_server import ADMIN, PODS, pod
from tests.support.processes import LOOPBACK, free_port
from tests.support.waiting import PATIENCE

MOORING = Path(sys.executable).with_name("mooring")
#: A plugin that outputs 128 MiB for every pod: printed, written and logged.
PLUGIN = """
import logging, sys
from mooring import Plugin

LARGE = "x" * 2**20
log = logging.getLogger("prints")

class Prints(Plugin):
    def pre_filter(self, state, pod, nodes):
        for _ in range(32):
            print(LARGE)
            print(LARGE, file=sys.stderr)
            log.error(LARGE)
            sys.stdout.write(LARGE)
"""


@asynccontextmanager
async def cluster(folder: Path) -> AsyncIterator[tuple[Path, Client]]:
    """Run an API server with a node; yield an administrator's kubeconfig and client."""
    kubeconfig = folder / "kubeconfig"
    server = ApiServer(ServerSettings(kubeconfig=kubeconfig))
    await server.start()
    try:
        server.write_kubeconfig()
        client = Client(LocalTransport(server.api, ADMIN))
        node = {
            "metadata": {"name": "n"},
            "status": {"allocatable": {"cpu": "8", "memory": "8Gi", "pods": "110"}},
        }
        await client.request("POST", "/api/v1/nodes", msgspec.json.encode(node))
        yield kubeconfig, client
    finally:
        await server.stop()


@contextmanager
def nobody_reads() -> Iterator[int]:
    reader, writer = os.pipe()
    try:
        yield writer
    finally:
        os.close(writer)
        os.close(reader)


@contextmanager
def reader_has_gone() -> Iterator[int]:
    reader, writer = os.pipe()
    os.close(reader)
    try:
        yield writer
    finally:
        os.close(writer)


@contextmanager
def full_disk() -> Iterator[int]:
    writer = os.open("/dev/full", os.O_WRONLY)
    try:
        yield writer
    finally:
        os.close(writer)


@pytest.mark.parametrize("output", [nobody_reads, reader_has_gone, full_disk])
async def test_pods_are_bound_however_much_a_plugin_prints(tmp_path: Path, output: object) -> None:
    (tmp_path / "prints.py").write_text(PLUGIN)
    assert callable(output)
    async with cluster(tmp_path) as (kubeconfig, client):
        with output() as number:
            command = [
                str(MOORING),
                "run",
                f"--kubeconfig={kubeconfig}",
                f"--plugin={tmp_path / 'prints.py'}:Prints",
                "--leader-elect=false",
                f"--bind-address={LOOPBACK}",
                f"--secure-port={free_port()}",
            ]
            process = subprocess.Popen(command, stdout=number, stderr=number, cwd=tmp_path)
            try:
                for name in ("a", "b", "c"):
                    await client.request("POST", PODS, msgspec.json.encode(pod(name)))
                    await bound(client, process, name)
                process.terminate()
                # kube-scheduler: "finished without leader elect"
                assert await asyncio.to_thread(process.wait, PATIENCE) == 1
            finally:
                process.kill()
                process.wait()


async def bound(client: Client, process: subprocess.Popen[bytes], name: str) -> None:
    """Wait until a pod is bound."""
    async with asyncio.timeout(PATIENCE):
        while True:
            found = msgspec.json.decode(await client.request("GET", f"{PODS}/{name}"))
            if found["spec"].get("nodeName"):
                return
            assert process.poll() is None, "the scheduler has ended"
            await asyncio.sleep(0.05)
