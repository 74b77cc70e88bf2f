from __future__ import annotations

import pytest

from mooring.serve.reload_problems import ReloadProblems


def test_a_problem_is_logged_when_it_begins_and_when_it_changes(
    caplog: pytest.LogCaptureFixture,
) -> None:
    problems = ReloadProblems("Cannot read")
    for text in ("gone", "gone", "empty", "gone"):
        problems.report("file", OSError(text))
    problems.report("other", OSError("gone"))
    problems.solved("file")
    problems.report("file", OSError("gone"))
    assert [record.getMessage() for record in caplog.records] == [
        "Cannot read: gone",
        "Cannot read: empty",
        "Cannot read: gone",
        "Cannot read: gone",
        "Cannot read: gone",
    ]
