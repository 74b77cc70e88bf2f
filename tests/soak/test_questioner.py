"""Looking changes nothing: with questions at random moments, every run goes as without."""

from __future__ import annotations

import os
from collections.abc import Callable

import pytest

from mooring.scheduler.scheduler import Scheduler
from tests.soak.gangs import GangReport, run_gangs
from tests.soak.pod_groups import run_pod_groups
from tests.soak.questioner import Questioner
from tests.soak.soak import Report, run_seed

SEEDS = 100 if os.environ.get("CI") else 20
CHUNK = 10


def run(seed: int, *, asks: bool) -> tuple[Report, int]:
    """Run a seed; return its report and the number of questions that were answered."""
    made: list[Questioner] = []

    def make() -> Questioner:
        made.append(Questioner(seed, asks=asks))
        return made[-1]

    report = run_seed(seed, tap=make)
    return report, sum(questioner.answers for questioner in made)


@pytest.mark.parametrize("first", range(0, SEEDS, CHUNK))
def test_a_run_with_questions_goes_as_without(first: int) -> None:
    answers = 0
    for seed in range(first, first + CHUNK):
        quiet, _ = run(seed, asks=False)
        asked, count = run(seed, asks=True)
        answers += count
        assert asked.violations == quiet.violations == (), f"seed {seed}"
        assert asked.digest == quiet.digest, f"seed {seed}: questions have changed what happened"
    assert answers > 10 * CHUNK


@pytest.mark.parametrize("play", [run_gangs, run_pod_groups])
def test_gangs_run_with_questions_as_without(play: Callable[..., GangReport]) -> None:
    for seed in range(3):
        made: list[Questioner] = []

        def make(seed: int = seed, made: list[Questioner] = made) -> Questioner:
            made.append(Questioner(seed, asks=True))
            return made[-1]

        asked = play(seed, tap=make)
        assert asked == play(seed, tap=lambda seed=seed: Questioner(seed, asks=False))
        assert not asked.violations
        assert sum(questioner.answers for questioner in made) > 3


def test_an_examination_that_draws_from_the_random_source_is_caught(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    examining = Scheduler.examining

    def careless(scheduler: Scheduler) -> object:
        scheduler.random.getrandbits(32)
        return examining(scheduler)

    quiet = {seed: run(seed, asks=False)[0].digest for seed in range(5)}
    monkeypatch.setattr(Scheduler, "examining", careless)
    assert any(run(seed, asks=True)[0].digest != digest for seed, digest in quiet.items())
