"""`mooring shadow` beside the scheduler of a local cluster."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

import pytest

from mooring.cli import shadow as module
from mooring.cli.main import main
from mooring.cli.shadow import looking, report_lines
from mooring.journal.entries import CheckpointEnds, CheckpointObject
from mooring.journal.journal_reading import read_journal
from mooring.shadow.comparison import PodComparison, Verdict
from mooring.shadow.shadow import Shadow, ShadowReport
from tests.apiserver.api_server import PODS, pod
from tests.local.clusters import running
from tests.support.waiting import PATIENCE


def test_the_report_has_examples_by_plugin() -> None:
    report = ShadowReport()
    report.add(PodComparison("default/a", Verdict.AGREED, "n1", "n1"))
    report.add(PodComparison("default/b", Verdict.OTHER_NODE, "n1", "n2", 7, "NodeResourcesFit"))
    report.add(PodComparison("default/c", Verdict.UNDECIDABLE, "n1", "n2", 1, "NodeResourcesFit"))
    assert list(report_lines(report)) == [
        "1 of 2 decided alike (50.0%), 7 points lost",
        "other node: 1",
        "  1  NodeResourcesFit",
        "     default/b: other node, they chose n1, we would choose n2, 7 points lost, "
        "NodeResourcesFit",
        "undecidable: 1",
        "  1  NodeResourcesFit",
        "     default/c: undecidable, they chose n1, we would choose n2, 1 points lost, "
        "NodeResourcesFit",
    ]


def test_how_it_stands_is_told_meanwhile(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(module, "SUMMARY_EVERY", 0.0)
    shadow = Shadow()
    look = looking(shadow, is_told=True)
    look()
    assert capsys.readouterr().out == ""
    shadow.report.add(PodComparison("default/a", Verdict.AGREED, "n1", "n1"))
    look()
    look()
    looking(shadow, is_told=False)()
    assert capsys.readouterr().out == "1 of 1 decided alike (100.0%), 0 points lost\n"


def test_their_configuration_is_read_before_anything_else(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    absent = tmp_path / "absent.yaml"
    assert main(["shadow", "--their-config", str(absent)]) != 0
    assert f"{absent}: No such file or directory" in capsys.readouterr().err


async def test_the_report_of_a_local_cluster(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    flags = ["shadow", "--for", "200ms", "--kubeconfig", str(tmp_path / "kubeconfig")]
    async with running(tmp_path, nodes=3) as cluster:
        await cluster.post(PODS, pod("web"))
        assert await asyncio.to_thread(main, [*flags, "-o", "json"]) == 0
        report = json.loads(capsys.readouterr().out)
        assert (report["version"], report["rules"]) == (1, "the default configuration")
        assert set(report["counts"]) == {verdict.value for verdict in Verdict}
        assert await asyncio.to_thread(main, flags) == 0
        first, *_, last = capsys.readouterr().out.splitlines()
        assert first.startswith("Following https://127.0.0.1:")
        assert " decided alike (" in last


async def test_a_shadow_can_write_a_journal(tmp_path: Path) -> None:
    folder = tmp_path / "journal"
    flags = ["shadow", "--for", "200ms", "--kubeconfig", str(tmp_path / "kubeconfig")]
    async with running(tmp_path, nodes=3) as cluster:
        await cluster.post(PODS, pod("web"))
        assert await asyncio.to_thread(main, [*flags, "--journal", str(folder)]) == 0
    entries = list(read_journal(folder))
    kinds = [entry.kind for entry in entries if isinstance(entry, CheckpointObject)]
    assert kinds.count("nodes.v1.") == 3
    assert any(isinstance(entry, CheckpointEnds) for entry in entries)


async def test_the_journal_of_a_shadow_is_replayed_and_explained(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder = tmp_path / "journal"
    flags = ["shadow", "--for", "4s", "--kubeconfig", str(tmp_path / "kubeconfig")]
    async with running(tmp_path, nodes=3) as cluster:
        following = asyncio.create_task(
            asyncio.to_thread(main, [*flags, "-o", "json", "--journal", str(folder)])
        )
        # When the journal begins, the shadow has read the cluster.
        async with asyncio.timeout(PATIENCE):
            while not list(folder.glob("segment-*")):
                await asyncio.sleep(0.05)
        await cluster.post(PODS, pod("web"))
        assert await following == 0
    report = json.loads(capsys.readouterr().out)
    assert report["counts"]["agreed"] == 1
    assert await asyncio.to_thread(main, ["replay", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "every decision came out the same: node, message and totals" in lines
    assert lines[-1] == (
        "the other scheduler: 1 of 1 decided alike (100.0%), 0 points lost, as recorded"
    )
    flags = ["explain", "web", "--journal", str(folder)]
    assert await asyncio.to_thread(main, flags) == 0
    assert "  the other scheduler: node-" in capsys.readouterr().out
    assert await asyncio.to_thread(main, [*flags, "-o", "json"]) == 0
    assert json.loads(capsys.readouterr().out)["compared"]["verdict"] == "agreed"
