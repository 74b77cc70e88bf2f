from __future__ import annotations

from collections import Counter
from random import Random

from tests.soak.scheduler_sets import REPLICAS, SIDE_BY_SIDE, Company, draw_cast, settings_of
from tests.soak.witness import Witness


def test_all_companies_come_up_and_most_runs_are_of_one_scheduler() -> None:
    drawn = Counter(draw_cast(Random(seed)).company for seed in range(300))
    assert set(drawn) == set(Company)
    assert drawn.most_common(1)[0][0] is Company.ALONE


def test_pods_may_ask_for_each_name_once() -> None:
    assert REPLICAS.all_names == ("default-scheduler",)
    names = ("default-scheduler", "second-scheduler", "third-scheduler")
    assert SIDE_BY_SIDE.all_names == names


def test_every_profile_has_its_witness() -> None:
    config = settings_of(("one", "two"), True).config
    assert config.config.leader_election.leader_elect
    assert [profile.scheduler_name for profile in config.profiles] == ["one", "two"]
    for profile in config.profiles:
        assert Witness.name in str(profile)
