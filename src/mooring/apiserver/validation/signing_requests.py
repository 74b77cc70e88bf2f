"""Certificate signing requests."""

# kubernetes: pkg/apis/certificates/validation/validation.go

from __future__ import annotations

import base64
import re

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from mooring.api.field_errors import (
    FieldError,
    duplicate,
    forbidden,
    invalid,
    not_supported,
    required,
)
from mooring.api.go_format import go_quote
from mooring.apiserver.validation.field_problems import Object, repeated
from mooring.apiserver.validation.trust_bundles import check_signer_name

_BLOCK = re.compile(
    rb"-----BEGIN CERTIFICATE REQUEST-----.*-----END CERTIFICATE REQUEST-----", re.DOTALL
)
_LABEL = re.compile(rb"-----BEGIN ([^-\n]*)-----")
_NO_BLOCK = "must contain at least one CERTIFICATE PEM block"
_LEGACY = "kubernetes.io/legacy-unknown"
_WHERE = "status.conditions"
_ONLY_TRUE = ("Approved", "Denied", "Failed")
_USAGES = (
    "any",
    "cert sign",
    "client auth",
    "code signing",
    "content commitment",
    "crl sign",
    "data encipherment",
    "decipher only",
    "digital signature",
    "email protection",
    "encipher only",
    "ipsec end system",
    "ipsec tunnel",
    "ipsec user",
    "key agreement",
    "key encipherment",
    "microsoft sgc",
    "netscape sgc",
    "ocsp signing",
    "s/mime",
    "server auth",
    "signing",
    "timestamping",
)


def check_signing_request(request: Object) -> list[FieldError]:
    """Check a certificate signing request."""
    spec = request["spec"]
    problems: list[FieldError] = []
    if why := _unsigned(spec.get("request") or ""):
        problems.append(invalid("spec.request", spec.get("request") or "", why))
    usages = spec.get("usages") or []
    if not usages:
        problems.append(required("spec.usages"))
    again = set(repeated(usages))
    for i, usage in enumerate(usages):
        if usage not in _USAGES:
            problems.append(not_supported(f"spec.usages[{i}]", usage, _USAGES))
        if i in again:
            problems.append(duplicate(f"spec.usages[{i}]", usage))
    signer = spec.get("signerName") or ""
    if signer == _LEGACY:
        why = "the legacy signerName is not allowed via this API version"
        problems.append(invalid("spec.signerName", signer, why))
    else:
        problems += check_signer_name(signer, "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        problems.append(invalid("spec.expirationSeconds", seconds, why))
    return problems + _conditions(request)


def check_approval(request: Object, old: Object) -> list[FieldError]:
    """Check an update of a request's approval."""
    return _check_part(request, old)


def check_status(request: Object, old: Object) -> list[FieldError]:
    """Check an update of a request's status, which cannot approve or deny it."""
    problems = _check_part(request, old)
    for type in ("Approved", "Denied"):
        if len(_of_type(request, type)) > len(_of_type(old, type)):
            why = f'updates may not add a condition of type "{type}"'
            problems.append(forbidden(_WHERE, why))
    certificate = (request.get("status") or {}).get("certificate") or ""
    before = (old.get("status") or {}).get("certificate") or ""
    if certificate != before and before:
        why = "updates may not modify existing certificate content"
        problems.append(forbidden("status.certificate", why))
    return problems


def _check_part(request: Object, old: Object) -> list[FieldError]:
    problems = _conditions(request)
    certificate = (request.get("status") or {}).get("certificate") or ""
    before = (old.get("status") or {}).get("certificate") or ""
    if certificate != before and (why := _certificate_problem(certificate)):
        problems.append(invalid("status.certificate", "<certificate data>", why))
    return problems + [
        forbidden(_WHERE, f'updates may not remove a condition of type "{type}"')
        for type in ("Approved", "Denied", "Failed")
        if len(_of_type(request, type)) < len(_of_type(old, type))
    ]


def _of_type(request: Object, type: str) -> list[Object]:
    conditions = (request.get("status") or {}).get("conditions") or ()
    return [one for one in conditions if one.get("type") == type]


def _conditions(request: Object) -> list[FieldError]:
    problems: list[FieldError] = []
    seen: set[str] = set()
    for i, condition in enumerate((request.get("status") or {}).get("conditions") or ()):
        path, type = f"{_WHERE}[{i}]", condition.get("type") or ""
        if not type:
            problems.append(required(f"{path}.type"))
        status = condition.get("status") or ""
        known = ("True",) if type in _ONLY_TRUE else ("False", "True", "Unknown")
        if not status:
            problems.append(required(f"{path}.status"))
        elif status not in known:
            problems.append(not_supported(f"{path}.status", status, known))
        if type in seen:
            problems.append(duplicate(f"{path}.type", type))
        seen.add(type)
    if seen >= {"Approved", "Denied"}:
        given = [f'conditions[{{"type": "{type}"}}]' for type in ("Approved", "Denied")]
        why = f"must specify at most one of: {', '.join(f'`{one}`' for one in given)}"
        problems.append(invalid(_WHERE, f"{{{', '.join(given)}}}", why))
    return problems


def _certificate_problem(text: str) -> str:
    """Return why a text is not a list of certificates, or an empty string if it is one."""
    try:
        data = base64.b64decode(text)
        for label in _LABEL.findall(data):
            if label != b"CERTIFICATE":
                return f"only CERTIFICATE PEM blocks are allowed, found {go_quote(label.decode())}"
        if data and not x509.load_pem_x509_certificates(data):
            return _NO_BLOCK
    except ValueError:
        return _NO_BLOCK if _LABEL.search(data) is None else "x509: malformed certificate"
    return ""


def _unsigned(text: str) -> str:
    """Return why a text is not a certificate request, or an empty string if it is one."""
    try:
        data = base64.b64decode(text)
        if _BLOCK.search(data) is None:
            return "PEM block type must be CERTIFICATE REQUEST"
        request = x509.load_pem_x509_csr(data)
        if request.is_signature_valid:
            return ""
    except (ValueError, UnsupportedAlgorithm):
        return "asn1: syntax error: data truncated"
    # The words of Go's packages crypto/x509 and crypto/rsa.
    if isinstance(request.public_key(), EllipticCurvePublicKey):
        return "x509: ECDSA verification failure"
    return "crypto/rsa: verification error"
