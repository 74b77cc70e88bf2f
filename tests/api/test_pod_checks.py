"""Validation errors for which the API server would refuse a pod."""

from __future__ import annotations

import pytest

from mooring.api import Pod, decode_as
from mooring.api.pod_checks import pod_problems

REQUIRED = "requiredDuringSchedulingIgnoredDuringExecution"
PREFERRED = "preferredDuringSchedulingIgnoredDuringExecution"


def problems(**spec):
    return list(map(str, pod_problems(decode_as({"metadata": {"name": "a"}, "spec": spec}, Pod))))


def node_term(**expression):
    terms = [{"matchExpressions": [expression]}]
    return {"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": terms}}}


def spread(**constraint):
    whole = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
    return [{**whole, **constraint}]


@pytest.mark.parametrize(
    ("spec", "problem"),
    [
        (
            {"tolerations": [{"key": "a", "effect": "NoSchedul"}]},
            'spec.tolerations[0].effect: Unsupported value: "NoSchedul": supported values: '
            '"NoSchedule", "PreferNoSchedule", "NoExecute"',
        ),
        (
            {"tolerations": [{"value": "x"}]},
            'spec.tolerations[0].operator: Invalid value: "": operator must be Exists when `key` '
            'is empty, which means "match all values and all keys"',
        ),
        (
            {"tolerations": [{"key": "a", "operator": "Exists", "value": "x"}]},
            'spec.tolerations[0].operator: Invalid value: "x": value must be empty when '
            "`operator` is 'Exists'",
        ),
        (
            {"topologySpreadConstraints": spread(maxSkew=0)},
            "spec.topologySpreadConstraints[0].maxSkew: Invalid value: 0: must be greater than "
            "zero",
        ),
        (
            {"topologySpreadConstraints": spread(topologyKey="")},
            "spec.topologySpreadConstraints[0].topologyKey: Required value: can not be empty",
        ),
        (
            {"topologySpreadConstraints": spread(whenUnsatisfiable="Never")},
            'spec.topologySpreadConstraints[0].whenUnsatisfiable: Unsupported value: "Never": '
            'supported values: "DoNotSchedule", "ScheduleAnyway"',
        ),
        (
            {"topologySpreadConstraints": spread(whenUnsatisfiable="ScheduleAnyway", minDomains=2)},
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 2: can only use "
            "minDomains if whenUnsatisfiable=DoNotSchedule, not ScheduleAnyway",
        ),
        (
            {"topologySpreadConstraints": spread(minDomains=0)},
            "spec.topologySpreadConstraints[0].minDomains: Invalid value: 0: must be greater than "
            "zero",
        ),
        (
            {"topologySpreadConstraints": spread(nodeTaintsPolicy="Maybe")},
            'spec.topologySpreadConstraints[0].nodeTaintsPolicy: Unsupported value: "Maybe": '
            'supported values: "Honor", "Ignore"',
        ),
        (
            {"affinity": node_term(key="a", operator="in", values=["x"])},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
            '.operator: Invalid value: "in": not a valid selector operator',
        ),
        (
            {"affinity": node_term(key="a", operator="In")},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
            ".values: Required value: must be specified when `operator` is 'In' or 'NotIn'",
        ),
        (
            {"affinity": node_term(key="a", operator="Exists", values=["x"])},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms[0].matchExpressions[0]"
            ".values: Forbidden: may not be specified when `operator` is 'Exists' or "
            "'DoesNotExist'",
        ),
        (
            {"affinity": {"nodeAffinity": {REQUIRED: {}}}},
            f"spec.affinity.nodeAffinity.{REQUIRED}.nodeSelectorTerms: Required value: must have "
            "at least one node selector term",
        ),
        (
            {"affinity": {"nodeAffinity": {PREFERRED: [{"weight": 101}]}}},
            f"spec.affinity.nodeAffinity.{PREFERRED}[0].weight: Invalid value: 101: must be in the "
            "range 1-100",
        ),
        (
            {"affinity": {"podAffinity": {REQUIRED: [{"labelSelector": {}}]}}},
            f"spec.affinity.podAffinity.{REQUIRED}[0].topologyKey: Required value: can not be "
            "empty",
        ),
        (
            {
                "affinity": {
                    "podAntiAffinity": {PREFERRED: [{"podAffinityTerm": {"topologyKey": "z"}}]}
                }
            },
            f"spec.affinity.podAntiAffinity.{PREFERRED}[0].weight: Invalid value: 0: must be in "
            "the range 1-100",
        ),
    ],
    ids=lambda value: value.split(": ")[0] if isinstance(value, str) else "",
)
def test_a_demand_that_means_nothing_is_named(spec, problem):
    assert problems(**spec) == [problem]


def test_a_bad_label_selector_is_named():
    term = {
        "topologyKey": "z",
        "labelSelector": {"matchExpressions": [{"key": "a", "operator": "Gt", "values": ["1"]}]},
    }
    (found,) = problems(affinity={"podAffinity": {REQUIRED: [term]}})
    assert found == (
        f"spec.affinity.podAffinity.{REQUIRED}[0].labelSelector: "
        '"Gt" is not a valid label selector operator'
    )


def test_fields_know_only_the_name():
    term = {"matchFields": [{"key": "metadata.uid", "operator": "Exists"}]}
    found = problems(affinity={"nodeAffinity": {REQUIRED: {"nodeSelectorTerms": [term]}}})
    assert [problem.split(": ")[-1] for problem in found] == [
        "not a valid selector operator",
        "not a valid field selector key",
    ]


def test_a_good_pod_has_no_problems():
    assert problems() == []
    assert (
        problems(
            tolerations=[{"operator": "Exists"}],
            topologySpreadConstraints=spread(minDomains=2, nodeAffinityPolicy="Honor"),
            affinity=node_term(key="a", operator="Gt", values=["1"]),
        )
        == []
    )
