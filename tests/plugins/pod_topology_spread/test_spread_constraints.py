"""Tests of parsed constraints."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.api import EVERYTHING, NOTHING, Selector
from mooring.plugins.pod_topology_spread.spread_constraints import (
    DO_NOT_SCHEDULE,
    SCHEDULE_ANYWAY,
    ConstraintParser,
    SpreadConstraint,
)
from tests.plugins.clusters import ZONE, make_pod

_LABELS = {"app": "web", "version": "v1"}


def _parse(match_label_keys: bool = True, **fields: Any) -> SpreadConstraint:
    constraint = {
        "maxSkew": 2,
        "topologyKey": ZONE,
        "whenUnsatisfiable": DO_NOT_SCHEDULE,
        **fields,
    }
    pod = make_pod("x", _LABELS, topologySpreadConstraints=[constraint])
    parser = ConstraintParser(match_label_keys)
    (parsed,) = parser.parse(pod.spec.topology_spread_constraints, _LABELS, DO_NOT_SCHEDULE)
    return parsed


def test_what_is_not_said_has_kube_schedulers_meaning() -> None:
    assert _parse() == SpreadConstraint(
        max_skew=2,
        topology_key=ZONE,
        selector=NOTHING,
        min_domains=1,
        honor_affinity=True,
        honor_taints=False,
    )


def test_what_is_said_counts() -> None:
    parsed = _parse(
        minDomains=3,
        nodeAffinityPolicy="Ignore",
        nodeTaintsPolicy="Honor",
        labelSelector={"matchLabels": {"app": "web"}},
    )
    assert (parsed.min_domains, parsed.honor_affinity, parsed.honor_taints) == (3, False, True)
    assert parsed.selector == Selector.from_text("app=web")


@pytest.mark.parametrize(
    ("selector", "keys", "expected"),
    [
        pytest.param({}, [], EVERYTHING, id="an empty selector stays empty"),
        pytest.param({}, ["absent"], EVERYTHING, id="a key that the pod lacks adds nothing"),
        pytest.param(
            {"matchLabels": {"app": "web"}},
            ["version"],
            Selector.from_text("app=web,version=v1"),
            id="the pod's value is demanded too",
        ),
        pytest.param(
            None, ["version"], NOTHING, id="no selector matches nothing, whatever follows"
        ),
    ],
)
def test_match_label_keys(selector: Any, keys: list[str], expected: Selector) -> None:
    assert _parse(labelSelector=selector, matchLabelKeys=keys).selector == expected


def test_match_label_keys_can_be_switched_off() -> None:
    assert _parse(False, labelSelector={}, matchLabelKeys=["version"]).selector == EVERYTHING


def test_only_the_asked_action_is_parsed() -> None:
    pod = make_pod(
        "x",
        topologySpreadConstraints=[
            {"maxSkew": 1, "topologyKey": "a", "whenUnsatisfiable": DO_NOT_SCHEDULE},
            {"maxSkew": 1, "topologyKey": "b", "whenUnsatisfiable": SCHEDULE_ANYWAY},
        ],
    )
    parser = ConstraintParser(True)
    (soft,) = parser.parse(pod.spec.topology_spread_constraints, {}, SCHEDULE_ANYWAY)
    assert soft.topology_key == "b"


def test_the_memory_tells_pods_of_different_values_apart() -> None:
    parser = ConstraintParser(True)
    pod = make_pod(
        "x",
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": ZONE,
                "whenUnsatisfiable": DO_NOT_SCHEDULE,
                "labelSelector": {},
                "matchLabelKeys": ["version"],
            }
        ],
    )
    found = [
        parser.parse(pod.spec.topology_spread_constraints, {"version": value}, DO_NOT_SCHEDULE)
        for value in ("v1", "v2", "v1")
    ]
    assert found[0] != found[1]
    assert found[0][0] is found[2][0]


def test_a_long_list_is_parsed_once_for_each_action_and_its_labels() -> None:
    parser = ConstraintParser(True)
    constraints = make_pod(
        "x",
        topologySpreadConstraints=[
            {
                "maxSkew": 1,
                "topologyKey": f"key-{number}",
                "whenUnsatisfiable": SCHEDULE_ANYWAY if number % 2 else DO_NOT_SCHEDULE,
                "labelSelector": {},
                "matchLabelKeys": ["version"],
            }
            for number in range(1000)
        ],
    ).spec.topology_spread_constraints
    hard = parser.parse(constraints, {"version": "v1"}, DO_NOT_SCHEDULE)
    soft = parser.parse(constraints, {"version": "v1"}, SCHEDULE_ANYWAY)
    assert [one.topology_key for one in hard[:2]] == ["key-0", "key-2"]
    assert [one.topology_key for one in soft[:2]] == ["key-1", "key-3"]
    assert parser.parse(constraints, {"version": "v1"}, DO_NOT_SCHEDULE) is hard
    other = parser.parse(constraints, {"version": "v2"}, DO_NOT_SCHEDULE)
    assert len(other) == len(hard) == 500
    assert other != hard
