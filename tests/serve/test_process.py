from __future__ import annotations

import os
import time
from pathlib import Path

from mooring.serve.process import process_start_time


def test_the_start_of_this_process_is_in_the_past() -> None:
    assert 0 < time.time() - process_start_time() < 86_400


def test_proc_is_read_whatever_the_program_is_called(tmp_path: Path) -> None:
    (tmp_path / "self").mkdir()
    ticks = 5 * os.sysconf("SC_CLK_TCK")
    fields = " ".join(["S", *["0"] * 18, str(ticks), "0"])
    (tmp_path / "self" / "stat").write_text(f"1 (a) b) {fields}\n")
    (tmp_path / "stat").write_text("cpu 1 2\nbtime 1000\n")
    assert process_start_time(tmp_path) == 1005.0


def test_without_proc_it_is_about_now(tmp_path: Path) -> None:
    assert 0 <= time.time() - process_start_time(tmp_path) < 86_400
