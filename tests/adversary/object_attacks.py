"""Attacks on objects with rights of their own: signers, device claims, definitions."""

from __future__ import annotations

import base64
from typing import Any

from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.x509.oid import NameOID

from mooring.apiserver.auth.certificate_authority import new_key
from tests.adversary.attack_steps import (
    APPLY,
    APPROVAL,
    DEFINITIONS,
    EVERYTHING,
    JSON_PATCH,
    MERGE,
    RBAC,
    STRATEGIC,
    TENANT,
    Attack,
    Step,
    admin,
    cluster_role,
    definition,
    rule,
)
from tests.adversary.path_attacks import THINGS, thing

Object = dict[str, Any]


def signing_request(name: str, signer: str, *groups: str) -> Object:
    """Return a CertificateSigningRequest for a client certificate."""
    names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
    names.append(x509.NameAttribute(NameOID.COMMON_NAME, "attacker"))
    builder = x509.CertificateSigningRequestBuilder().subject_name(x509.Name(names))
    pem = builder.sign(new_key(), hashes.SHA256()).public_bytes(serialization.Encoding.PEM)
    return {
        "apiVersion": "certificates.k8s.io/v1",
        "kind": "CertificateSigningRequest",
        "metadata": {"name": name},
        "spec": {
            "request": base64.b64encode(pem).decode(),
            "signerName": signer,
            "usages": ["client auth"],
        },
    }


CLIENTS = "kubernetes.io/kube-apiserver-client"
REQUESTS = "/apis/certificates.k8s.io/v1/certificatesigningrequests"
APPROVED = {
    "status": {
        "conditions": [{"type": "Approved", "status": "True", "reason": "a", "message": "b"}]
    }
}
FAILED = {
    "status": {"conditions": [{"type": "Failed", "status": "True", "reason": "a", "message": "b"}]}
}
DENIED = {
    "status": {
        "conditions": [
            APPROVED["status"]["conditions"][0],
            {"type": "Denied", "status": "True", "reason": "a", "message": "b"},
        ]
    }
}
UNAPPROVED = {
    "status": {
        "conditions": [{"type": "Approved", "status": "False", "reason": "x", "message": "y"}]
    }
}
CERTIFIED = {"status": {"certificate": base64.b64encode(b"forged").decode()}}
HAS_CERTIFICATE = [
    {"op": "test", "path": "/status/certificate", "value": CERTIFIED["status"]["certificate"]}
]
IS_APPROVED = [{"op": "test", "path": "/status/conditions/0/status", "value": "True"}]
_SIGNING = rule(
    "certificates.k8s.io",
    "certificatesigningrequests certificatesigningrequests/approval "
    "certificatesigningrequests/status",
    "get create update patch",
)

CLAIMS = f"/apis/resource.k8s.io/v1/namespaces/{TENANT}/resourceclaims"
CLAIM = {
    "apiVersion": "resource.k8s.io/v1",
    "kind": "ResourceClaim",
    "metadata": {"name": "{user}"},
    "spec": {"devices": {"requests": [{"name": "r", "exactly": {"deviceClassName": "c"}}]}},
}
_DEVICE = {"driver": "d.example.com", "pool": "p", "device": "one"}
ALLOCATION = {"devices": {"results": [{"request": "r", **_DEVICE}]}}
ALLOCATE = {"status": {"allocation": ALLOCATION}}
RESERVE = {"status": {"reservedFor": [{"resource": "pods", "name": "p", "uid": "1"}]}}
DEVICE_STATUS = {"status": {"devices": [{**_DEVICE, "data": {"a": "b"}}]}}
CLAIM_STATUS = f"{CLAIMS}/{{user}}/status"
_STATUS = rule("resource.k8s.io", "resourceclaims/status", "update patch get")
_BIND = rule("resource.k8s.io", "resourceclaims/binding", "patch")

RBAC_GROUP, STORAGE = "rbac.authorization.k8s.io", "/apis/storage.k8s.io/v1"


