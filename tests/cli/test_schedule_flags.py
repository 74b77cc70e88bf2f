from __future__ import annotations

import argparse
import sys

import pytest

from mooring.cli.schedule_flags import shown_nodes


def test_all_nodes_are_more_than_any_cluster_has() -> None:
    assert (shown_nodes("all"), shown_nodes("3")) == (sys.maxsize, 3)


@pytest.mark.parametrize("text", ["0", "-1", "some", ""])
def test_a_number_of_nodes_is_above_0(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match='neither "all" nor a number above 0'):
        shown_nodes(text)
