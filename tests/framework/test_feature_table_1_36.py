"""The table of 1.36 is checked beside that of the reference, in test_feature_table.py."""

from __future__ import annotations

from mooring.framework import feature_table, feature_table_1_36


def test_no_gate_is_listed_twice() -> None:
    for table in (feature_table, feature_table_1_36):
        names = [row[0] for row in table.ROWS]
        assert len(names) == len(set(names))
