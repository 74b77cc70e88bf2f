from __future__ import annotations

from typing import Any

from mooring.controllers import status_conditions
from mooring.controllers.status_conditions import make


def test_a_condition_is_found_by_its_type() -> None:
    status = {"conditions": [make("A", "True", "r", "m", "t"), make("B", "False", "", "", "t")]}
    found = status_conditions.find(status, "B")
    assert found is not None and found["status"] == "False"
    assert status_conditions.find(status, "C") is None
    assert status_conditions.find({}, "A") is None
    assert status_conditions.find({"conditions": None}, "A") is None


def test_a_condition_that_does_not_change_stays() -> None:
    old = make("A", "True", "r", "old", "t1")
    status: dict[str, Any] = {"conditions": [old]}
    status_conditions.put(status, make("A", "True", "r", "new", "t2"))
    assert status["conditions"] == [old]


def test_another_reason_keeps_the_time_of_the_transition() -> None:
    status: dict[str, Any] = {"conditions": [make("A", "True", "r", "", "t1")]}
    status_conditions.put(status, make("A", "True", "s", "m", "t2"))
    assert status["conditions"] == [make("A", "True", "s", "m", "t1")]


def test_another_status_is_a_transition() -> None:
    other = make("B", "True", "", "", "t0")
    status: dict[str, Any] = {"conditions": [make("A", "True", "r", "", "t1"), other]}
    status_conditions.put(status, make("A", "False", "r", "", "t2"))
    assert status["conditions"] == [other, make("A", "False", "r", "", "t2")]


def test_the_last_condition_takes_the_list_with_it() -> None:
    status: dict[str, Any] = {}
    status_conditions.put(status, make("A", "True", "", "", "t"))
    status_conditions.put(status, make("B", "True", "", "", "t"))
    status_conditions.remove(status, "A")
    assert [one["type"] for one in status["conditions"]] == ["B"]
    status_conditions.remove(status, "B")
    assert status == {}
    status_conditions.remove(status, "B")
    assert status == {}
