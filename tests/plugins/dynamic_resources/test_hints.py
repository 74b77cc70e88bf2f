from __future__ import annotations

import pytest

from mooring import testing
from mooring.api import ResourceClaim
from mooring.framework.cluster_events import ActionType, EventResource, QueueingHint
from mooring.framework.releases import V1_36, V1_37, Release
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.hints import ClaimHints
from tests.plugins.clusters import make_pod
from tests.plugins.dynamic_resources.devices import allocated_on, claim, pod

POD = pod("pod", "c")


@pytest.mark.parametrize(
    ("old", "new", "queue"),
    [
        pytest.param(None, claim(), True, id="the pod's claim comes"),
        pytest.param(None, claim("d"), False, id="another claim comes"),
        pytest.param(
            claim("d", status=allocated_on("a")), claim("d"), True, id="devices come free"
        ),
        pytest.param(
            claim(), claim(status=allocated_on("a")), True, id="the pod's claim changes state"
        ),
        pytest.param(claim(), claim(labels={"a": "b"}), False, id="its labels change"),
        pytest.param(
            claim("d", status=allocated_on("a")), None, True, id="a claim goes with its devices"
        ),
        pytest.param(claim("d"), None, False, id="a claim without devices goes"),
    ],
)
def test_claim_hints(old: ResourceClaim | None, new: ResourceClaim | None, queue: bool) -> None:
    hints = ClaimHints(Store([claim()]), V1_37)
    expected = QueueingHint.QUEUE if queue else QueueingHint.SKIP
    assert hints.after_claim_changed(POD, old, new) is expected


@pytest.mark.parametrize(("release", "wakes"), [(V1_36, False), (V1_37, True)])
def test_the_deletion_of_a_claim_wakes_pods_since_1_37(release: Release, wakes: bool) -> None:
    (event,) = (
        event
        for event in ClaimHints(Store(), release).events()
        if event.resource == EventResource.RESOURCE_CLAIM
    )
    assert bool(event.actions & ActionType.DELETE) is wakes


def test_a_rule_that_taints_less_wakes_pods() -> None:
    resources = [event.resource for event in ClaimHints(Store(), V1_37).events()]
    assert EventResource.DEVICE_TAINT_RULE not in resources
    *others, rules = ClaimHints(Store(), V1_37, taint_rules=True).events()
    assert [event.resource for event in others] == resources
    assert rules.resource == EventResource.DEVICE_TAINT_RULE
    assert not rules.actions & ActionType.ADD


def test_no_claim_helps_while_one_is_missing() -> None:
    hints = ClaimHints(Store(), V1_37)
    hint = hints.after_claim_changed(POD, claim("d", status=allocated_on("a")), claim("d"))
    assert hint is QueueingHint.SKIP


def test_pod_hints() -> None:
    hints = ClaimHints(Store([claim()]), V1_37)
    waiting = make_pod("pod", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}])
    assert hints.after_pod_changed(POD, None, POD) is QueueingHint.QUEUE
    assert hints.after_pod_changed(POD, None, waiting) is QueueingHint.SKIP


@pytest.mark.parametrize(
    ("old", "new", "pods"),
    [
        pytest.param(None, claim(), ["pod"], id="the claim of a pod comes"),
        pytest.param(None, claim("made"), ["other"], id="one that was made for a pod"),
        pytest.param(None, claim("d"), [], id="a claim that no pod uses"),
        pytest.param(claim("d", status=allocated_on("a")), claim("d"), None, id="devices are free"),
        pytest.param(claim("d", status=allocated_on("a")), None, None, id="an allocated one goes"),
        pytest.param(claim(), None, ["pod"], id="another one goes"),
    ],
)
def test_the_pods_of_a_claim_are_known_before_hints_are_asked(
    old: ResourceClaim | None, new: ResourceClaim | None, pods: list[str] | None
) -> None:
    told = {"resourceClaimStatuses": [{"name": "g", "resourceClaimName": "made"}]}
    spec = {"resourceClaims": [{"name": "g", "resourceClaimTemplateName": "t"}]}
    other = testing.make_pod("other", spec=spec, status=told)
    hints = ClaimHints(Store(), V1_37, pods=Store([POD, other]))
    found = hints.pods_of_claim(old, new)
    assert (None if found is None else [one.name for one in found]) == pods
    (event,) = (one for one in hints.events() if one.resource == EventResource.RESOURCE_CLAIM)
    assert event.pre_hint is not None
