"""Composite pod groups as a manifest has them."""

from __future__ import annotations

import pytest

from mooring.api import CompositePodGroup, KubeObject, WorkloadPodGroup, decode_as
from mooring.controlplane.default_values import set_defaults
from mooring.errors import ObjectError
from mooring.testing import make_composite_pod_group, make_pod_group


def test_the_fields_of_a_manifest() -> None:
    data = {
        "apiVersion": "scheduling.k8s.io/v1alpha3",
        "kind": "CompositePodGroup",
        "metadata": {"name": "slice", "namespace": "ml"},
        "spec": {
            "schedulingPolicy": {"gang": {"minGroupCount": 3}},
            "schedulingConstraints": {"topology": [{"key": "zone"}]},
            "disruptionMode": {"all": {}},
            "priority": 7,
            "parentCompositePodGroupName": "job",
        },
    }
    group = decode_as(data, CompositePodGroup)
    assert (group.min_count, group.topology_key, group.priority) == (3, "zone", 7)
    assert group.is_disrupted_whole
    assert (group.parent_key, group.entity_key) == ("ml/job", "compositepodgroup/ml/slice")


def test_a_group_without_a_gang_needs_one_part_and_may_have_no_parent() -> None:
    group = make_composite_pod_group("c")
    assert (group.min_count, group.parent_key, group.topology_key) == (1, "", "")
    assert not group.is_disrupted_whole


def test_the_two_kinds_of_groups_have_different_keys() -> None:
    composite, group = make_composite_pod_group("g"), make_pod_group("g", parent="g")
    assert composite.key == group.key == group.parent_key
    assert composite.entity_key != group.entity_key


@pytest.mark.parametrize("kind", [CompositePodGroup, WorkloadPodGroup])
def test_an_unknown_priority_class_is_refused_by_the_kind_s_name(kind: type[KubeObject]) -> None:
    data = {"metadata": {"name": "g"}, "spec": {"priorityClassName": "no"}}
    with pytest.raises(ObjectError, match=f"{kind.kind} default/g: no PriorityClass"):
        set_defaults([decode_as(data, kind)])
