"""The count of the steps of the scheduling loop."""

from __future__ import annotations

from mooring.observe.progress import Progress


def test_progress_counts_steps() -> None:
    progress = Progress()
    progress.step()
    progress.step()
    assert progress.steps == 2
