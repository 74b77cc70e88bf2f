"""Certificates for serving: a self-signed one, and the authorities to trust."""

from __future__ import annotations

import datetime
import ipaddress
import logging
import os
from collections.abc import Sequence
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

from mooring.errors import ConfigError
from mooring.observe.files import locate, read_file

log = logging.getLogger(__name__)

# client-go: util/cert/cert.go: valid for a year, starting an hour ago for clocks that are slow.
_LATE = datetime.timedelta(hours=1)
_YEAR = datetime.timedelta(days=365)
# apimachinery: apis/asn1/oid.go
_UID = x509.ObjectIdentifier("1.3.6.1.4.1.57683.2")


class PemPair(msgspec.Struct, frozen=True):
    """A certificate, with those of its authorities, and its key."""

    certificate: bytes
    key: bytes


def self_signed_pair(
    host: str, names: Sequence[str] = (), addresses: Sequence[str] = ()
) -> PemPair:
    """Create a certificate for a host, and an authority that signs only this certificate."""
    now = datetime.datetime.now(datetime.UTC)
    stamp = int(now.timestamp())
    authority_key = ec.generate_private_key(ec.SECP256R1())
    authority_name = _name(f"{host}-ca@{stamp}")
    usage = _key_usage(key_cert_sign=True)
    authority = (
        _builder(authority_name, authority_name, authority_key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=True, path_length=None), critical=True)
        .add_extension(usage, critical=True)
        .sign(authority_key, hashes.SHA256())
    )
    key = ec.generate_private_key(ec.SECP256R1())
    subjects: list[x509.GeneralName] = [
        x509.DNSName(name) for name in dict.fromkeys((host, *names))
    ]
    subjects += [
        x509.IPAddress(ipaddress.ip_address(address)) for address in dict.fromkeys(addresses)
    ]
    certificate = (
        _builder(_name(f"{host}@{stamp}"), authority_name, key.public_key(), now)
        .add_extension(x509.BasicConstraints(ca=False, path_length=None), critical=True)
        .add_extension(_key_usage(key_cert_sign=False), critical=True)
        .add_extension(x509.ExtendedKeyUsage([ExtendedKeyUsageOID.SERVER_AUTH]), critical=False)
        .add_extension(x509.SubjectAlternativeName(subjects), critical=False)
        .sign(authority_key, hashes.SHA256())
    )
    pem = serialization.Encoding.PEM
    return PemPair(
        certificate.public_bytes(pem) + authority.public_bytes(pem),
        key.private_bytes(
            pem,
            serialization.PrivateFormat.TraditionalOpenSSL,
            serialization.NoEncryption(),
        ),
    )


def find_or_make_pair(
    folder: str, name: str, names: Sequence[str], addresses: Sequence[str]
) -> tuple[str, str]:
    """Return the files of a directory's pair; create them if they are missing."""
    certificate, key = Path(folder) / f"{name}.crt", Path(folder) / f"{name}.key"
    files = locate(certificate), locate(key)
    if not all(file.is_file() for file in files):
        pair = self_signed_pair("localhost", names, addresses)
        try:
            files[0].parent.mkdir(parents=True, exist_ok=True)
            files[0].write_bytes(pair.certificate)
            # The key is never readable by others, not even while it is written.
            with open(
                os.open(files[1], os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb"
            ) as file:
                file.write(pair.key)
        except OSError as error:
            raise ConfigError(
                f"error creating self-signed certificates: {error.filename}: {error.strerror}"
            ) from None
        log.info("Generated self-signed cert (%s, %s)", certificate, key)
    return str(certificate), str(key)


def authority_in(pem: bytes) -> bytes:
    """Return the authority at the end of a certificate chain in PEM; empty if there is none."""
    try:
        last = x509.load_pem_x509_certificates(pem)[-1]
        signs = last.extensions.get_extension_for_class(x509.BasicConstraints).value.ca
    except (ValueError, x509.ExtensionNotFound):
        return b""
    return last.public_bytes(serialization.Encoding.PEM) if signs else b""


class Authorities:
    """The certificates of authorities, and the check of what they issued."""

    def __init__(self, pem: bytes = b"") -> None:
        self.pem = pem
        self._certificates = x509.load_pem_x509_certificates(pem) if pem.strip() else []

    def __bool__(self) -> bool:
        return bool(self._certificates)

    def issued(self, certificate: x509.Certificate) -> bool:
        """Return whether one of them signed a certificate; TLS has checked everything else."""
        return any(_signed(authority, certificate) for authority in self._certificates)


def read_authorities(file: str) -> Authorities:
    """Read authorities from a file; raise ConfigError with Go's message if there are none."""
    try:
        pem = read_file(file)
    except OSError as error:
        raise ConfigError(f"open {file}: {(error.strerror or str(error)).lower()}") from None
    return parse_authorities(pem, file)


def parse_authorities(pem: bytes, where: str) -> Authorities:
    """Parse authorities from PEM text; raise ConfigError if there are none."""
    try:
        authorities = Authorities(pem)
    except ValueError:
        authorities = Authorities()
    if not authorities:
        raise ConfigError(f"error loading {where}: data does not contain any valid certificates")
    return authorities


def common_name(certificate: x509.Certificate) -> str:
    """Return a certificate's common name; empty if it has none."""
    return _attribute(certificate, NameOID.COMMON_NAME)[0]


def organizations(certificate: x509.Certificate) -> tuple[str, ...]:
    """Return a certificate's organizations, which are the groups of its user."""
    return tuple(filter(None, _attribute(certificate, NameOID.ORGANIZATION_NAME)))


def fingerprint_of(pem: bytes) -> str:
    """Return the SHA-256, in hexadecimal, of the first certificate in PEM text."""
    return x509.load_pem_x509_certificates(pem)[0].fingerprint(hashes.SHA256()).hex()


def user_id(certificate: x509.Certificate) -> str:
    """Return the UID of a certificate's user; empty if there is none."""
    found = _attribute(certificate, _UID)
    return found[0] if len(found) == 1 else ""


def _attribute(certificate: x509.Certificate, oid: x509.ObjectIdentifier) -> list[str]:
    found = certificate.subject.get_attributes_for_oid(oid)
    return [str(one.value) for one in found] or [""]


def _signed(authority: x509.Certificate, certificate: x509.Certificate) -> bool:
    if authority == certificate:
        return True
    try:
        certificate.verify_directly_issued_by(authority)
    except (ValueError, TypeError, InvalidSignature):
        return False
    return True


def _name(text: str) -> x509.Name:
    return x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, text)])


def _builder(
    subject: x509.Name, issuer: x509.Name, key: ec.EllipticCurvePublicKey, now: datetime.datetime
) -> x509.CertificateBuilder:
    return (
        x509.CertificateBuilder()
        .subject_name(subject)
        .issuer_name(issuer)
        .public_key(key)
        .serial_number(x509.random_serial_number())
        .not_valid_before(now - _LATE)
        .not_valid_after(now - _LATE + _YEAR)
    )


def _key_usage(*, key_cert_sign: bool) -> x509.KeyUsage:
    return x509.KeyUsage(
        digital_signature=True,
        key_encipherment=True,
        key_cert_sign=key_cert_sign,
        content_commitment=False,
        data_encipherment=False,
        key_agreement=False,
        crl_sign=False,
        encipher_only=False,
        decipher_only=False,
    )
