from __future__ import annotations

import datetime
from functools import cache

import pytest
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import NameOID

from mooring.apiserver.validation.trust_bundles import (
    NO_PATH,
    NOT_A_SIGNER,
    check_bundle_projection,
    check_certificate_projection,
    check_signer_name,
    projected_paths,
)
from tests.apiserver.validation.objects import Object, made, pod, refusals, texts, update_refusals

V1 = "certificates.k8s.io/v1"


@cache
def certificate(number: int = 1, *, authority: bool | None = True) -> str:
    """Return a certificate in PEM; with or without the constraint that says what it is."""
    name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, f"authority {number}")])
    key = ec.generate_private_key(ec.SECP256R1())
    day = datetime.datetime(2026, 1, 1, tzinfo=datetime.UTC)
    builder = x509.CertificateBuilder().subject_name(name).issuer_name(name).serial_number(number)
    builder = builder.not_valid_before(day).not_valid_after(day + datetime.timedelta(days=1))
    builder = builder.public_key(key.public_key())
    if authority is not None:
        basic = x509.BasicConstraints(ca=authority, path_length=None)
        builder = builder.add_extension(basic, critical=True)
    signed = builder.sign(key, hashes.SHA256())
    return signed.public_bytes(serialization.Encoding.PEM).decode()


SIGNERS: dict[str, tuple[str, list[str]]] = {
    "a signer": ("acme.io/signer.x", []),
    "none": ("", ["f: Required value"]),
    "no domain": ("me", [f'f: Invalid value: "me": {NOT_A_SIGNER}']),
    "two slashes": ("a.b/c/d", [f'f: Invalid value: "a.b/c/d": {NOT_A_SIGNER}']),
    "a domain of one part": (
        "acme/x",
        [
            'f: Invalid value: "acme": should be a domain with at least two segments separated '
            "by dots"
        ],
    ),
    "a bad domain and a bad name": (
        "A.io/B",
        [
            'f: Invalid value: "A.io": validating label "A": <label>',
            'f: Invalid value: "B": validating label "B": <subdomain>',
        ],
    ),
}


@pytest.mark.parametrize(("name", "expected"), SIGNERS.values(), ids=SIGNERS)
def test_signers(name: str, expected: list[str]) -> None:
    assert texts(check_signer_name(name, "f")) == expected


def _text(body: str) -> str:
    return f'spec.trustBundle: Invalid value: "<value omitted>": {body}'


BUNDLES: dict[str, tuple[str, Object, list[str]]] = {
    "a bundle": ("b", {"trustBundle": certificate(1) + certificate(2)}, []),
    "nothing": ("b", {"trustBundle": ""}, [_text("at least one trust anchor must be provided")]),
    "one twice": (
        "b",
        {"trustBundle": certificate(1) + certificate(2) + certificate(1)},
        [_text("duplicate trust anchor (indices [0 2])")],
    ),
    "no authority": (
        "b",
        {"trustBundle": certificate(authority=False) + certificate(2, authority=None)},
        [_text(f"entry {i} does not have the CA bit set") for i in (0, 1)],
    ),
    "not certificates": (
        "b",
        {
            "trustBundle": "-----BEGIN KEY-----\nAA==\n-----END KEY-----\n"
            "-----BEGIN CERTIFICATE-----\nAA==\n-----END CERTIFICATE-----\n"
            "-----BEGIN CERTIFICATE-----\nA: b\n\nAA==\n-----END CERTIFICATE-----\n"
        },
        [
            _text("entry 0 has bad block type: KEY"),
            _text("entry 1 does not parse as X.509"),
            _text("entry 2 has PEM block headers"),
        ],
    ),
    "too much": (
        "b",
        {"trustBundle": "x" * (1024 * 1024 + 1)},
        ["spec.trustBundle: Too long: may not be more than 1048576 bytes"],
    ),
    "a bundle of a signer": (
        "acme.io:signer:b",
        {"signerName": "acme.io/signer", "trustBundle": certificate()},
        [],
    ),
    "a name without its signer": (
        "b",
        {"signerName": "acme.io/signer", "trustBundle": certificate()},
        [
            'metadata.name: Invalid value: "b": ClusterTrustBundle for signerName acme.io/signer '
            "must be named with prefix acme.io:signer:"
        ],
    ),
    "a signer in the name alone": (
        "acme.io:signer:b",
        {"trustBundle": certificate()},
        [
            'metadata.name: Invalid value: "acme.io:signer:b": ClusterTrustBundle without signer '
            'name must not have ":" in its name'
        ],
    ),
}


@pytest.mark.parametrize(("name", "spec", "expected"), BUNDLES.values(), ids=BUNDLES)
def test_bundles(name: str, spec: Object, expected: list[str]) -> None:
    bundle = made(V1, "ClusterTrustBundle", metadata={"name": name}, spec=spec)
    assert refusals(bundle) == expected


