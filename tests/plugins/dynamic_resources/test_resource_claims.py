from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from mooring.api import DeviceClass, Pod, PodResourceClaimStatus, ResourceClaim
from mooring.framework.status import Status
from mooring.informers.store import Store
from mooring.plugins.dynamic_resources.resource_claims import find_claims, missing_class
from tests.plugins.clusters import make, make_pod

OWNED = {"ownerReferences": [{"kind": "Pod", "uid": "default/pod", "controller": True}]}


def _claim(name: str, **metadata: Any) -> ResourceClaim:
    found = make(ResourceClaim, name, "default", metadata=metadata)
    assert isinstance(found, ResourceClaim)
    return found


CLAIMS: Store[ResourceClaim] = Store(
    [
        _claim("c"),
        _claim("going", deletionTimestamp="2026-01-01T00:00:00Z"),
        _claim("made", **OWNED),
    ]
)


def _pod(made: str | None = None, **entry: str) -> Pod:
    pod = make_pod("pod", resourceClaims=[{"name": "g", **entry}])
    if made is None:
        return pod
    entries = (PodResourceClaimStatus(name="g", resource_claim_name=made or None),)
    return replace(pod, status=replace(pod.status, resource_claim_statuses=entries))


FROM_TEMPLATE = {"resourceClaimTemplateName": "t"}


@pytest.mark.parametrize(
    ("pod", "expected"),
    [
        pytest.param(_pod(resourceClaimName="c"), ["c"], id="by name"),
        pytest.param(_pod("made", **FROM_TEMPLATE), ["made"], id="made from a template"),
        pytest.param(_pod("", **FROM_TEMPLATE), [], id="deliberately not made"),
        pytest.param(
            _pod(**FROM_TEMPLATE),
            'pod "default/pod": ResourceClaim not created yet',
            id="not yet made",
        ),
        pytest.param(
            _pod("c", **FROM_TEMPLATE),
            "ResourceClaim default/c was not created for Pod default/pod (Pod is not owner)",
            id="made for somebody else",
        ),
        pytest.param(
            _pod(),
            'pod "default/pod", spec.resourceClaim "g": none of the supported fields are set',
            id="neither name nor template",
        ),
        pytest.param(
            _pod(resourceClaimName="no"),
            'could not find ResourceClaim "default/no"',
            id="no such claim",
        ),
        pytest.param(
            _pod(resourceClaimName="going"),
            'resourceclaim "going" is being deleted',
            id="being deleted",
        ),
    ],
)
def test_the_claims_of_a_pod(pod: Pod, expected: list[str] | str) -> None:
    found = find_claims(pod, CLAIMS)
    if not isinstance(found, str):
        assert [claim.metadata.name for claim in found] == expected
    else:
        assert found == expected


CLASSES: Store[DeviceClass] = Store([make(DeviceClass, "gpu")])


@pytest.mark.parametrize(
    ("request_of", "text"),
    [
        pytest.param({"exactly": {"deviceClassName": "gpu"}}, "", id="a class that exists"),
        pytest.param(
            {"exactly": {"deviceClassName": "no"}},
            "request r: device class no does not exist",
            id="a class that does not exist",
        ),
        pytest.param(
            {
                "firstAvailable": [
                    {"name": "a", "deviceClassName": "gpu"},
                    {"name": "b", "deviceClassName": "no"},
                ]
            },
            "request r/b: device class no does not exist",
            id="an alternative of a class that does not exist",
        ),
        pytest.param(
            {}, "resource claim default/c, request r: unknown request type", id="a new kind"
        ),
    ],
)
def test_device_classes(request_of: dict[str, Any], text: str) -> None:
    spec = {"devices": {"requests": [{"name": "r", **request_of}]}}
    expected = Status.unresolvable(text) if text else None
    assert missing_class(make(ResourceClaim, "c", "default", spec=spec), CLASSES) == expected
