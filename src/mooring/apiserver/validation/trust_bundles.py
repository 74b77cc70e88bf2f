"""Trust bundles, and the volumes that show them and the certificates of pods to containers."""

# kubernetes: pkg/apis/certificates/validation/validation.go, pkg/apis/core/validation/validation.go

from __future__ import annotations

import base64
import re

from cryptography import x509

from mooring.api.field_errors import (
    FieldError,
    each,
    invalid,
    not_supported,
    required,
    show,
    too_long,
)
from mooring.apiserver.validation.field_problems import Object, immutable
from mooring.apiserver.validation.file_paths import local_path
from mooring.apiserver.validation.formats import (
    label_key_problems,
    label_problems,
    subdomain_problems,
)
from mooring.apiserver.validation.metadata import check_selector

_BUNDLE_LENGTH = 1024 * 1024
_DOMAIN_LENGTH = 253
_OMITTED = "<value omitted>"
_BLOCK = re.compile(r"-----BEGIN ([^-\n]*)-----\s*(.*?)\s*-----END \1-----", re.DOTALL)
_KEY_TYPES = ("RSA3072", "RSA4096", "ECDSAP256", "ECDSAP384", "ECDSAP521", "ED25519")
_SHORTEST, _LONGEST, _LONGEST_OF_KUBERNETES = 3600, 91 * 24 * 3600, 24 * 3600
_ANNOTATIONS_LENGTH = 256 * 1024
_PATHS = ("credentialBundlePath", "keyPath", "certificateChainPath")
NOT_A_SIGNER = "must be a fully qualified domain and path of the form 'example.com/signer-name'"
NO_PATH = "specify at least one of credentialBundlePath, keyPath, and certificateChainPath"


def check_signer_name(name: str, path: str) -> list[FieldError]:
    """Check the name of a signer: a domain and a name in it."""
    if not name:
        return [required(path)]
    domain, slash, own = name.partition("/")
    if not slash or "/" in own:
        return [invalid(path, name, NOT_A_SIGNER)]
    problems = [too_long(path, _DOMAIN_LENGTH)] if len(domain) > _DOMAIN_LENGTH else []
    for text, check in ((domain, label_problems), (own, subdomain_problems)):
        for part in text.split("."):
            if found := check(part):
                why = [f"validating label {show(part)}: {one}" for one in found]
                problems += each(path, text, why)
                break
        if text is domain and "." not in domain:
            why = ["should be a domain with at least two segments separated by dots"]
            problems += each(path, domain, why)
    return problems


def bundle_name_problems(name: str, signer: str) -> list[str]:
    """Return why a bundle of a signer (or of none) cannot have a name; empty if it can."""
    if not signer:
        if ":" in name:
            return ['ClusterTrustBundle without signer name must not have ":" in its name']
        return subdomain_problems(name)
    prefix = signer.replace("/", ":") + ":"
    if not name.startswith(prefix):
        return [f"ClusterTrustBundle for signerName {signer} must be named with prefix {prefix}"]
    return subdomain_problems(name.removeprefix(prefix))


def check_bundle(bundle: Object) -> list[FieldError]:
    """Check a trust bundle."""
    return _bundle(bundle) + _certificates(bundle["spec"].get("trustBundle") or "")


def check_bundle_update(bundle: Object, old: Object) -> list[FieldError]:
    """Check an update of a trust bundle: its signer may not change."""
    new, before = bundle["spec"], old["spec"]
    problems = _bundle(bundle)
    if new.get("trustBundle") != before.get("trustBundle"):
        problems += _certificates(new.get("trustBundle") or "")
    signers = new.get("signerName") or "", before.get("signerName") or ""
    return problems + immutable("spec.signerName", *signers)


def _bundle(bundle: Object) -> list[FieldError]:
    name, signer = bundle["metadata"].get("name") or "", bundle["spec"].get("signerName") or ""
    problems = each("metadata.name", name, bundle_name_problems(name, signer)) if name else []
    return problems + (check_signer_name(signer, "spec.signerName") if signer else [])