ATTACKS: dict[str, Attack] = {
    "a certificate in the group of administrators": Attack(
        (
            Step("POST", REQUESTS, 403, signing_request("a-{user}", CLIENTS, "system:masters")),
            Step(
                "POST",
                REQUESTS,
                403,
                signing_request("a-{user}", CLIENTS, "devs", "system:masters"),
            ),
            Step("POST", REQUESTS, 201, signing_request("b-{user}", CLIENTS, "devs")),
            Step(
                "POST",
                REQUESTS,
                201,
                signing_request("c-{user}", "example.com/a", "system:masters"),
            ),
        ),
        rules=(_SIGNING,),
    ),
    "requests are approved and signed without a right to the signer": Attack(
        (
            Step("POST", REQUESTS, 201, signing_request("a-{user}", "example.com/a")),
            Step("POST", REQUESTS, 201, signing_request("b-{user}", "example.com/b")),
            Step("POST", REQUESTS, 201, signing_request("c-{user}", "example.org/c")),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/status", 403, FAILED, MERGE),
            Step("PATCH", f"{REQUESTS}/b-{{user}}/approval", 403, APPROVED, MERGE),
            Step("PATCH", f"{REQUESTS}/b-{{user}}/status", 403, FAILED, MERGE),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/approval", 200, APPROVED, MERGE),
            Step("PATCH", f"{REQUESTS}/c-{{user}}/approval", 403, APPROVED, MERGE),
            Step("PATCH", f"{REQUESTS}/c-{{user}}/status", 200, FAILED, MERGE),
        ),
        rules=(
            _SIGNING,
            rule("certificates.k8s.io", "signers", "approve", "example.com/a"),
            rule("certificates.k8s.io", "signers", "sign", "example.org/*"),
        ),
    ),
    "an approval signs, and a status approves": Attack(
        (
            Step("POST", REQUESTS, 201, signing_request("a-{user}", "example.com/a")),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/status", 422, APPROVED, MERGE),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/status", 422, CERTIFIED, MERGE, same_text=False),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/approval", 200, CERTIFIED, MERGE),
            Step("PATCH", f"{REQUESTS}/a-{{user}}", 422, HAS_CERTIFICATE, JSON_PATCH),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/approval", 200, APPROVED, MERGE),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/approval", 422, DENIED, MERGE),
            Step(
                "PATCH",
                f"{REQUESTS}/a-{{user}}/approval",
                422,
                {"status": {"conditions": []}},
                MERGE,
            ),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/approval", 422, UNAPPROVED, MERGE),
            Step("PATCH", f"{REQUESTS}/a-{{user}}/status", 200, UNAPPROVED, MERGE),
            Step("PATCH", f"{REQUESTS}/a-{{user}}", 200, IS_APPROVED, JSON_PATCH),
            Step("PATCH", f"{REQUESTS}/a-{{user}}", 200, UNAPPROVED, MERGE),
            Step("PATCH", f"{REQUESTS}/a-{{user}}", 200, IS_APPROVED, JSON_PATCH),
            Step(
                "POST", REQUESTS, 422, signing_request("b-{user}", "kubernetes.io/legacy-unknown")
            ),
        ),
        rules=(_SIGNING, rule("certificates.k8s.io", "signers", "approve sign", "example.com/*")),
    ),
    "a claim is allocated without the right to bind": Attack(
        (
            admin("POST", CLAIMS, 201, CLAIM),
            Step("PATCH", CLAIM_STATUS, 422, ALLOCATE, MERGE),
            Step("PATCH", CLAIM_STATUS, 422, ALLOCATE, STRATEGIC),
            Step(
                "PATCH",
                f"{CLAIM_STATUS}?fieldManager=a",
                422,
                {**CLAIM, **ALLOCATE, "spec": None},
                APPLY,
                same_text=False,
            ),
            Step("PATCH", CLAIM_STATUS, 200, {"metadata": {"labels": {"a": "b"}}}, MERGE),
        ),
        inside=(_STATUS, rule("resource.k8s.io", "resourceclaims/binding", "*")),
    ),
    "the right to bind is that of the verb": Attack(
        (
            admin("POST", CLAIMS, 201, CLAIM),
            Step("PATCH", CLAIM_STATUS, 200, ALLOCATE, MERGE),
            Step("PUT", CLAIM_STATUS, 422, {**CLAIM, "status": {}}),
            Step("PATCH", CLAIM_STATUS, 422, DEVICE_STATUS, MERGE),
            Step("PATCH", CLAIM_STATUS, 200, RESERVE, MERGE),
        ),
        rules=(_BIND,),
        inside=(_STATUS,),
    ),
    "a driver writes the status of its devices alone": Attack(
        (
            admin("POST", CLAIMS, 201, CLAIM),
            admin("PATCH", CLAIM_STATUS, 200, ALLOCATE, content_type=MERGE),
            Step("PATCH", CLAIM_STATUS, 200, DEVICE_STATUS, MERGE),
            Step("PATCH", CLAIM_STATUS, 422, RESERVE, MERGE),
            Step("PATCH", CLAIM_STATUS, 422, {"status": {"allocation": None}}, MERGE),
        ),
        inside=(
            _STATUS,
            rule(
                "resource.k8s.io", "resourceclaims/driver", "arbitrary-node:patch", "d.example.com"
            ),
        ),
    ),
    "another driver's status": Attack(
        (
            admin("POST", CLAIMS, 201, CLAIM),
            admin("PATCH", CLAIM_STATUS, 200, ALLOCATE, content_type=MERGE),
            Step("PATCH", CLAIM_STATUS, 422, DEVICE_STATUS, MERGE),
        ),
        inside=(
            _STATUS,
            rule(
                "resource.k8s.io",
                "resourceclaims/driver",
                "arbitrary-node:update associated-node:patch",
                "d.example.com",
            ),
            rule(
                "resource.k8s.io",
                "resourceclaims/driver",
                "arbitrary-node:patch",
                "other.example.com",
            ),
        ),
    ),
    "a definition in a group of the community": Attack(
        (
            Step("POST", DEFINITIONS, 422, definition("aaas", "example.k8s.io")),
            Step("POST", DEFINITIONS, 422, definition("aaas", "k8s.io")),
            Step("POST", DEFINITIONS, 422, definition("aaas", "example.kubernetes.io", "yes")),
            Step("POST", DEFINITIONS, 422, definition("aaas", "example.k8s.io", "")),
            Step("POST", DEFINITIONS, 422, definition("aaas", "example.k8s.io", "/pull/1")),
            Step(
                "POST", DEFINITIONS, 201, definition("bbbs", "example.k8s.io", "unapproved, a test")
            ),
            Step(
                "POST",
                DEFINITIONS,
                201,
                definition("cccs", "example.k8s.io", "https://example.com/1"),
            ),
            Step("POST", DEFINITIONS, 201, definition("ddds", "example.x-k8s.io")),
            Step(
                "PATCH",
                f"{DEFINITIONS}/bbbs.example.k8s.io",
                422,
                {"metadata": {"annotations": {APPROVAL: None}}},
                MERGE,
            ),
            Step(
                "PATCH",
                f"{DEFINITIONS}/bbbs.example.k8s.io",
                422,
                {"metadata": {"annotations": {APPROVAL: "yes"}}},
                MERGE,
            ),
            Step(
                "PATCH",
                f"{DEFINITIONS}/bbbs.example.k8s.io",
                200,
                {"metadata": {"annotations": {APPROVAL: "https://example.com/1"}}},
                MERGE,
            ),
        ),
        rules=(rule("apiextensions.k8s.io", "customresourcedefinitions", "*"),),
    ),
    "a definition over a built-in kind": Attack(
        (
            Step(
                "POST",
                DEFINITIONS,
                201,
                definition("clusterroles", RBAC_GROUP, "unapproved, a test", scope="Cluster"),
            ),
            Step("POST", f"{RBAC}/clusterroles", 403, cluster_role("own-{user}", EVERYTHING)),
            admin("GET", f"{RBAC}/clusterroles/cluster-admin", 200),
            Step("DELETE", f"{DEFINITIONS}/clusterroles.{RBAC_GROUP}", 200, same_text=False),
            Step("POST", f"{RBAC}/clusterroles", 403, cluster_role("own-{user}", EVERYTHING)),
            admin("GET", f"{RBAC}/clusterroles/cluster-admin", 200),
        ),
        rules=(
            rule("apiextensions.k8s.io", "customresourcedefinitions", "*"),
            rule(RBAC_GROUP, "clusterroles", "create get"),
        ),
    ),
    "a definition beside built-in kinds": Attack(
        (
            Step(
                "POST",
                DEFINITIONS,
                201,
                definition("widgets", "storage.k8s.io", "unapproved, a test", scope="Cluster"),
            ),
            admin("GET", f"{STORAGE}/widgets", 404),
            admin("POST", f"{STORAGE}/widgets", 404, {"metadata": {"name": "a"}}),
            admin("GET", f"{STORAGE}/storageclasses", 200),
            Step("DELETE", f"{DEFINITIONS}/widgets.storage.k8s.io", 200, same_text=False),
            admin("GET", f"{STORAGE}/storageclasses", 200),
        ),
        rules=(rule("apiextensions.k8s.io", "customresourcedefinitions", "*"),),
    ),
    "an update of a custom resource names no version": Attack(
        (
            admin("POST", THINGS, 201, thing("blind")),
            Step("PUT", f"{THINGS}/blind", 422, thing("blind")),
            Step("PUT", f"{THINGS}/blind/status", 422, thing("blind")),
            Step("PATCH", f"{THINGS}/blind", 200, {"metadata": {"labels": {"a": "b"}}}, MERGE),
        ),
        inside=(rule("example.com", "things things/status", "*"),),
    ),
}
