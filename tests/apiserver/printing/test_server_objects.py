from __future__ import annotations

from typing import Any

import pytest

from mooring.apiserver.printing.server_objects import PRINTERS
from tests.apiserver.printing.rows import row

ADMISSION, CERTIFICATES = "admissionregistration.k8s.io", "certificates.k8s.io"
DEFINITION = "apiextensions.k8s.io/CustomResourceDefinition"
API_SERVICE = "apiregistration.k8s.io/APIService"
FLOW_SCHEMA = "flowcontrol.apiserver.k8s.io/FlowSchema"
MIGRATION = "storagemigration.k8s.io/StorageVersionMigration"
CREATED = "2026-01-01T11:00:00Z"


def _conditions(*pairs: tuple[str, str]) -> dict[str, Any]:
    return {"conditions": [{"type": type, "status": status} for type, status in pairs]}


ROWS: dict[str, tuple[str, dict[str, Any], list[Any]]] = {
    "a policy of admission": (
        f"{ADMISSION}/ValidatingAdmissionPolicy",
        {"spec": {"validations": [{}], "paramKind": {"apiVersion": "v1", "kind": "ConfigMap"}}},
        [
            "x",
            1,
            "v1/ConfigMap",
            "60m",
        ],
    ),
    "a policy of admission without parameters": (
        f"{ADMISSION}/ValidatingAdmissionPolicy",
        {},
        [
            "x",
            0,
            "<unset>",
            "60m",
        ],
    ),
    "a binding of a policy": (
        f"{ADMISSION}/ValidatingAdmissionPolicyBinding",
        {"spec": {"policyName": "p", "paramRef": {"name": "n", "namespace": "m"}}},
        [
            "x",
            "p",
            "m/n",
            "60m",
        ],
    ),
    "a binding of a policy to any namespace": (
        f"{ADMISSION}/ValidatingAdmissionPolicyBinding",
        {"spec": {"policyName": "p", "paramRef": {"name": "n"}}},
        [
            "x",
            "p",
            "*/n",
            "60m",
        ],
    ),
    "a binding of a policy without parameters": (
        f"{ADMISSION}/ValidatingAdmissionPolicyBinding",
        {"spec": {"policyName": "p"}},
        [
            "x",
            "p",
            "<unset>",
            "60m",
        ],
    ),
    "webhooks that change": (
        f"{ADMISSION}/MutatingWebhookConfiguration",
        {"webhooks": [{}]},
        [
            "x",
            1,
            "60m",
        ],
    ),
    "webhooks that check": (
        f"{ADMISSION}/ValidatingWebhookConfiguration",
        {},
        [
            "x",
            0,
            "60m",
        ],
    ),
    "a policy that changes objects": (
        f"{ADMISSION}/MutatingAdmissionPolicy",
        {"spec": {"mutations": [{}, {}]}},
        ["x", 2, "<unset>", "60m"],
    ),
    "a definition": (
        DEFINITION,
        {
            "spec": {
                "group": "g.io",
                "scope": "Namespaced",
                "names": {"kind": "Thing", "shortNames": ["t", "th"]},
                "versions": [
                    {"name": "v2", "served": True},
                    {"name": "v1", "served": True, "storage": True},
                    {"name": "v0", "served": False},
                ],
            },
            "status": _conditions(("NamesAccepted", "True"), ("Established", "True")),
        },
        ["x", "Namespaced", "v1(storage),v2", CREATED, "g.io", "Thing", "t,th", True],
    ),
    "a definition that is not established": (
        DEFINITION,
        {
            "spec": {"group": "g.io", "scope": "Cluster", "names": {"kind": "Thing"}},
            "status": _conditions(("Established", "False")),
        },
        ["x", "Cluster", "", CREATED, "g.io", "Thing", "", False],
    ),
    "an API of the server itself": (
        API_SERVICE,
        {"status": _conditions(("Available", "True"))},
        ["x", "Local", "True", "60m"],
    ),
    "an API of a service that is missing": (
        API_SERVICE,
        {
            "spec": {"service": {"namespace": "n", "name": "s"}},
            "status": {
                "conditions": [{"type": "Available", "status": "False", "reason": "NoService"}]
            },
        },
        ["x", "n/s", "False (NoService)", "60m"],
    ),
    "an API without a condition": (API_SERVICE, {}, ["x", "Local", "Unknown", "60m"]),
    "a flow schema": (
        FLOW_SCHEMA,
        {
            "spec": {
                "priorityLevelConfiguration": {"name": "high"},
                "matchingPrecedence": 5,
                "distinguisherMethod": {"type": "ByUser"},
            },
            "status": _conditions(("Dangling", "False")),
        },
        ["x", "high", 5, "ByUser", "60m", "False"],
    ),
    "a flow schema without a condition": (
        FLOW_SCHEMA,
        {"spec": {"priorityLevelConfiguration": {"name": "high"}, "matchingPrecedence": 5}},
        ["x", "high", 5, "<none>", "60m", "?"],
    ),
    "a bundle of a signer": (
        f"{CERTIFICATES}/ClusterTrustBundle",
        {"spec": {"signerName": "a.b/c"}},
        ["x", "a.b/c"],
    ),
    "a bundle of no signer": (
        f"{CERTIFICATES}/ClusterTrustBundle",
        {"spec": {"trustBundle": ""}},
        ["x", "<none>"],
    ),
    "a request for a pod's certificate": (
        f"{CERTIFICATES}/PodCertificateRequest",
        {
            "spec": {
                "podName": "p",
                "serviceAccountName": "s",
                "nodeName": "n",
                "signerName": "a.b/c",
                "unverifiedUserAnnotations": {"a.b/c": "d"},
            },
            "status": _conditions(("Issued", "True")),
        },
        ["x", "p", "s", "n", "a.b/c", "Issued", "a.b/c=d"],
    ),
    "a migration that ended": (
        MIGRATION,
        {
            "spec": {"resource": {"group": "apps", "resource": "deployments"}},
            "status": _conditions(("Running", "False"), ("Succeeded", "True")),
        },
        ["x", "deployments.apps", "Succeeded"],
    ),
    "a migration of the core group": (
        MIGRATION,
        {"spec": {"resource": {"group": "", "resource": "secrets"}}},
        ["x", "secrets", "Unknown"],
    ),
    "a healthy component": (
        "/ComponentStatus",
        {"conditions": [{"type": "Healthy", "status": "True", "message": "ok"}]},
        ["x", "Healthy", "ok", ""],
    ),
    "a component of unknown health": ("/ComponentStatus", {}, ["x", "Unknown", "", ""]),
}


@pytest.mark.parametrize(("kind", "obj", "expected"), ROWS.values(), ids=ROWS)
def test_rows(kind: str, obj: dict[str, Any], expected: list[Any]) -> None:
    assert row(PRINTERS, kind, obj) == expected
