"""Certificates for the control plane of a test run."""

from __future__ import annotations

import datetime
import ipaddress
import itertools
from pathlib import Path

import msgspec
from cryptography import x509
from cryptography.hazmat.primitives import hashes, serialization
from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.x509.oid import ExtendedKeyUsageOID, NameOID

SERVER_NAMES = (
    x509.DNSName("localhost"),
    x509.DNSName("kubernetes.default.svc"),
    x509.IPAddress(ipaddress.ip_address("127.0.0.1")),
    x509.IPAddress(ipaddress.ip_address("10.0.0.1")),
)


class KeyPair(msgspec.Struct, frozen=True):
    """A certificate and its key, as PEM files."""

    certificate: Path
    key: Path


class Authority:
    """A certificate authority, and the key pairs it signs, in a folder."""

    def __init__(self, folder: Path) -> None:
        folder.mkdir(parents=True)
        self._folder = folder
        self._numbers = itertools.count(1)
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._name = x509.Name([x509.NameAttribute(NameOID.COMMON_NAME, "mooring-test-ca")])
        builder = self._builder(self._name, self._key.public_key(), _in(days=2)).add_extension(
            x509.BasicConstraints(ca=True, path_length=None), critical=True
        )
        self.certificate = folder / "ca.crt"
        self._write(self.certificate, builder)

    def server(self, name: str) -> KeyPair:
        """Sign a pair for serving on this machine."""
        return self._pair(
            name, [], ExtendedKeyUsageOID.SERVER_AUTH, x509.SubjectAlternativeName(SERVER_NAMES)
        )

    def client(
        self, user: str, groups: tuple[str, ...] = (), expires: datetime.datetime | None = None
    ) -> KeyPair:
        """Sign a client certificate for a user in groups."""
        return self._pair(user, list(groups), ExtendedKeyUsageOID.CLIENT_AUTH, None, expires)

    def private_key(self, name: str) -> tuple[ec.EllipticCurvePrivateKey, Path]:
        """Make a key, and return it with its file."""
        key = ec.generate_private_key(ec.SECP256R1())
        path = self._folder / f"{name.replace(':', '-')}-{next(self._numbers)}.key"
        path.write_bytes(
            key.private_bytes(
                serialization.Encoding.PEM,
                serialization.PrivateFormat.TraditionalOpenSSL,
                serialization.NoEncryption(),
            )
        )
        return key, path

    def _pair(
        self,
        name: str,
        groups: list[str],
        usage: x509.ObjectIdentifier,
        names: x509.SubjectAlternativeName | None,
        expires: datetime.datetime | None = None,
    ) -> KeyPair:
        key, key_path = self.private_key(name)
        attributes = [x509.NameAttribute(NameOID.COMMON_NAME, name)]
        attributes += [x509.NameAttribute(NameOID.ORGANIZATION_NAME, group) for group in groups]
        builder = self._builder(x509.Name(attributes), key.public_key(), expires or _in(days=2))
        builder = builder.add_extension(x509.ExtendedKeyUsage([usage]), critical=False)
        if names is not None:
            builder = builder.add_extension(names, critical=False)
        path = key_path.with_suffix(".crt")
        self._write(path, builder)
        return KeyPair(path, key_path)

    def _builder(
        self, subject: x509.Name, key: ec.EllipticCurvePublicKey, expires: datetime.datetime
    ) -> x509.CertificateBuilder:
        return (
            x509.CertificateBuilder()
            .subject_name(subject)
            .issuer_name(self._name)
            .public_key(key)
            .serial_number(x509.random_serial_number())
            .not_valid_before(min(_in(hours=-1), expires - datetime.timedelta(hours=1)))
            .not_valid_after(expires)
        )

    def _write(self, path: Path, builder: x509.CertificateBuilder) -> None:
        certificate = builder.sign(self._key, hashes.SHA256())
        path.write_bytes(certificate.public_bytes(serialization.Encoding.PEM))


def _in(**distance: int) -> datetime.datetime:
    return datetime.datetime.now(datetime.UTC) + datetime.timedelta(**distance)
