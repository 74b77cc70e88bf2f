from __future__ import annotations

from collections import Counter
from random import Random

from tests.soak.faults import Breakage, FaultPlan, RequestFault, StreamEnd, draw_weather

WEATHERS = [draw_weather(Random(seed), 90.0) for seed in range(300)]


def test_the_same_seed_draws_the_same_weather() -> None:
    assert draw_weather(Random(1), 90.0) == draw_weather(Random(1), 90.0)


def test_some_seeds_have_each_fault_and_some_have_none() -> None:
    requests = {fault for weather in WEATHERS for fault in weather.request_faults}
    assert requests == set(RequestFault) - {RequestFault.NONE}
    assert {end for weather in WEATHERS for end in weather.stream_ends} == set(StreamEnd)
    assert {one for weather in WEATHERS for one in weather.breakages} == set(Breakage)
    for part in (
        "requests",
        "slow",
        "duplicates",
        "stream_seconds",
        "kills",
        "restarts",
        "warming",
        "partitions",
        "suspensions",
        "clock_changes",
    ):
        values = [bool(getattr(weather, part)) for weather in WEATHERS]
        assert any(values) and not all(values), part


def test_all_faults_end_with_the_storm() -> None:
    for weather in WEATHERS:
        for moments in (
            weather.kills,
            weather.restarts,
            weather.compactions,
            weather.partitions,
            weather.suspensions,
            weather.clock_changes,
        ):
            assert all(0 < moment <= 90.0 for moment in moments)
        plan = FaultPlan(weather, Random(0))
        plan.active = False
        assert {plan.request("POST") for _ in range(50)} == {RequestFault.NONE}
        assert plan.stream() == (0.0, None)
        assert not any(plan.is_duplicated() for _ in range(50))
        assert max(plan.delay() for _ in range(50)) < 0.1


def test_reads_meet_no_conflict() -> None:
    weather = next(weather for weather in WEATHERS if weather.requests == 0.3)
    plan = FaultPlan(weather, Random(0))
    met = Counter(plan.request("GET") for _ in range(2000))
    assert RequestFault.CONFLICT not in met
    assert met[RequestFault.NONE] > 1000
