"""The cluster's certificate authority, in memory or in a folder."""

from __future__ import annotations

import datetime
import ipaddress
import os
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

_YEARS = datetime.timedelta(days=3650)
_CLIENT, _SERVER = ExtendedKeyUsageOID.CLIENT_AUTH, ExtendedKeyUsageOID.SERVER_AUTH
_NAMES = (
    "localhost",
    "kubernetes",
    "kubernetes.default",
    "kubernetes.default.svc",
    "kubernetes.default.svc.cluster.local",
)


class Pair(msgspec.Struct, frozen=True):
    """A certificate and its key, both as PEM."""

    certificate: bytes
    key: bytes


def new_key() -> ec.EllipticCurvePrivateKey:
    """Return a new P-256 key."""
    return ec.generate_private_key(ec.SECP256R1())


def key_pem(key: ec.EllipticCurvePrivateKey) -> bytes:
    """Return a key as PEM."""
    return key.private_bytes(
        serialization.Encoding.PEM,
        serialization.PrivateFormat.PKCS8,
        serialization.NoEncryption(),
    )


def write_private(path: Path, data: bytes) -> None:
    """Write a file that only its owner can read, replacing an existing one atomically."""
    path.parent.mkdir(parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{os.getpid()}")
    fresh.unlink(missing_ok=True)
    with os.fdopen(os.open(fresh, os.O_CREAT | os.O_WRONLY | os.O_EXCL, 0o600), "wb") as file:
        file.write(data)
    fresh.replace(path)


def load_key(path: Path) -> ec.EllipticCurvePrivateKey:
    """Return the key in a file; create the file if it does not exist."""
    if not path.exists():
        write_private(path, key_pem(new_key()))
    key = serialization.load_pem_private_key(path.read_bytes(), None)
    assert isinstance(key, ec.EllipticCurvePrivateKey)
    return key


class Authority:
    """A certificate authority. If it has a folder, it survives a restart."""

    def __init__(self, folder: Path | None = None) -> None:
        self._key = new_key() if folder is None else load_key(folder / "ca.key")
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mooring-ca")])
        file = folder / "ca.crt" if folder is not None else None
        if file is not None and file.exists():
            self._certificate = x509.load_pem_x509_certificate(file.read_bytes())
        else:
            self._certificate = self._self_signed()
            if file is not None:
                write_private(file, self.pem)

    @property
    def pem(self) -> bytes:
        """Return the authority's certificate as PEM."""
        return self._certificate.public_bytes(serialization.Encoding.PEM)

    def _self_signed(self) -> x509.Certificate:
        usage = x509.KeyUsage(True, False, False, False, False, True, True, False, False)
        builder = self._builder(self._name, self._key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=True, path_length=None), True)
        builder = builder.add_extension(usage, True)
        builder = builder.add_extension(
            x509.SubjectKeyIdentifier.from_public_key(self._key.public_key()), False
        )
        return builder.sign(self._key, hashes.SHA256())

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey
    ) -> x509.CertificateBuilder:
        now = datetime.datetime.now(datetime.UTC)
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(now - datetime.timedelta(minutes=5))
            .not_valid_after(now + _YEARS)
        )

    def client(self, user: str, groups: tuple[str, ...] = ()) -> Pair:
        """Return a client certificate for a user."""
        names = [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        subject = x509.Name([*names, x509.NameAttribute(NameOID.COMMON_NAME, user)])
        return self._issue(subject, _CLIENT, None)

    def server(self, host: str) -> Pair:
        """Return a serving certificate for a host name or address and the cluster's own names."""
        names: list[x509.GeneralName] = [x509.DNSName(name) for name in _NAMES]
        addresses = {"127.0.0.1", "::1", "10.0.0.1"}
        try:
            addresses.add(str(ipaddress.ip_address(host)))
        except ValueError:
            names.append(x509.DNSName(host))
        names += [x509.IPAddress(ipaddress.ip_address(one)) for one in sorted(addresses)]
        subject = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "kube-apiserver")])
        return self._issue(subject, _SERVER, x509.SubjectAlternativeName(names))

    def _issue(
        self, subject: x509.Name, usage: x509.ObjectIdentifier, names: x509.ExtensionType | None
    ) -> Pair:
        key = new_key()
        builder = self._builder(subject, key.public_key())
        builder = builder.add_extension(x509.BasicConstraints(ca=False, path_length=None), True)
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), False)
        builder = builder.add_extension(
            x509.AuthorityKeyIdentifier.from_issuer_public_key(self._key.public_key()), False
        )
        if names is not None:
            builder = builder.add_extension(names, False)
        certificate = builder.sign(self._key, hashes.SHA256())
        return Pair(certificate.public_bytes(serialization.Encoding.PEM), key_pem(key))
