from __future__ import annotations

import pytest

from mooring.framework.queued import QueuedPod
from mooring.plugins.priority_sort import PrioritySort
from tests.plugins.cluster import make_pod


def queued(priority: int | None, timestamp: float) -> QueuedPod:
    spec = {} if priority is None else {"priority": priority}
    return QueuedPod(make_pod(spec=spec), timestamp)


@pytest.mark.parametrize(
    ("a", "b", "a_first", "b_first"),
    [
        pytest.param((10, 2), (1, 1), True, False, id="higher priority goes first"),
        pytest.param((1, 1), (10, 2), False, True, id="lower priority goes later"),
        pytest.param((1, 1), (1, 2), True, False, id="of equal priority the earlier goes first"),
        pytest.param((1, 1), (1, 1), False, False, id="equal in both, neither goes first"),
        pytest.param((None, 1), (0, 2), True, False, id="no priority is priority 0"),
        pytest.param((None, 1), (-1, 0), True, False, id="a negative priority goes last"),
    ],
)
def test_order(a: tuple, b: tuple, a_first: bool, b_first: bool) -> None:
    plugin = PrioritySort()
    one, other = queued(*a), queued(*b)
    assert (plugin.less(one, other), plugin.less(other, one)) == (a_first, b_first)
    assert (plugin.sort_key(one) < plugin.sort_key(other)) is a_first
