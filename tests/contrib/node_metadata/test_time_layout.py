"""Times are read in the layouts of Go's time package."""

from __future__ import annotations

import pytest

from mooring.contrib.node_metadata.time_layout import RFC3339, TimeLayout

NEW_YEAR = 1767225600.0


@pytest.mark.parametrize(
    ("layout", "text", "time"),
    [
        (RFC3339, "2026-01-01T00:00:00Z", NEW_YEAR),
        (RFC3339, "2026-01-01T01:00:00+01:00", NEW_YEAR),
        (RFC3339, "2026-01-01T00:00:00.25Z", NEW_YEAR + 0.25),
        (RFC3339, "2026-01-01", None),
        (RFC3339, "2026-02-29T00:00:00Z", None),
        (RFC3339, "2026-01-01T24:00:00Z", None),
        ("2006-01-02 15:04:05", "2026-01-01 00:00:10", NEW_YEAR + 10),
        ("02 Jan 06 15:04 MST", "01 Jan 26 00:00 UTC", NEW_YEAR),
        ("Monday, January 2, 2006 at 3:04 PM", "Thursday, January 1, 2026 at 12:00 AM", NEW_YEAR),
        ("3:04pm 2006-1-2", "1:30pm 2026-1-1", NEW_YEAR + 13.5 * 3600),
        ("2006-002", "2026-001", NEW_YEAR),
        ("2006-01-02T15:04:05.000-0700", "2026-01-01T00:00:00.500-0100", NEW_YEAR + 3600.5),
        ("2006-01-02T15:04:05.000-0700", "2026-01-01T00:00:00.5-0100", None),
        ("2006-01-02T15:04:05.999Z07", "2026-01-01T00:00:00Z", NEW_YEAR),
        ("2006-01-02", "2026-13-01", None),
        ("2006-01-02Z07:00", "2026-01-01+25:00", None),
        ("06", "70", 0.0),
    ],
)
def test_parse(layout: str, text: str, time: float | None) -> None:
    assert TimeLayout(layout).parse(text) == time


def test_a_part_may_occur_once() -> None:
    with pytest.raises(ValueError, match="is no layout of a time"):
        TimeLayout("2006 2006")
