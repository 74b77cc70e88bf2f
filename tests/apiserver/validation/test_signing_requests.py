from __future__ import annotations

import base64
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from tests.apiserver.validation.objects import Object, refused


@cache
def _request(*, spoilt: bool = False) -> str:
    subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "me")])
    builder = x509.CertificateSigningRequestBuilder().subject_name(subject)
    signed = builder.sign(ec.generate_private_key(ec.SECP256R1()), hashes.SHA256())
    der = bytearray(signed.public_bytes(serialization.Encoding.DER))
    if spoilt:
        at = der.index(b"me")
        der[at : at + 2] = b"no"
    lines = base64.encodebytes(bytes(der)).decode()
    pem = f"-----BEGIN CERTIFICATE REQUEST-----\n{lines}-----END CERTIFICATE REQUEST-----\n"
    return base64.b64encode(pem.encode()).decode()


def _refused(**spec: object) -> list[str]:
    given: Object = {
        "request": _request(),
        "signerName": "acme.io/signer",
        "usages": ["client auth"],
        **spec,
    }
    return refused("certificates.k8s.io/v1", "CertificateSigningRequest", spec=given)


REQUESTS: dict[str, tuple[Object, list[str]]] = {
    "a request": ({"expirationSeconds": 600}, []),
    "no usages": ({"usages": []}, ["spec.usages: Required value"]),
    "usages twice": ({"usages": ["any", "any"]}, ['spec.usages[1]: Duplicate value: "any"']),
    "no signer": ({"signerName": ""}, ["spec.signerName: Required value"]),
    "a signer without a domain": (
        {"signerName": "me"},
        [
            'spec.signerName: Invalid value: "me": must be a fully qualified domain and '
            "path of the form 'example.com/signer-name'"
        ],
    ),
    "too short a life": (
        {"expirationSeconds": 599},
        [
            "spec.expirationSeconds: Invalid value: 599: may not specify a duration less "
            "than 600 seconds (10 minutes)"
        ],
    ),
}


@pytest.mark.parametrize(("spec", "expected"), REQUESTS.values(), ids=REQUESTS)
def test_signing_requests(spec: Object, expected: list[str]) -> None:
    assert _refused(**spec) == expected


def test_an_unknown_usage() -> None:
    (problem,) = _refused(usages=["spying"])
    assert problem.startswith(
        'spec.usages[0]: Unsupported value: "spying": supported values: "any"'
    )


BEGIN = "-----BEGIN CERTIFICATE REQUEST-----\n"
END = "-----END CERTIFICATE REQUEST-----\n"
TEXTS = {
    "nothing": ("", "PEM block type must be CERTIFICATE REQUEST"),
    "a certificate": (
        "-----BEGIN CERTIFICATE-----\n",
        "PEM block type must be CERTIFICATE REQUEST",
    ),
    "a request without an end": (BEGIN, "PEM block type must be CERTIFICATE REQUEST"),
    "an empty request": (BEGIN + END, "asn1: syntax error: data truncated"),
}


@pytest.mark.parametrize(("text", "why"), TEXTS.values(), ids=TEXTS)
def test_texts_that_are_not_requests(text: str, why: str) -> None:
    (problem,) = _refused(request=base64.b64encode(text.encode()).decode())
    assert problem.endswith(f": {why}")


def test_a_request_with_another_s_signature() -> None:
    (problem,) = _refused(request=_request(spoilt=True))
    assert problem.endswith(": x509: ECDSA verification failure")
