"""What is known of nodes without an over-reserve cache."""

from __future__ import annotations

import pytest

from mooring.contrib.node_resource_topology.caches import (
    DiscardReserved,
    Passthrough,
    read_and_report,
)
from mooring.testing import make_pod
from tests.contrib.node_resource_topology.generated import topology

REPORT = topology("a", [{"cpu": 4}])


def test_every_report_counts_as_it_is() -> None:
    changed: list[str] = []
    cache = Passthrough(changed.append)
    assert cache.get("a") == (None, True)
    cache.put(REPORT)
    cache.reserve("a", make_pod("p", cpu="4"))
    cells, fresh = cache.get("a")
    assert fresh
    assert cells is not None
    assert cells.cells[0].available == {"cpu": 4 * 10**9}
    cache.remove(REPORT)
    assert cache.get("a") == (None, True)
    assert changed == ["a", "a"]


@pytest.mark.parametrize("end", ["unreserve", "bound"])
def test_a_node_is_left_out_while_a_pod_is_on_its_way(end: str) -> None:
    changed: list[str] = []
    cache = DiscardReserved(changed.append)
    cache.put(REPORT)
    first, second = make_pod("p"), make_pod("q")
    cache.reserve("a", first)
    cache.reserve("a", second)
    assert cache.get("a") == (None, False)
    getattr(cache, end)("a", first)
    assert cache.get("a") == (None, False)
    getattr(cache, end)("a", second)
    getattr(cache, end)("a", second)
    assert cache.get("a")[1]
    assert len(changed) == 5


def test_what_is_wrong_with_a_report_is_told_in_one_line(
    caplog: pytest.LogCaptureFixture,
) -> None:
    read_and_report(topology("a", [{"cpu": "x", "memory": None}, {"cpu": "-1"}]))
    (record,) = caplog.records
    assert record.__dict__["kv"]["node"] == "a"
    assert record.__dict__["kv"]["problems"].count("zone") == 3
    caplog.clear()
    read_and_report(REPORT)
    assert not caplog.records
