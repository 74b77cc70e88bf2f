"""Tests of one scenario that run in batches: pytest itself takes time for each test.

`test_vectors.py` has a test for each scenario, which `-k` selects.
"""

from __future__ import annotations

import functools
import traceback
from collections.abc import Callable, Iterable
from itertools import groupby

import pytest

from tests.conformance.recordings import Scenario, identifier

SIZE = 60
#: Of so many failures the traceback is shown.
SHOWN = 3
Test = Callable[[str, str, int], None]


def batches(scenarios: Iterable[Scenario]) -> dict[str, list[Scenario]]:
    """Divide scenarios by release and group, and large groups further."""
    found: dict[str, list[Scenario]] = {}
    for (release, group), members in groupby(scenarios, lambda scenario: scenario[:2]):
        of_group = list(members)
        for start in range(0, len(of_group), SIZE):
            found[f"{release}-{group}-{start}"] = of_group[start : start + SIZE]
    return found


def in_batches(scenarios: Iterable[Scenario]) -> Callable[[Test], Callable[[list[Scenario]], None]]:
    """Make a test of one scenario a test of batches; it runs all and names those that fail."""
    params = [pytest.param(batch, id=name) for name, batch in batches(scenarios).items()]

    def decorate(test: Test) -> Callable[[list[Scenario]], None]:
        @pytest.mark.parametrize("batch", params)
        @functools.wraps(test)
        def of_batch(batch: list[Scenario]) -> None:
            failed: list[str] = []
            for scenario in batch:
                try:
                    test(*scenario[:3])
                except Exception:
                    shown = f"\n{traceback.format_exc()}" if len(failed) < SHOWN else ""
                    failed.append(f"{identifier(scenario)}{shown}")
            if failed:
                text = "\n".join(failed)
                pytest.fail(f"{len(failed)} of {len(batch)} scenarios:\n{text}", pytrace=False)

        # pytest reads the signature of what is wrapped.
        del of_batch.__wrapped__  # type: ignore[attr-defined]
        return of_batch

    return decorate
