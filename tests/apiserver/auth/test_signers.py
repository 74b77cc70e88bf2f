"""Rights on signers; tests/adversary/object_attacks.py compares more with kube-apiserver."""

from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.auth import signers
from mooring.apiserver.bodies import WriteOptions
from mooring.apiserver.http import ApiRequest, RequestUser
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.request_paths import RequestInfo
from mooring.apiserver.write import Write
from tests.apiserver.api_server import ApiServer, grant_cluster

JANE = RequestUser("jane")


def _write(resource: str, subresource: str, verb: str = "", signer: str = "") -> Write:
    """Return a write by Jane, who has a right to a signer."""
    server = ApiServer()
    rule = {"apiGroups": ["certificates.k8s.io"], "resources": ["signers"], "verbs": [verb]}
    grant_cluster(server, JANE.name, rule | {"resourceNames": [signer]})
    served = server.served(f"certificates.k8s.io/{resource}")
    info = RequestInfo("update", "", subresource=subresource)
    request = ApiRequest("PUT", "", {}, {}, user=JANE)
    return Write(server.cluster, request, info, served, WriteOptions())


def _object(signer: str, **more: Any) -> dict[str, Any]:
    return {"metadata": {"name": "o"}, "spec": {"signerName": signer}, **more}


PARTS = {"approval": "approve", "status": "sign"}


@pytest.mark.parametrize("part", PARTS)
@pytest.mark.parametrize(
    ("right", "allowed"),
    [("a.io/s", True), ("a.io/*", True), ("a.io/t", False), ("*", False), ("b.io/*", False)],
)
def test_right_to_a_signer(part: str, right: str, *, allowed: bool) -> None:
    old, new = _object("a.io/s"), _object("a.io/s", status={"certificate": "YQ=="})
    write = _write("v1/certificatesigningrequests", part, PARTS[part], right)
    if allowed:
        signers.check(write, new, old)
        return
    with pytest.raises(Refusal, match=f"user not permitted to {PARTS[part]} requests with signer"):
        signers.check(write, new, old)


def test_right_to_sign_does_not_approve() -> None:
    write = _write("v1/certificatesigningrequests", "approval", "sign", "a.io/s")
    with pytest.raises(Refusal):
        signers.check(write, _object("a.io/s"), _object("a.io/s"))


def test_signer_is_that_of_the_old_request() -> None:
    write = _write("v1/certificatesigningrequests", "approval", "approve", "a.io/s")
    with pytest.raises(Refusal):
        signers.check(write, _object("a.io/s"), _object("b.io/s"))


def test_status_without_certificate_and_conditions_needs_no_right() -> None:
    write = _write("v1/certificatesigningrequests", "status")
    old = _object("a.io/s", status={"conditions": [{"type": "Failed"}]})
    signers.check(write, {**old, "metadata": {"name": "o", "labels": {"a": "b"}}}, old)


@pytest.mark.parametrize(("right", "allowed"), [("a.io/s", True), ("b.io/s", False)])
def test_trust_bundle_is_attested(right: str, *, allowed: bool) -> None:
    write = _write("v1/clustertrustbundles", "", "attest", right)
    new = _object("a.io/s")
    signers.check(write, _object(""), None)
    # The garbage collector may end a bundle without the right.
    signers.check(write, {**new, "metadata": {"name": "o", "finalizers": ["a.io/f"]}}, new)
    for old in (None, _object("a.io/s", changed=True)):
        if allowed:
            signers.check(write, new, old)
            continue
        with pytest.raises(Refusal, match=r'not permitted to attest for signerName "a\.io/s"'):
            signers.check(write, new, old)
