"""Warnings about a journal that commands show."""

from __future__ import annotations

from pathlib import Path

import pytest

from mooring.cli.main import main
from mooring.journal.segments import list_segments
from tests.replay.recordings import JournaledCluster, journaled, node, pod


async def _write_often(cluster: JournaledCluster) -> None:
    await cluster.create(node("one"))
    for number in range(5):
        await cluster.create(pod(f"web-{number}"))
        await cluster.schedule()
        cluster.journal.pump()


def test_a_torn_end_is_left_out_with_one_warning(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    journaled(tmp_path, _write_often)
    (segment,) = list_segments(tmp_path)
    segment.path.write_bytes(segment.path.read_bytes()[:-7])
    assert main(["replay", str(tmp_path), "--from", "1h"]) == 0
    shown = capsys.readouterr()
    assert "every decision came out the same" in shown.out
    assert shown.err.startswith("warning: A segment of the journal ends within a block")
    assert shown.err.count("warning:") == 1
    assert main(["explain", "web-0", "--journal", str(tmp_path)]) == 0
    assert capsys.readouterr().err.count("warning:") == 1
