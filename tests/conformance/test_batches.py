"""Tests of one scenario in batches."""

from __future__ import annotations

from itertools import chain

import pytest

from tests.conformance.batches import SHOWN, SIZE, batches, in_batches
from tests.conformance.recordings import SCENARIOS, Scenario

BATCH: list[Scenario] = [("1.37", "group", index, f"group-{index}") for index in range(SIZE + 1)]


def test_every_scenario_is_in_one_small_batch_of_its_group() -> None:
    found = batches(SCENARIOS)
    assert list(chain.from_iterable(found.values())) == SCENARIOS
    assert {len({scenario[:2] for scenario in batch}) for batch in found.values()} == {1}
    assert list(map(len, batches(BATCH).values())) == [SIZE, 1]


def test_a_batch_runs_all_its_scenarios_and_names_those_that_fail() -> None:
    ran: list[int] = []

    @in_batches(BATCH)
    def test_it(release: str, group: str, index: int) -> None:
        """Fail for the second half."""
        ran.append(index)
        assert index < SIZE // 2

    assert test_it.__name__ == "test_it"
    with pytest.raises(pytest.fail.Exception) as failed:
        test_it(BATCH[:SIZE])
    assert ran == list(range(SIZE))
    text = str(failed.value)
    assert text.startswith(f"{SIZE // 2} of {SIZE} scenarios:\n1.37-group-{SIZE // 2}\nTraceback")
    assert text.endswith(f"\n1.37-group-{SIZE - 1}")
    assert text.count("Traceback") == SHOWN
    test_it(BATCH[: SIZE // 2])
