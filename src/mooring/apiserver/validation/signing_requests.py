"""Certificate signing requests."""

# kubernetes: pkg/apis/certificates/validation/validation.go

from __future__ import annotations

import base64
import re

from cryptography import x509
from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import EllipticCurvePublicKey

from mooring.api.field_errors import FieldError, duplicate, invalid, not_supported, required
from mooring.apiserver.validation.field_problems import Object, repeated
from mooring.apiserver.validation.trust_bundles import check_signer_name

_BLOCK = re.compile(
    rb"-----BEGIN CERTIFICATE REQUEST-----.*-----END CERTIFICATE REQUEST-----", re.DOTALL
)
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
    problems += check_signer_name(spec.get("signerName") or "", "spec.signerName")
    seconds = spec.get("expirationSeconds")
    if seconds is not None and seconds < 600:
        why = "may not specify a duration less than 600 seconds (10 minutes)"
        problems.append(invalid("spec.expirationSeconds", seconds, why))
    return problems


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
