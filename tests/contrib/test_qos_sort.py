"""QOSSort: priority, then quality of service, then time."""

from __future__ import annotations

import random
from typing import Any

import pytest

from mooring import QueuedPod
from mooring.contrib.qos_sort import QOSSort
from mooring.testing import check_plugin, make_pod


def queued(name: str, time: float = 0.0, quality: str = "", **fields: Any) -> QueuedPod:
    status = {"qosClass": quality} if quality else {}
    return QueuedPod(make_pod(name, status=status, **fields), time)


@pytest.mark.parametrize(
    "expected",
    [
        pytest.param(
            [queued("a", 5, priority=1), queued("b", 1, "Guaranteed")], id="priority comes first"
        ),
        pytest.param(
            [
                queued("a", 9, "Guaranteed"),
                queued("b", 5, "Burstable"),
                queued("c", 1, "BestEffort"),
            ],
            id="then the class, best first",
        ),
        pytest.param(
            [queued("a", 1, "Burstable"), queued("b", 2, "Burstable")], id="then the time"
        ),
        pytest.param(
            [queued("a", 2, cpu="1"), queued("b", 1)],
            id="the class is computed if the status has none",
        ),
        pytest.param(
            [queued("a", 2, "BestEffort"), queued("b", 1, "Best")], id="an unknown class goes last"
        ),
    ],
)
def test_the_order(expected: list[QueuedPod]) -> None:
    plugin = QOSSort()
    shuffled = random.Random(1).sample(expected, len(expected))
    assert sorted(shuffled, key=plugin.sort_key) == expected
    first, second = expected[:2]
    assert plugin.less(first, second)
    assert not plugin.less(second, first)


def test_equal_pods_are_not_less() -> None:
    plugin = QOSSort()
    assert not plugin.less(queued("a"), queued("b"))


def test_the_contract() -> None:
    check_plugin(QOSSort)
