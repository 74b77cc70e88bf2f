"""The rights that a scheduler is given; tests/deploy shows that they are enough."""

from __future__ import annotations

from mooring.api.kinds import KINDS
from mooring.cli.rights import (
    binding_rules,
    cluster_rules,
    controller_rules,
    lease_rules,
    plugin_rules,
    reading_rules,
    rules_of_plugins,
)
from mooring.contrib import PLUGINS
from mooring.local.custom_definitions import SETS_OF_PLUGIN


def rights(rules: list[dict[str, list[str]]]) -> list[tuple[str, str, str]]:
    return [
        (group, resource, verb)
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    ]


def test_no_right_is_given_twice_or_for_everything() -> None:
    found = rights(cluster_rules())
    assert len(found) == len(set(found))
    assert not any("*" in part for right in found for part in right)


def test_only_what_the_scheduler_changes_may_be_changed() -> None:
    changed = {
        (resource, verb)
        for _, resource, verb in rights(cluster_rules())
        if verb in ("update", "patch", "delete")
    }
    assert changed == {
        ("pods", "delete"),
        ("pods/status", "patch"),
        ("persistentvolumeclaims", "patch"),
        ("persistentvolumes", "patch"),
        ("resourceclaims", "delete"),
        ("resourceclaims", "patch"),
        ("resourceclaims/binding", "patch"),
        ("resourceclaims/status", "patch"),
        ("podgroups/status", "patch"),
        ("events", "patch"),
    }


def test_a_lease_is_renewed_by_its_name_alone() -> None:
    create, use, events = lease_rules("mine")
    assert "resourceNames" not in create
    assert (use["resourceNames"], use["verbs"]) == (["mine"], ["get", "update"])
    assert rights([events]) == [("", "events", "create")]


def test_plugins_may_only_read() -> None:
    for plugin, rules in plugin_rules().items():
        assert {verb for _, _, verb in rights(rules)} <= {"list", "watch"}, plugin


def test_every_plugin_that_reads_custom_resources_has_rules() -> None:
    assert set(SETS_OF_PLUGIN) <= set(plugin_rules()) <= set(PLUGINS)
    granted = {
        (group, resource)
        for rules in plugin_rules().values()
        for group, resource, _ in rights(rules)
    }
    assert {(kind.group, kind.plural) for kind in KINDS if kind.custom} <= granted


def test_rules_of_plugins_are_given_once_and_only_to_those_that_are_enabled() -> None:
    assert rules_of_plugins(["NodeResourcesFit"]) == []
    both = rules_of_plugins(["TopologicalSort", "NetworkOverhead"])
    assert [rule["resources"] for rule in both] == [["appgroups"], ["networktopologies"]]


def test_controllers_change_nothing_but_statuses_and_events() -> None:
    changed = {
        resource
        for _, resource, verb in rights(controller_rules())
        if verb not in ("list", "watch")
    }
    assert changed == {
        "elasticquotas/status",
        "podgroups/status",
        "events",
        "tokenreviews",
        "subjectaccessreviews",
    }


def test_resources_are_read_by_group_and_without_more_rights() -> None:
    found = rights(
        reading_rules(["pods.v1.", "podgroups.v1alpha1.scheduling.x-k8s.io", "pods.v1."])
    )
    assert found == [
        ("", "pods", "list"),
        ("", "pods", "watch"),
        ("scheduling.x-k8s.io", "podgroups", "list"),
        ("scheduling.x-k8s.io", "podgroups", "watch"),
    ]


def test_a_binder_changes_nothing_but_the_binding() -> None:
    assert rights(binding_rules()) == [
        ("", "pods", "get"),
        ("", "pods/binding", "create"),
        ("events.k8s.io", "events", "create"),
        ("events.k8s.io", "events", "patch"),
    ]