def test_the_signer_of_a_bundle_stays() -> None:
    spec = {"signerName": "acme.io/signer", "trustBundle": "no longer understood"}
    old = made(V1, "ClusterTrustBundle", metadata={"name": "acme.io:signer:b"}, spec=spec)
    # Certificates that do not change are not read again.
    assert update_refusals(old, {"metadata": {"labels": {"a": "b"}}}) == []
    assert update_refusals(old, {"spec": {"trustBundle": ""}}) == [
        _text("at least one trust anchor must be provided")
    ]
    assert 'spec.signerName: Invalid value: "": field is immutable' in update_refusals(
        old, {"spec": {"signerName": ""}}
    )


PROJECTED: dict[str, tuple[Object, list[str]]] = {
    "a bundle by name": ({"name": "b", "path": "p"}, []),
    "a bundle of a signer by name": ({"name": "a.io:s:b", "path": "p"}, []),
    "bundles of a signer": ({"signerName": "a.io/s", "labelSelector": {}, "path": "p"}, []),
    "neither": ({"path": "p"}, ["f: Required value: either name or signerName must be specified"]),
    "a name and labels": (
        {"name": "", "labelSelector": {}, "path": "p"},
        [
            "f.name: Required value: must be a valid object name",
            'f.name: Invalid value: "": not a valid clustertrustbundlename: <subdomain>',
            "f.labelSelector: Invalid value: {}: labelSelector must be unset if name is specified",
        ],
    ),
    "no signer and no path": (
        {"signerName": ""},
        [
            "f.signerName: Required value: must be a valid signer name",
            "f.signerName: Required value",
            "f.path: Required value",
        ],
    ),
    "a path to elsewhere": (
        {"name": "b", "path": "../x"},
        ["f.path: Invalid value: \"../x\": must not contain '..'"],
    ),
}


@pytest.mark.parametrize(("source", "expected"), PROJECTED.values(), ids=PROJECTED)
def test_bundles_in_volumes(source: Object, expected: list[str]) -> None:
    assert texts(check_bundle_projection(source, "f")) == expected


def test_a_bundle_in_a_volume_has_one_source() -> None:
    (problem,) = check_bundle_projection({"name": "b", "signerName": "a.io/s", "path": "p"}, "f")
    assert "only one of name and signerName may be used" in problem.message


def _certificate(**more: object) -> Object:
    return {"signerName": "a.io/s", "keyType": "ED25519", "keyPath": "k", **more}


CERTIFICATES: dict[str, tuple[Object, list[str]]] = {
    "a certificate": (_certificate(userAnnotations={"A.io/b": "c"}), []),
    "nowhere": (_certificate(keyPath=""), [f"f: Required value: {NO_PATH}"]),
    "an unknown key": (
        _certificate(keyType="RSA"),
        [
            'f.keyType: Unsupported value: "RSA": supported values: "RSA3072", "RSA4096", '
            '"ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519"'
        ],
    ),
    "too short a life": (
        _certificate(maxExpirationSeconds=3599),
        [
            "f.maxExpirationSeconds: Invalid value: 3599: if provided, maxExpirationSeconds must "
            "be >= 3600"
        ],
    ),
    "three months of most signers": (_certificate(maxExpirationSeconds=91 * 24 * 3600), []),
    "more than a day of Kubernetes' signers": (
        _certificate(signerName="x.kubernetes.io/s", maxExpirationSeconds=86401),
        [
            "f.maxExpirationSeconds: Invalid value: 86401: if provided, maxExpirationSeconds must "
            "be <= 86400"
        ],
    ),
    "an annotation without a domain": (
        _certificate(userAnnotations={"a": "b"}),
        [
            'f.userAnnotations: Invalid value: "a": must be a domain-prefixed key (such as '
            '"acme.io/foo")'
        ],
    ),
    "too long annotations": (
        _certificate(userAnnotations={"a.io/b": "x" * 262_144}),
        ["f.userAnnotations: Too long: may not be more than 262144 bytes"],
    ),
}


@pytest.mark.parametrize(("source", "expected"), CERTIFICATES.values(), ids=CERTIFICATES)
def test_certificates_in_volumes(source: Object, expected: list[str]) -> None:
    assert texts(check_certificate_projection(source, "f")) == expected


def test_two_projections_into_one_file() -> None:
    bundle = {"clusterTrustBundle": {"name": "b", "path": "k"}}
    volume = {"name": "v", "projected": {"sources": [bundle, {"podCertificate": _certificate()}]}}
    assert projected_paths(_certificate()) == ["k"]
    assert refusals(pod(volumes=[volume])) == [
        'spec.volumes[0].projected: Invalid value: "k": conflicting duplicate paths'
    ]
