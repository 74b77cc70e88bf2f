"""What a pod requests."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mooring.api import Pod, decode_as
from mooring.api.pod_resource_requests import (
    NON_ZERO_DEFAULTS,
    RequestOptions,
    claim_amounts_of_container,
    container_limits,
    pod_and_non_zero_requests,
    pod_non_zero_requests,
    pod_requests,
)
from tests.api.reference import recorded

MI = 1024 * 1024


def pod(containers=(), init=(), **spec):
    status = spec.pop("status", {})
    return decode_as(
        {
            "metadata": {"name": "p"},
            "spec": {"containers": list(containers), "initContainers": list(init), **spec},
            "status": status,
        },
        Pod,
    )


def container(name="c", sidecar=False, **requests):
    fields = {"name": name, "resources": {"requests": requests}}
    if sidecar:
        fields["restartPolicy"] = "Always"
    return fields


@pytest.mark.parametrize(("question", "answer"), recorded("requests"), ids=lambda _: "recorded")
def test_requests_are_those_of_the_reference(question, answer):
    options = question["Opts"]
    found = pod_requests(
        decode_as(question["Pod"], Pod),
        RequestOptions(
            use_status_resources=options["status"],
            in_place_pod_level_resources=options["podlevelresize"],
            skip_pod_level_resources=options["skip"],
            exclude_overhead=options["nooverhead"],
            use_claim_status=options["dra"],
            non_missing=NON_ZERO_DEFAULTS if options["nonmissing"] else {},
            by_container=True,
        ),
    )
    assert found == answer


def resized(name="c", actuated=None, allocated=None):
    """Return the status of a container that is being resized."""
    status = {"name": name, "allocatedResources": allocated or {}}
    if actuated is not None:
        status["resources"] = {"requests": actuated}
    return status


INFEASIBLE = {
    "conditions": [{"type": "PodResizePending", "status": "True", "reason": "Infeasible"}]
}


@pytest.mark.parametrize(
    ("spec", "status", "cpu", "by_container"),
    [
        pytest.param([{"cpu": "1"}], {}, 1000, 1000, id="no status"),
        pytest.param(
            [{"cpu": "1"}],
            {"containerStatuses": [resized("c0", {"cpu": "3"}, {"cpu": "2"})]},
            3000,
            3000,
            id="the most of spec, allocated and actuated",
        ),
        pytest.param(
            [{"cpu": "1"}, {"cpu": "4"}],
            {"containerStatuses": [resized("c0", {"cpu": "3"}), resized("c1", {"cpu": "1"})]},
            5000,
            7000,
            id="of the sums, not of each container",
        ),
        pytest.param(
            [{"cpu": "1"}],
            {"containerStatuses": [resized("c0", None, {"cpu": "2"})]},
            2000,
            1000,
            id="allocated without actuated",
        ),
        pytest.param(
            [{"cpu": "4"}],
            {**INFEASIBLE, "containerStatuses": [resized("c0", {"cpu": "1"}, {"cpu": "2"})]},
            2000,
            2000,
            id="an infeasible resize",
        ),
        pytest.param(
            [{"cpu": "4"}],
            {**INFEASIBLE, "containerStatuses": [{"name": "c0"}]},
            0,
            4000,
            id="an infeasible resize and nothing known",
        ),
        pytest.param(
            [{"cpu": "1"}],
            {
                "allocatedResources": {"cpu": "5"},
                "resources": {"requests": {"cpu": "2"}},
                "containerStatuses": [resized("c0", {"cpu": "9"})],
            },
            5000,
            9000,
            id="the kubelet's sums count",
        ),
    ],
)
def test_a_resize_is_counted_for_the_whole_pod_since_1_37(spec, status, cpu, by_container):
    one = pod([container(f"c{i}", **requests) for i, requests in enumerate(spec)], status=status)
    for options, expected in (
        (RequestOptions(), cpu),
        (RequestOptions(by_container=True), by_container),
    ):
        assert pod_requests(one, options).get("cpu", 0) == expected
        both = pod_and_non_zero_requests(one, options)
        assert both == (pod_requests(one, options), pod_non_zero_requests(one, options))


def test_pod_level_amounts_of_the_status_count():
    one = pod(
        [container(cpu="1")],
        resources={"requests": {"cpu": "2"}},
        status={
            "resources": {"requests": {"cpu": "3", "memory": "1Gi"}},
            "allocatedResources": {"cpu": "4"},
        },
    )
    assert pod_requests(one) == {"cpu": 4000, "memory": 1024 * MI}
    assert pod_requests(one, RequestOptions(by_container=True)) == {"cpu": 4000}


def test_a_later_init_container_needs_the_earlier_sidecars_too():
    found = pod_requests(
        pod(
            [container(cpu="1")],
            init=[
                container("a", cpu="3"),
                container("b", sidecar=True, cpu="2"),
                container("c", cpu="2"),
            ],
        )
    )
    assert found == {"cpu": 4000}


def test_fractions_are_summed_before_they_are_rounded():
    assert pod_requests(pod([container(cpu="0.5m"), container("d", cpu="0.5m")])) == {"cpu": 1}


@pytest.mark.parametrize(
    ("reason", "expected"),
    [
        pytest.param("Deferred", 3000, id="a deferred resize holds the most of spec and status"),
        pytest.param("Infeasible", 2000, id="an infeasible resize leaves the spec out"),
    ],
)
def test_a_resized_pod_holds_what_it_may_still_hold(reason, expected):
    resized = pod(
        [container(cpu="3")],
        status={
            "containerStatuses": [
                {
                    "name": "c",
                    "resources": {"requests": {"cpu": "1"}},
                    "allocatedResources": {"cpu": "2"},
                }
            ],
            "conditions": [{"type": "PodResizePending", "status": "True", "reason": reason}],
        },
    )
    assert pod_requests(resized) == {"cpu": expected}


@pytest.mark.parametrize(
    ("asked", "expected"),
    [
        pytest.param(pod([container()]), (100, 200 * MI), id="a container that requests nothing"),
        pytest.param(pod([container(cpu="0")]), (0, 200 * MI), id="an explicit zero is a request"),
        pytest.param(
            pod([container(cpu="1"), container("d", memory="1Mi")]),
            (1100, 201 * MI),
            id="each container is completed on its own",
        ),
        pytest.param(
            pod([container(), container("d")], resources={"requests": {"cpu": "1"}}),
            (1000, 400 * MI),
            id="a pod-level request stands for all containers",
        ),
        pytest.param(
            pod([container()], overhead={"cpu": "50m"}), (150, 200 * MI), id="overhead is added"
        ),
    ],
)
def test_non_zero_requests(asked, expected):
    assert pod_non_zero_requests(asked) == expected
    assert pod_and_non_zero_requests(asked) == (pod_requests(asked), expected)


_AMOUNTS = st.dictionaries(st.sampled_from(["cpu", "memory"]), st.sampled_from(["1m", "2", "3Mi"]))
_CONTAINERS = st.lists(st.tuples(_AMOUNTS, st.booleans()), max_size=3)


@given(_CONTAINERS, _CONTAINERS, st.none() | _AMOUNTS, _AMOUNTS, st.none() | _AMOUNTS)
def test_one_sum_gives_both_kinds_of_requests(containers, init, pod_level, overhead, actual):
    status = {}
    if actual is not None:
        status = {"containerStatuses": [{"name": "c0", "resources": {"requests": actual}}]}
    made = pod(
        [container(f"c{i}", **amounts) for i, (amounts, _) in enumerate(containers)],
        init=[container(f"i{i}", sidecar, **amounts) for i, (amounts, sidecar) in enumerate(init)],
        overhead=overhead,
        **({} if pod_level is None else {"resources": {"requests": pod_level}}),
        status=status,
    )
    expected = (pod_requests(made), pod_non_zero_requests(made))
    assert pod_and_non_zero_requests(made) == expected


CLAIMED = {
    "nodeAllocatableResourceClaimStatuses": [
        {
            "resourceClaimName": "a",
            "containers": ["c", "d"],
            "mapping": [{"name": "cpu", "quantity": "1500m"}, {"name": "hugepages-2Mi"}],
            "overhead": [
                {"name": "memory", "perPod": "1Mi", "perContainer": "2Mi"},
                {"name": "cpu", "perPod": "1m"},
            ],
            "resources": {"cpu": "64"},
        },
        {
            "resourceClaimName": "b",
            "mapping": [{"name": "cpu", "quantity": "1"}],
            "overhead": [{"name": "hugepages-2Mi", "perPod": "2Mi"}],
        },
    ]
}
USES_CLAIMS = RequestOptions(use_claim_status=True)


def test_node_resources_that_claims_consume_are_requested():
    made = pod([container("c", cpu="1"), container("d")], status=CLAIMED)
    assert pod_requests(made) == {"cpu": 1000}
    assert pod_requests(made, USES_CLAIMS) == {
        "cpu": 3501,
        "memory": 5 * MI,
        "hugepages-2Mi": 2 * MI,
    }
    assert pod_non_zero_requests(made, USES_CLAIMS) == (3601, 5 * MI + 400 * MI)
    assert pod_and_non_zero_requests(made, USES_CLAIMS) == (
        pod_requests(made, USES_CLAIMS),
        pod_non_zero_requests(made, USES_CLAIMS),
    )


def test_in_1_36_claims_have_one_amount():
    made = pod([container("c", cpu="1")], status=CLAIMED)
    options = RequestOptions(use_claim_status=True, by_container=True)
    assert pod_requests(made, options) == {"cpu": 65_000}


def test_a_resized_pod_keeps_what_its_claims_consume():
    status = {
        **CLAIMED,
        "containerStatuses": [resized(actuated={"cpu": "1"}, allocated={"cpu": "2"})],
    }
    made = pod([container("c", cpu="1")], status=status)
    assert pod_requests(made, USES_CLAIMS)["cpu"] == 2000 + 2501


def test_claims_raise_limits_that_are_set_and_those_of_huge_pages():
    limits = {"name": "c", "resources": {"limits": {"cpu": "1"}}}
    made = pod([limits], status=CLAIMED)
    assert container_limits(made) == {"cpu": 10**9}
    assert container_limits(made, use_claim_status=True) == {
        "cpu": 3_501_000_000,
        "hugepages-2Mi": 2 * MI * 10**9,
    }


def test_a_container_may_use_what_its_claims_consume():
    made = pod([container("c"), container("x")], status=CLAIMED)
    assert claim_amounts_of_container(made, "c") == {
        "cpu": 1_501_000_000,
        "memory": 3 * MI * 10**9,
    }
    assert claim_amounts_of_container(made, "x") == {}


def test_equal_pods_do_not_share_the_dict_of_their_requests():
    first, _ = pod_and_non_zero_requests(pod([container(cpu="1")]))
    first["cpu"] = 5
    assert pod_and_non_zero_requests(pod([container(cpu="1")])) == ({"cpu": 1000}, (1000, 200 * MI))


def test_claims_count_beside_the_only_container():
    one = pod(
        [container(cpu="1")],
        status={
            "nodeAllocatableResourceClaimStatuses": [
                {"resourceClaimName": "a", "resources": {"cpu": "2"}}
            ]
        },
    )
    options = RequestOptions(use_claim_status=True, by_container=True)
    assert pod_and_non_zero_requests(one, options)[0] == {"cpu": 3000}


def test_options_follow_the_feature_gates():
    off = RequestOptions.from_gates(lambda gate: False)
    on = RequestOptions.from_gates(lambda gate: True)
    assert (off.use_status_resources, off.skip_pod_level_resources) == (False, True)
    assert (on.use_status_resources, on.skip_pod_level_resources) == (True, False)
    assert on.use_claim_status
    default = RequestOptions.from_gates(lambda gate: gate != "DRANodeAllocatableResources")
    assert default == RequestOptions()
