"""`mooring ui` on a local cluster."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Sequence
from pathlib import Path

import aiohttp
import pytest
import yaml

from mooring.cli.main import main
from mooring.framework.features import FeatureGates
from mooring.local.local_scheduler import make_local_rules
from mooring.registry import load_plugins
from mooring.ui.page_server import listen
from tests.local.clusters import running
from tests.support.journals import record_two_pods
from tests.support.local_up import MOORING, wait_logged
from tests.support.processes import Process

PLUGIN = """
from mooring import Plugin


class Mine(Plugin):
    def filter(self, state, pod, node):
        return None
"""


async def test_it_prints_the_address_and_ends_by_a_signal(tmp_path: Path) -> None:
    kubeconfig = tmp_path / "kubeconfig"
    async with running(tmp_path, nodes=2):
        flags = ["ui", "--no-browser", "--kubeconfig", str(kubeconfig)]
        process = Process(MOORING, flags, tmp_path / "log")
        try:
            line = await asyncio.to_thread(wait_logged, process, "?token=")
            url = line.rpartition(" ")[2]
            assert url.startswith("http://127.0.0.1:")
            jar = aiohttp.CookieJar(unsafe=True)
            async with aiohttp.ClientSession(cookie_jar=jar) as session:
                async with session.get(url) as answer:
                    assert answer.status == 200
                async with session.get(answer.url.with_path("/api/nodes")) as found:
                    assert (await found.json())["names"] == ["node-0", "node-1"]
                # The page finds the scheduler of the local cluster, which reports its decisions.
                async with session.get(answer.url.with_path("/api/changes")) as changes:
                    async for line in changes.content:
                        if b'"state":"live"' in line:
                            break
            await asyncio.to_thread(wait_logged, process, "Ctrl-C ends it.")
            process.send(signal.SIGINT)
            assert await asyncio.to_thread(process.wait) == 0
        finally:
            await asyncio.to_thread(process.stop)


@pytest.mark.parametrize("more", [(), ("--feature-gates=GenericWorkload=true",)])
async def test_a_plugin_flag_leaves_the_configuration_to_the_leader(
    tmp_path: Path, more: Sequence[str]
) -> None:
    (tmp_path / "mine.py").write_text(PLUGIN)
    reference = f"{tmp_path / 'mine.py'}:Mine"
    gates = FeatureGates({"GenericWorkload": True})
    plan = make_local_rules(None, load_plugins([reference]), gates)
    kubeconfig = f"--kubeconfig={tmp_path / 'kubeconfig'}"
    async with running(tmp_path, nodes=1, plan=plan):
        flags = ["ui", "--no-browser", kubeconfig, f"--plugin={reference}", *more]
        process = Process(MOORING, flags, tmp_path / "log")
        try:
            line = await asyncio.to_thread(wait_logged, process, "The page about ")
            given = f"the default configuration, plugin {reference}"
            rules = given if more else "the leader's configuration"
            assert line.endswith(f", by {rules}:")
        finally:
            await asyncio.to_thread(process.stop)


async def test_a_journal_needs_no_cluster(tmp_path: Path) -> None:
    await asyncio.to_thread(record_two_pods, tmp_path)
    flags = ["ui", "--no-browser", "--journal", str(tmp_path / "journal")]
    process = Process(MOORING, flags, tmp_path / "log")
    try:
        await asyncio.to_thread(wait_logged, process, "Ctrl-C ends it.")
        line = process.log().splitlines()[0]
        assert line == f"The page about {tmp_path / 'journal'}, by the recorded configuration:"
        process.send(signal.SIGTERM)
        assert await asyncio.to_thread(process.wait) == 0
    finally:
        await asyncio.to_thread(process.stop)


def test_a_folder_without_a_journal(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--journal", str(tmp_path)]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith(f"error: {tmp_path} holds no journal ")


@pytest.mark.parametrize(
    "flag",
    [
        "--kubeconfig=x",
        "--context=x",
        "--scheduler=https://x",
        "--lease=a/b",
        "--feature-gates=A=true",
        "--emulated-version=1.36",
    ],
)
def test_a_journal_is_no_cluster(
    flag: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["ui", "--journal", str(tmp_path), flag]) == 1
    name = flag.partition("=")[0]
    assert capsys.readouterr().err == (
        f"error: {name} has no effect on a journal: leave out it or --journal\n"
    )


def test_a_malformed_lease_name_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["ui", "--lease=x"]) == 1
    assert capsys.readouterr().err == "error: --lease must be NAMESPACE/NAME, got 'x'\n"


async def test_a_port_that_is_taken(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    async with running(tmp_path, nodes=0):
        with listen(0) as taken:
            port = taken.getsockname()[1]
            flags = ["ui", f"--port={port}", "--kubeconfig", str(tmp_path / "kubeconfig")]
            assert await asyncio.to_thread(main, flags) == 1
    assert capsys.readouterr().err == (
        f"error: cannot listen on 127.0.0.1:{port}: address already in use; "
        "--port names another port\n"
    )


async def test_missing_rights_are_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=1) as cluster:
        accounts = "/api/v1/namespaces/default/serviceaccounts"
        await cluster.post(accounts, {"metadata": {"name": "stranger"}})
        answer = await cluster.post(f"{accounts}/stranger/token", {"spec": {}})
        config = yaml.safe_load((tmp_path / "kubeconfig").read_text())
        config["users"][0]["user"] = {"token": answer["status"]["token"]}
        file = tmp_path / "stranger"
        file.write_text(yaml.safe_dump(config))
        flags = ["ui", "--no-browser", "--kubeconfig", str(file)]
        assert await asyncio.to_thread(main, flags) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: nodes cannot be read: ")
    assert 'cannot list resource "nodes"' in line


async def test_an_unreachable_cluster_is_one_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    async with running(tmp_path, nodes=0):
        pass
    flags = ["ui", "--no-browser", "--kubeconfig", str(tmp_path / "kubeconfig")]
    assert await asyncio.to_thread(main, flags) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("error: nodes cannot be read: ")
