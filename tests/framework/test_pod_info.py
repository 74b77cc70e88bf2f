"""A pod with what the scheduler derives from it."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from mooring.api.labels import Selector
from mooring.framework.features import FeatureGates
from mooring.framework.pod_info import AffinityTerm, PodInfos, counts_alike
from mooring.testing import make_pod

MIB = 1024 * 1024


def info(**fields):
    return PodInfos(FeatureGates()).of(make_pod(**fields))


def term(**fields):
    return {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}, **fields}


def affinity(section, required=(), preferred=()):
    return {
        "affinity": {
            section: {
                "requiredDuringSchedulingIgnoredDuringExecution": list(required),
                "preferredDuringSchedulingIgnoredDuringExecution": [
                    {"weight": weight, "podAffinityTerm": one} for weight, one in preferred
                ],
            }
        }
    }


@pytest.mark.parametrize(
    ("fields", "cpu", "memory"),
    [
        pytest.param({}, 100, 200 * MIB, id="defaults for what requests nothing"),
        pytest.param({"cpu": "1"}, 1000, 200 * MIB, id="a default for memory"),
        pytest.param({"memory": "1Mi"}, 100, MIB, id="a default for cpu"),
        pytest.param({"cpu": "1", "memory": "1Mi"}, 1000, MIB, id="no default"),
        pytest.param({"cpu": "0", "memory": "0"}, 0, 0, id="zero is a request"),
    ],
)
def test_what_a_pod_counts_for_scores(fields, cpu, memory):
    found = info(**fields)
    assert (found.non_zero_cpu, found.non_zero_memory) == (cpu, memory)


def test_what_is_read_from_the_pod():
    found = info(
        name="a",
        namespace="shop",
        priority=7,
        spec={
            "containers": [
                {"name": "c", "ports": [{"hostPort": 80, "containerPort": 80, "protocol": "TCP"}]}
            ],
            "volumes": [
                {"name": "v", "persistentVolumeClaim": {"claimName": "data"}},
                {"name": "w", "emptyDir": {}},
            ],
        },
        status={"startTime": "1970-01-01T00:00:07Z"},
    )
    assert (found.key, found.priority, found.start_time) == ("shop/a", 7, 7.0)
    assert found.claim_keys == ("shop/data",)
    assert found.host_ports == (("0.0.0.0", "TCP", 80),)
    assert repr(found) == "PodInfo('shop/a')"
    assert info().start_time is None


def test_terms_are_parsed_by_section():
    spec = affinity("podAffinity", [term()], [(5, term(topologyKey="rack"))])
    found = info(spec=spec)
    assert [one.topology_key for one in found.required_affinity] == ["zone"]
    assert [(one.topology_key, one.weight) for one in found.preferred_affinity] == [("rack", 5)]
    assert (found.required_anti_affinity, found.has_affinity) == ((), True)
    away = info(spec=affinity("podAntiAffinity", [term()]))
    assert away.required_anti_affinity == found.required_affinity
    assert not info().has_affinity


@pytest.mark.parametrize(
    ("given", "namespaces", "labels", "matches"),
    [
        pytest.param({}, {"shop"}, {}, True, id="the pod's own namespace"),
        pytest.param({}, {"other"}, {}, False, id="another namespace"),
        pytest.param({"namespaces": ["other"]}, {"other"}, {}, True, id="a named namespace"),
        pytest.param({"namespaces": ["other"]}, {"shop"}, {}, False, id="then no longer its own"),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "a"}}},
            {"any"},
            {"team": "a"},
            True,
            id="a namespace with the labels",
        ),
        pytest.param(
            {"namespaceSelector": {"matchLabels": {"team": "a"}}},
            {"shop"},
            {},
            False,
            id="its own without the labels",
        ),
        pytest.param({"namespaceSelector": {}}, {"any"}, {}, True, id="every namespace"),
    ],
)
def test_a_term_matches_pods_of_its_namespaces(given, namespaces, labels, matches):
    spec = affinity("podAffinity", [term(**given)])
    (found,) = info(namespace="shop", spec=spec).required_affinity
    for namespace in namespaces:
        other = make_pod("b", namespace=namespace, labels={"app": "web"})
        assert found.matches(other, labels) is matches
        assert not found.matches(make_pod("c", namespace=namespace), labels)


def test_equal_terms_of_two_pods_are_equal():
    spec = affinity("podAffinity", [term()])
    (first,), (second,) = info(spec=spec).required_affinity, info(spec=spec).required_affinity
    assert first == second
    assert first == AffinityTerm(
        "zone", Selector.from_map({"app": "web"}), frozenset({"default"}), first.namespace_selector
    )


def test_a_very_long_section_is_parsed_too():
    many = [term(namespaces=[f"namespace-{number}"]) for number in range(500)]
    assert len(info(spec=affinity("podAffinity", many)).required_affinity) == 500


def test_pods_of_one_template_share_the_terms_of_a_very_long_section():
    many = [term(namespaces=[f"namespace-{number}"]) for number in range(500)]
    first, second = (info(spec=affinity("podAntiAffinity", many)) for _ in range(2))
    assert first.required_anti_affinity is second.required_anti_affinity


def test_a_pod_object_is_computed_once():
    infos = PodInfos(FeatureGates())
    pod, twin = make_pod("a"), make_pod("a")
    assert infos.of(pod) is infos.of(pod)
    assert infos.of(twin) is not infos.of(pod)


def test_a_memo_that_is_full_starts_again():
    infos = PodInfos(FeatureGates())
    pod = make_pod("a")
    first = infos.of(pod)
    for _ in range(4096):
        infos.of(replace(pod))
    assert infos.of(pod) is not first


def test_a_placed_copy_differs_in_its_node_alone():
    infos = PodInfos(FeatureGates())
    pod = make_pod("a", cpu="1")
    placed = infos.placed(pod, "n")
    assert placed.pod.node_name == "n"
    assert placed.requests is infos.of(pod).requests
    assert pod.node_name == ""


def changed(pod, part, **fields):
    return replace(pod, **{part: replace(getattr(pod, part), **fields)})


@pytest.mark.parametrize(
    ("part", "fields", "alike"),
    [
        pytest.param("metadata", {"resource_version": "9"}, True, id="a version"),
        pytest.param("metadata", {"finalizers": ("x",)}, True, id="a finalizer"),
        pytest.param("metadata", {"labels": {"a": "b"}}, True, id="labels are compared elsewhere"),
        pytest.param("metadata", {"annotations": {"a": "b"}}, False, id="an annotation"),
        pytest.param("metadata", {"deletion_timestamp": "x"}, False, id="its deletion"),
        pytest.param("status", {"nominated_node_name": "n"}, True, id="a nomination"),
        pytest.param("status", {"phase": "Running"}, False, id="its phase"),
        pytest.param("spec", {"priority": 5}, False, id="its priority"),
    ],
)
def test_which_changes_count_the_same(part, fields, alike):
    pod = make_pod("a", node="n")
    assert counts_alike(pod, changed(pod, part, **fields)) is alike