def _certificates(text: str) -> list[FieldError]:
    path = "spec.trustBundle"
    if len(text) > _BUNDLE_LENGTH:
        return [too_long(path, _BUNDLE_LENGTH)]
    problems: list[FieldError] = []
    found: dict[bytes, list[int]] = {}
    for i, block in enumerate(_BLOCK.finditer(text)):
        data, why = _certificate(block[1], block[2])
        if why:
            problems.append(invalid(path, _OMITTED, f"entry {i} {why}"))
        found.setdefault(data, []).append(i)
    if problems:
        return problems
    if not found:
        return [invalid(path, _OMITTED, "at least one trust anchor must be provided")]
    return [
        invalid(path, _OMITTED, f"duplicate trust anchor (indices [{' '.join(map(str, places))}])")
        for places in found.values()
        if len(places) > 1
    ]


def _certificate(type: str, body: str) -> tuple[bytes, str]:
    """Return the bytes of a block, and why it is not the certificate of an authority, or ""."""
    if type != "CERTIFICATE":
        return b"", f"has bad block type: {type}"
    if ":" in body:
        return b"", "has PEM block headers"
    try:
        data = base64.b64decode(body)
        extensions = x509.load_der_x509_certificate(data).extensions
    except ValueError:
        return b"", "does not parse as X.509"
    try:
        basic = extensions.get_extension_for_class(x509.BasicConstraints).value
    except x509.ExtensionNotFound:
        return data, "does not have the CA bit set"
    return data, "" if basic.ca else "does not have the CA bit set"


def check_bundle_projection(source: Object, path: str) -> list[FieldError]:
    """Check the part of a volume that shows a trust bundle."""
    name, signer = source.get("name"), source.get("signerName")
    problems: list[FieldError] = []
    if name is not None and signer is not None:
        problems.append(invalid(path, source, "only one of name and signerName may be used"))
    elif name is not None:
        if not name:
            problems.append(required(f"{path}.name", "must be a valid object name"))
        of = name.rpartition(":")[0].replace(":", "/")
        found = [
            f"not a valid clustertrustbundlename: {why}" for why in bundle_name_problems(name, of)
        ]
        problems += each(f"{path}.name", name, found)
        if source.get("labelSelector") is not None:
            why = "labelSelector must be unset if name is specified"
            problems.append(invalid(f"{path}.labelSelector", source["labelSelector"], why))
    elif signer is not None:
        if not signer:
            problems.append(required(f"{path}.signerName", "must be a valid signer name"))
        problems += check_signer_name(signer, f"{path}.signerName")
        problems += check_selector(source.get("labelSelector"), f"{path}.labelSelector")
    else:
        problems.append(required(path, "either name or signerName must be specified"))
    file = source.get("path") or ""
    if not file:
        problems.append(required(f"{path}.path"))
    return problems + local_path(file, f"{path}.path")


def check_certificate_projection(source: Object, path: str) -> list[FieldError]:
    """Check the part of a volume that shows a pod's own certificate."""
    signer = source.get("signerName") or ""
    problems = check_signer_name(signer, f"{path}.signerName")
    annotations = source.get("userAnnotations") or {}
    for key in annotations:
        found = label_key_problems(key.lower())
        problems += each(f"{path}.userAnnotations", key.lower(), found)
        if not found and "/" not in key:
            why = 'must be a domain-prefixed key (such as "acme.io/foo")'
            problems.append(invalid(f"{path}.userAnnotations", key.lower(), why))
    if sum(len(one.encode()) for pair in annotations.items() for one in pair) > _ANNOTATIONS_LENGTH:
        problems.append(too_long(f"{path}.userAnnotations", _ANNOTATIONS_LENGTH))
    if (key_type := source.get("keyType") or "") not in _KEY_TYPES:
        problems.append(not_supported(f"{path}.keyType", key_type, _KEY_TYPES))
    seconds, where = source.get("maxExpirationSeconds"), f"{path}.maxExpirationSeconds"
    ours = f".{signer.partition('/')[0]}".endswith(".kubernetes.io")
    longest = _LONGEST_OF_KUBERNETES if ours else _LONGEST
    if seconds is not None and seconds < _SHORTEST:
        why = f"if provided, maxExpirationSeconds must be >= {_SHORTEST}"
        problems.append(invalid(where, seconds, why))
    if seconds is not None and seconds > longest:
        why = f"if provided, maxExpirationSeconds must be <= {longest}"
        problems.append(invalid(where, seconds, why))
    given = [name for name in _PATHS if source.get(name)]
    for name in given:
        problems += local_path(source[name], f"{path}.{name}")
    return problems if given else [*problems, required(path, NO_PATH)]


def projected_paths(source: Object) -> list[str]:
    """Return the files that a projection of a bundle or of a certificate writes."""
    return [source[name] for name in ("path", *_PATHS) if source.get(name)]
