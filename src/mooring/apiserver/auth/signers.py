"""Rights on signers: who may request, approve and sign certificates, and attest trust bundles."""

# kube-apiserver: plugin/pkg/admission/certificates, pkg/certauthorization

from __future__ import annotations

import base64
from typing import Any

from cryptography import x509
from cryptography.x509.oid import NameOID

from mooring.api.go_format import go_quote
from mooring.apiserver import refusals
from mooring.apiserver.auth.authorization import MASTERS, Attributes, Authorizer
from mooring.apiserver.auth.escalation import is_only_for_collection
from mooring.apiserver.http import RequestUser
from mooring.apiserver.refusals import Refusal
from mooring.apiserver.write import Write

Object = dict[str, Any]

_GROUP = "certificates.k8s.io"
REQUESTS, BUNDLES = f"{_GROUP}/certificatesigningrequests", f"{_GROUP}/clustertrustbundles"
_CLIENTS = "kubernetes.io/kube-apiserver-client"
_SIGNED = ("certificate", "conditions")


def check(write: Write, obj: Object, old: Object | None) -> None:
    """Refuse a certificate request or a trust bundle that its writer has no right to write."""
    store = write.served.store
    if store == REQUESTS:
        _check_request(write, obj, old)
    elif store == BUNDLES:
        signer = obj["spec"].get("signerName") or ""
        if signer and (old is None or not is_only_for_collection(obj, old)):
            _require(write, obj, "attest", signer, f"attest for signerName {go_quote(signer)}")


def _check_request(write: Write, obj: Object, old: Object | None) -> None:
    part = write.subresource
    if old is None:
        _check_subject(write, obj)
        return
    signer = old["spec"].get("signerName") or ""
    if part == "approval":
        what = f"approve requests with signerName {go_quote(signer)}"
        _require(write, obj, "approve", signer, what)
    elif part == "status":
        status, before = obj.get("status") or {}, old.get("status") or {}
        if any((status.get(name) or None) != (before.get(name) or None) for name in _SIGNED):
            what = f"sign requests with signerName {go_quote(signer)}"
            _require(write, obj, "sign", signer, what)


def _check_subject(write: Write, obj: Object) -> None:
    """Refuse a request for a client certificate in the group of administrators."""
    spec = obj["spec"]
    if spec.get("signerName") != _CLIENTS:
        return
    request = x509.load_pem_x509_csr(base64.b64decode(spec["request"]))
    groups = request.subject.get_attributes_for_oid(NameOID.ORGANIZATION_NAME)
    if any(group.value == MASTERS for group in groups):
        why = f"use of {_CLIENTS} signer with {MASTERS} group is not allowed"
        raise _forbidden(write, obj, why)


def _require(write: Write, obj: Object, verb: str, signer: str, what: str) -> None:
    if not _allows(Authorizer(write.cluster), write.request.user, verb, signer):
        raise _forbidden(write, obj, f"user not permitted to {what}")


def _allows(authorizer: Authorizer, user: RequestUser, verb: str, signer: str) -> bool:
    """Return whether a user has a right to a signer, or to all signers of its domain."""
    domain = signer.partition("/")[0]
    return any(
        authorizer.allows(Attributes(user, verb, _GROUP, "*", "signers", name=name))
        for name in (signer, f"{domain}/*")
    )


def _forbidden(write: Write, obj: Object, why: str) -> Refusal:
    name = obj["metadata"].get("name") or ""
    return refusals.forbidden(write.served.name, _GROUP, name, why)
