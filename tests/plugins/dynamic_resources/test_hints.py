from __future__ import annotations

import pytest

from mooring.api import ResourceClaim
from mooring.framework.cluster_events import QueueingHint
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
    ],
)
def test_claim_hints(old: ResourceClaim | None, new: ResourceClaim, queue: bool) -> None:
    hints = ClaimHints(Store([claim()]))
    expected = QueueingHint.QUEUE if queue else QueueingHint.SKIP
    assert hints.after_claim_changed(POD, old, new) is expected


def test_no_claim_helps_while_one_is_missing() -> None:
    hints = ClaimHints(Store())
    hint = hints.after_claim_changed(POD, claim("d", status=allocated_on("a")), claim("d"))
    assert hint is QueueingHint.SKIP


def test_pod_hints() -> None:
    hints = ClaimHints(Store([claim()]))
    other = pod("other", "c")
    waiting = make_pod("pod", resourceClaims=[{"name": "g", "resourceClaimTemplateName": "t"}])
    assert hints.after_pod_changed(POD, None, POD) is QueueingHint.QUEUE
    assert hints.after_pod_changed(POD, None, other) is QueueingHint.SKIP
    assert hints.after_pod_changed(POD, None, waiting) is QueueingHint.SKIP
