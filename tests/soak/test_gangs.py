"""Two gangs that fit one at a time never block each other, whatever fails."""

from __future__ import annotations

from itertools import groupby

import pytest

from tests.soak.gangs import GANGS, MEMBERS, run_gangs

SEEDS = range(10)


@pytest.mark.parametrize("seed", SEEDS)
def test_both_gangs_run_although_the_scheduler_is_killed(seed: int) -> None:
    report = run_gangs(seed)
    assert report.violations == ()
    assert len(report.binds) == len(GANGS) * MEMBERS


@pytest.mark.parametrize("seed", SEEDS)
def test_without_faults_a_gang_starts_as_a_whole(seed: int) -> None:
    report = run_gangs(seed, faults=False)
    assert report.violations == ()
    assert [len(list(binds)) for _, binds in groupby(report.binds)] == [MEMBERS, MEMBERS]


def test_some_kills_hit_a_scheduler_whose_members_wait() -> None:
    assert sum(run_gangs(seed).kills_at_permit for seed in range(3)) > 0
