"""Quotas, what pods count for them, and trials."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from mooring.api import ElasticQuota, Pod, decode_as
from mooring.contrib.capacity_scheduling.elastic_quotas import (
    UNLIMITED,
    Quota,
    QuotaBound,
    Quotas,
    QuotaView,
    exceeds,
    pod_request,
    read_amounts,
)
from mooring.testing import make_pod


def quota(namespace: str = "a", **spec: Any) -> Quota:
    raw = {"metadata": {"name": "q", "namespace": namespace}, "spec": spec}
    return Quota(decode_as(raw, ElasticQuota))


def pod(name: str, namespace: str = "a", cpu: str = "1") -> Pod:
    return make_pod(name, namespace=namespace, cpu=cpu)


def test_amounts_are_in_the_units_of_the_scheduler() -> None:
    listed = {"cpu": "1500m", "memory": "1Ki", "a/b": 2, "pods": 3, "storage": "1Gi", "x": "1"}
    assert read_amounts(listed) == {"cpu": 1500, "memory": 1024, "a/b": 2, "pods": 3}


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        pytest.param(
            {"containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}] * 2},
            {"cpu": 2000},
            id="the sum of the containers",
        ),
        pytest.param(
            {
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [
                    {"name": "i", "resources": {"requests": {"cpu": "3", "memory": "5"}}},
                    {"name": "j", "resources": {"requests": {"cpu": "2"}}},
                ],
            },
            {"cpu": 3000, "memory": 5},
            id="a larger init container",
        ),
        pytest.param(
            {
                "containers": [{"name": "a", "resources": {"requests": {"cpu": "1"}}}],
                "initContainers": [
                    {
                        "name": "s",
                        "restartPolicy": "Always",
                        "resources": {"requests": {"cpu": "500m"}},
                    }
                ],
                "overhead": {"cpu": "10m"},
            },
            {"cpu": 1010},
            id="a sidecar counts as an init container, and overhead is added",
        ),
        pytest.param({"containers": [{"name": "a"}]}, {}, id="nothing"),
    ],
)
def test_what_a_pod_counts_for(spec: Any, expected: dict[str, int]) -> None:
    assert pod_request(decode_as({"spec": spec}, Pod)) == expected


@pytest.mark.parametrize(
    ("amounts", "more", "bound", "expected"),
    [
        pytest.param(
            {"cpu": 2}, {"cpu": 2}, QuotaBound({"cpu": 4}, 0), False, id="exactly the bound"
        ),
        pytest.param({"cpu": 2}, {"cpu": 3}, QuotaBound({"cpu": 4}, 0), True, id="beyond it"),
        pytest.param(
            {"memory": 1}, {}, QuotaBound({"cpu": 4}, UNLIMITED), True, id="memory not listed"
        ),
        pytest.param(
            {"a/b": 1}, {}, QuotaBound({"cpu": 4}, UNLIMITED), False, id="a device, no limit"
        ),
        pytest.param({"a/b": 1}, {}, QuotaBound({"cpu": 4}, 0), True, id="a device, no guarantee"),
        pytest.param(
            {}, {"a/b": 9}, QuotaBound({"a/b": 1}, 0), False, id="only what is added counts"
        ),
        pytest.param({}, {"cpu": 9}, QuotaBound({"cpu": 1}, 0), True, id="except for cpu"),
    ],
)
def test_what_exceeds_a_bound(amounts: Any, more: Any, bound: QuotaBound, expected: bool) -> None:
    assert exceeds(amounts, more, bound) is expected


def test_a_missing_bound_differs_from_an_empty_one() -> None:
    view = QuotaView(Quotas())
    request = {"cpu": 10**9, "a/b": 10**9}
    assert not view.over_max_with(quota(), request)
    assert view.over_max_with(quota(max={}), request)
    assert view.over_min_with(quota(), {"cpu": 1})


def test_pods_count_once_and_give_back_what_they_took() -> None:
    quotas = Quotas()
    quotas.put(quota(min={"cpu": "4"}))
    quotas.add_pod(pod("p"))
    quotas.add_pod(pod("p"))
    quotas.add_pod(pod("elsewhere", "b"))
    assert quotas.used == {"cpu": 1000}
    # What was counted is given back, whatever the pod requests by now.
    quotas.remove_pod(pod("p", cpu="3"))
    quotas.remove_pod(pod("p"))
    assert quotas.used == {"cpu": 0}


def test_new_bounds_keep_the_pods() -> None:
    quotas = Quotas()
    quotas.put(quota(min={"cpu": "4"}))
    quotas.add_pod(pod("p"))
    quotas.put(quota(min={"cpu": "2"}))
    found = quotas.get("a")
    assert found is not None
    assert (found.used, quotas.used, quotas.min.limits) == (
        {"cpu": 1000},
        {"cpu": 1000},
        {"cpu": 2000},
    )
    quotas.delete("a")
    assert (quotas.used, quotas.min.limits) == ({"cpu": 0}, {"cpu": 0})


steps = st.lists(
    st.tuples(st.sampled_from("+-"), st.integers(0, 5), st.sampled_from("ab")), max_size=20
)


@settings(max_examples=150, deadline=None)
@given(
    counted=st.sets(st.tuples(st.integers(0, 5), st.sampled_from("ab"))), trial=steps, more=steps
)
def test_a_view_answers_as_quotas_with_the_same_pods(
    counted: set[tuple[int, str]], trial: Any, more: Any
) -> None:
    def make() -> Quotas:
        quotas = Quotas()
        for namespace in "ab":
            quotas.put(quota(namespace, min={"cpu": "3"}, max={"cpu": "4"}))
        for number, namespace in sorted(counted):
            quotas.add_pod(pod(f"p{number}", namespace))
        return quotas

    base = make()
    view, model = QuotaView(base), make()
    _do(view, model, trial)
    copy, copied = view.clone(), make()
    _do_model(copied, trial)
    _do(copy, copied, more)
    _same(view, model)
    _same(copy, copied)
    _same(QuotaView(base), make())


def _do(view: QuotaView, model: Quotas, moves: Any) -> None:
    for move, number, namespace in moves:
        one = pod(f"p{number}", namespace)
        (view.add_pod if move == "+" else view.remove_pod)(one)
    _do_model(model, moves)


def _do_model(model: Quotas, moves: Any) -> None:
    for move, number, namespace in moves:
        one = pod(f"p{number}", namespace)
        (model.add_pod if move == "+" else model.remove_pod)(one)


def _same(view: QuotaView, model: Quotas) -> None:
    fresh = QuotaView(model)
    for cpu in range(0, 9000, 1000):
        request = {"cpu": cpu}
        assert view.total_over_min_with(request) == fresh.total_over_min_with(request)
        for namespace in "ab":
            mine, theirs = view.get(namespace), model.get(namespace)
            assert mine is not None
            assert theirs is not None
            assert view.over_min(mine) == fresh.over_min(theirs)
            assert view.over_min_with(mine, request) == fresh.over_min_with(theirs, request)
            assert view.over_max_with(mine, request) == fresh.over_max_with(theirs, request)
