"""The Policy file: kube-scheduler 1.22's mapping to plugins, name by name."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.config.convert import Converted, convert, convert_policy
from tests.config.convert.older import errors, only_profile


def policy(**fields: Any) -> dict[str, Any]:
    return {"kind": "Policy", "apiVersion": "v1", **fields}


def at(converted: Converted, point: str) -> list[str]:
    enabled = only_profile(converted)["plugins"].get(point, {}).get("enabled", [])
    return [entry["name"] for entry in enabled]


def args(converted: Converted, plugin: str) -> Any:
    config = only_profile(converted).get("pluginConfig", [])
    return next((entry["args"] for entry in config if entry["name"] == plugin), None)


MANDATORY = {"NodeUnschedulable", "TaintToleration"}


@pytest.mark.parametrize(
    ("predicate", "plugins"),
    [
        ("CheckNodeUnschedulable", set()),
        ("GeneralPredicates", {"NodeResourcesFit", "NodeName", "NodePorts", "NodeAffinity"}),
        ("HostName", {"NodeName"}),
        ("PodFitsHostPorts", {"NodePorts"}),
        ("PodFitsPorts", {"NodePorts"}),
        ("MatchNodeSelector", {"NodeAffinity"}),
        ("PodFitsResources", {"NodeResourcesFit"}),
        ("NoDiskConflict", {"VolumeRestrictions"}),
        ("PodToleratesNodeTaints", set()),
        ("MaxEBSVolumeCount", {"NodeVolumeLimits"}),
        ("MaxGCEPDVolumeCount", {"NodeVolumeLimits"}),
        ("MaxCSIVolumeCountPred", {"NodeVolumeLimits"}),
        ("MaxAzureDiskVolumeCount", {"NodeVolumeLimits"}),
        ("MaxCinderVolumeCount", {"NodeVolumeLimits"}),
        ("CheckVolumeBinding", {"VolumeBinding"}),
        ("NoVolumeZoneConflict", {"VolumeZone"}),
        ("EvenPodsSpread", {"PodTopologySpread"}),
        ("MatchInterPodAffinity", {"InterPodAffinity"}),
    ],
)
def test_a_predicate_is_filtered_by_its_plugins(predicate: str, plugins: set[str]) -> None:
    converted = convert(policy(predicates=[{"name": predicate}], priorities=[]))
    assert set(at(converted, "filter")) == plugins | MANDATORY
    binds = ["VolumeBinding"] if "VolumeBinding" in plugins else []
    assert (at(converted, "reserve"), at(converted, "preBind")) == (binds, binds)


@pytest.mark.parametrize(
    ("priority", "plugin"),
    [
        ("EqualPriority", None),
        ("MostRequestedPriority", "NodeResourcesFit"),
        ("SelectorSpreadPriority", "PodTopologySpread"),
        ("ServiceSpreadingPriority", "PodTopologySpread"),
        ("InterPodAffinityPriority", "InterPodAffinity"),
        ("LeastRequestedPriority", "NodeResourcesFit"),
        ("BalancedResourceAllocation", "NodeResourcesBalancedAllocation"),
        ("NodePreferAvoidPodsPriority", None),
        ("NodeAffinityPriority", "NodeAffinity"),
        ("TaintTolerationPriority", "TaintToleration"),
        ("ImageLocalityPriority", "ImageLocality"),
        ("EvenPodsSpreadPriority", "PodTopologySpread"),
    ],
)
def test_a_priority_is_scored_by_its_plugin(priority: str, plugin: str | None) -> None:
    converted = convert(policy(predicates=[], priorities=[{"name": priority, "weight": 7}]))
    score = only_profile(converted)["plugins"].get("score", {}).get("enabled", [])
    assert score == ([{"name": plugin, "weight": 7}] if plugin else [])


def test_most_requested_is_a_strategy_of_fit() -> None:
    converted = convert(policy(priorities=[{"name": "MostRequestedPriority", "weight": 1}]))
    assert args(converted, "NodeResourcesFit") == {"scoringStrategy": {"type": "MostAllocated"}}


@pytest.mark.parametrize(
    ("priorities", "weight", "spreading"),
    [
        ([("SelectorSpreadPriority", 4)], 4, None),
        ([("EvenPodsSpreadPriority", 4)], 4, {"defaultingType": "List"}),
        ([("SelectorSpreadPriority", 9), ("EvenPodsSpreadPriority", 4)], 4, None),
    ],
    ids=[
        "SelectorSpread spreads by default constraints",
        "EvenPodsSpread alone spreads by the pod's constraints only",
        "of both, EvenPodsSpread has the weight",
    ],
)
def test_spreading_goes_by_two_priorities(
    priorities: list[tuple[str, int]], weight: int, spreading: Any
) -> None:
    doc = policy(priorities=[{"name": name, "weight": value} for name, value in priorities])
    converted = convert(doc)
    score = only_profile(converted)["plugins"]["score"]["enabled"]
    assert score == [{"name": "PodTopologySpread", "weight": weight}]
    assert args(converted, "PodTopologySpread") == spreading


def test_predicates_and_priorities_that_are_null_stand_for_the_default_ones() -> None:
    absent, null = convert(policy()), convert(policy(predicates=None, priorities=None))
    assert absent.doc_v1 == null.doc_v1
    assert len(at(absent, "filter")) == 12
    assert len(at(absent, "score")) == 7


def test_a_zero_weight_of_hard_pod_affinity_is_no_weight() -> None:
    assert args(convert(policy(hardPodAffinitySymmetricWeight=0)), "InterPodAffinity") is None
    found = args(convert(policy(hardPodAffinitySymmetricWeight=9)), "InterPodAffinity")
    assert found == {"hardPodAffinityWeight": 9}


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "Policy", "apiVersion": "v1", "predicates": [{"name": "HostName"},],}',
        '{\n\t"predicates": [\n\t\t{"name": "HostName"}\n\t]\n}',
        "kind: Policy\napiVersion: v1\npredicates:\n- name: HostName\n",
        'apiVersion: "kubescheduler.config.k8s.io/v1"\nkind: Policy\npredicates: [name: HostName]',
    ],
    ids=["JSON with trailing commas", "JSON with tabs", "YAML", "the group's version"],
)
def test_a_policy_is_read_from_text(text: str) -> None:
    assert "NodeName" in at(convert_policy(text), "filter")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not valid YAML"),
        ("[]", "must be a mapping, got a list"),
        ("", "must be a mapping, got null"),
        ("kind: Pod", 'kind: must be Policy, got "Pod"'),
        ("apiVersion: v2", "apiVersion: must be v1 or kubescheduler.config.k8s.io/v1"),
        ("predicate: []", 'predicate: unknown field "predicate", did you mean "predicates"?'),
        ("priorities: [{name: A, weight: x}]", 'priorities[0].weight: must be an integer, got "x"'),
        ("extenders: [{httpTimeout: 30s}]", "must be a number of nanoseconds"),
    ],
    ids=str,
)
def test_what_is_no_policy_is_refused(text: str, message: str) -> None:
    converted = convert_policy(text)
    assert any(message in error for error in errors(converted)), errors(converted)


def test_a_custom_priority_may_not_be_declared_twice() -> None:
    ratio = {"requestedToCapacityRatioArguments": {"shape": [{"utilization": 0, "score": 0}]}}
    doc = policy(
        priorities=[
            {"name": "One", "weight": 1, "argument": ratio},
            {"name": "Two", "weight": 1, "argument": ratio},
        ]
    )
    assert errors(convert(doc)) == [
        'priorities[1]: priority "Two" redeclares custom priority "RequestedToCapacityRatio", '
        'from: "One"'
    ]


def test_the_argument_of_a_plain_predicate_is_ignored() -> None:
    labels = {"labelsPresence": {"labels": ["a"], "presence": True}}
    converted = convert(policy(predicates=[{"name": "HostName", "argument": labels}]))
    assert set(at(converted, "filter")) == MANDATORY | {"NodeName"}
    assert "predicates[0].argument: is ignored: HostName takes no argument" in converted.warnings


def test_labels_need_node_affinity() -> None:
    labels = {"labelsPresence": {"labels": ["a"], "presence": True}}
    doc = policy(predicates=[{"name": "Mine", "argument": labels}])
    (error,) = errors(convert(doc))
    assert error.startswith("predicates[0]: NodeLabel no longer exists, and NodeAffinity, which")
