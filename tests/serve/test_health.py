from __future__ import annotations

import pytest

from mooring.serve.health import Answer, Check, Health, HealthMetrics, HealthPage


@pytest.fixture
def metrics() -> HealthMetrics:
    return HealthMetrics(started=1.5)


def page(metrics: HealthMetrics, *checks: Check) -> HealthPage:
    return HealthPage("readyz", checks, metrics)


GOOD = Check("good", lambda: None)
BAD = Check("bad", lambda: "it is broken")


# Texts of kube-scheduler 1.36.4's responses.
@pytest.mark.parametrize(
    ("checks", "asked", "expected"),
    [
        pytest.param([GOOD], {}, Answer(200, "ok"), id="all is well"),
        pytest.param(
            [GOOD],
            {"verbose": True},
            Answer(200, "[+]good ok\nreadyz check passed\n"),
            id="all is well, in words",
        ),
        pytest.param(
            [GOOD, BAD],
            {},
            Answer(500, "[+]good ok\n[-]bad failed: reason withheld\nreadyz check failed\n"),
            id="a failure is always in words, without its reason",
        ),
        pytest.param(
            [GOOD, BAD],
            {"verbose": True, "exclude": ["bad"]},
            Answer(200, "[+]good ok\n[+]bad excluded: ok\nreadyz check passed\n"),
            id="a check is left out",
        ),
        pytest.param(
            [GOOD],
            {"verbose": True, "exclude": ["z", "a"]},
            Answer(
                200,
                "[+]good ok\nwarn: some health checks cannot be excluded: no matches for "
                '"a","z"\nreadyz check passed\n',
            ),
            id="what cannot be left out is named",
        ),
        pytest.param(
            [],
            {"verbose": True},
            Answer(200, "[+]ping ok\nreadyz check passed\n"),
            id="without checks somebody answers at least",
        ),
    ],
)
def test_a_page(checks, asked, expected: Answer, metrics: HealthMetrics) -> None:
    assert page(metrics, *checks).all(**asked) == expected


def test_one_check_says_why(metrics: HealthMetrics) -> None:
    both = page(metrics, GOOD, BAD)
    assert both.one("good") == Answer(200, "ok")
    assert both.one("bad") == Answer(500, "internal server error: it is broken\n")
    assert both.one("absent") is None


def test_results_are_counted(metrics: HealthMetrics) -> None:
    both = page(metrics, GOOD, BAD)
    both.all()
    both.all(exclude=["good"])
    lines = metrics.expose().decode().splitlines()
    assert 'kubernetes_healthcheck{name="good",type="readyz"} 1' in lines
    assert 'kubernetes_healthcheck{name="bad",type="readyz"} 0' in lines
    assert 'kubernetes_healthchecks_total{name="good",status="success",type="readyz"} 1' in lines
    assert 'kubernetes_healthchecks_total{name="bad",status="error",type="readyz"} 2' in lines
    assert "process_start_time_seconds 1.5" in lines
    assert (
        "# HELP kubernetes_healthcheck "
        "[STABLE] This metric records the result of a single healthcheck."
    ) in lines


def test_readiness_waits_for_the_handlers_and_ends_with_the_shutdown(
    metrics: HealthMetrics,
) -> None:
    health = Health()
    ready = health.pages(metrics)[2]
    assert ready.all().status == 500
    problem = "internal server error: handlers are not fully synchronized\n"
    assert ready.one("sched-handler-sync") == Answer(500, problem)
    health.handlers_synced()
    expected = "[+]shutdown ok\n[+]sched-handler-sync ok\nreadyz check passed\n"
    assert ready.all(verbose=True) == Answer(200, expected)
    health.begin_shutdown()
    assert ready.one("shutdown") == Answer(500, "internal server error: process is shutting down\n")


def test_the_leader_election_is_asked_about_where_there_is_one(metrics: HealthMetrics) -> None:
    leader = Check("leaderElection", lambda: None)
    pages = {page.name: page for page in Health(leader=leader).pages(metrics)}
    assert [check.name for check in pages["healthz"].checks] == ["leaderElection"]
    assert [check.name for check in pages["livez"].checks] == ["ping", "scheduling-loop"]
    assert [check.name for check in pages["readyz"].checks] == [
        "leaderElection",
        "shutdown",
        "sched-handler-sync",
    ]


def test_a_scheduling_loop_that_stands_still_is_not_alive(metrics: HealthMetrics) -> None:
    problems: list[str | None] = [None]
    health = Health(loop_problem=lambda: problems[-1])
    live = health.pages(metrics)[1]
    assert live.all().status == 200
    problems.append("the scheduling loop has been blocked for 61 s")
    assert live.all().status == 500
    problem = "internal server error: the scheduling loop has been blocked for 61 s\n"
    assert live.one("scheduling-loop") == Answer(500, problem)
    problems.append(None)
    assert live.all().status == 200
