from __future__ import annotations

from mooring.observe.log_limit import FIRST_LINES, LogLimit


def test_a_million_errors_are_few_lines() -> None:
    limit = LogLimit()
    numbers = [number for number in (limit.count() for _ in range(1_000_000)) if number]
    assert numbers[:FIRST_LINES] == list(range(1, FIRST_LINES + 1))
    assert len(numbers) < 30 and numbers[-1] == 2**19
