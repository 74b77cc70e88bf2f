"""TLS for serving: certificates by name, reloaded from disk, and client certificates.

A connection gets the newest context when its handshake begins. If OpenSSL cannot verify a client
certificate, the handshake fails.
"""

# apiserver: pkg/server/secure_serving.go, pkg/server/options/serving.go, component-base
# cli/flag/ciphersuites_flag.go

from __future__ import annotations

import ipaddress
import logging
import ssl
import tempfile
from pathlib import Path
from typing import Any

from cryptography import x509

from mooring.errors import ConfigError
from mooring.observe.files import read_file
from mooring.serve.certificates import (
    PemPair,
    common_name,
    find_or_make_pair,
    fingerprint_of,
    self_signed_pair,
)
from mooring.serve.reload_problems import ReloadProblems
from mooring.serve.serving_options import CertKey, SecureServing

log = logging.getLogger(__name__)

LOCALHOST = "127.0.0.1"
MISSING_FILE = "missing filename for serving cert"

VERSIONS = {
    "": ssl.TLSVersion.TLSv1_2,
    "VersionTLS10": ssl.TLSVersion.TLSv1,
    "VersionTLS11": ssl.TLSVersion.TLSv1_1,
    "VersionTLS12": ssl.TLSVersion.TLSv1_2,
    "VersionTLS13": ssl.TLSVersion.TLSv1_3,
}

#: Go's names to OpenSSL's; those of TLS 1.3 cannot be disabled.
CIPHER_SUITES = {
    "TLS_AES_128_GCM_SHA256": "",
    "TLS_AES_256_GCM_SHA384": "",
    "TLS_CHACHA20_POLY1305_SHA256": "",
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA": "ECDHE-ECDSA-AES128-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256": "ECDHE-ECDSA-AES128-GCM-SHA256",
    "TLS_ECDHE_ECDSA_WITH_AES_256_CBC_SHA": "ECDHE-ECDSA-AES256-SHA",
    "TLS_ECDHE_ECDSA_WITH_AES_256_GCM_SHA384": "ECDHE-ECDSA-AES256-GCM-SHA384",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_ECDSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-ECDSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA": "ECDHE-RSA-AES128-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256": "ECDHE-RSA-AES128-GCM-SHA256",
    "TLS_ECDHE_RSA_WITH_AES_256_CBC_SHA": "ECDHE-RSA-AES256-SHA",
    "TLS_ECDHE_RSA_WITH_AES_256_GCM_SHA384": "ECDHE-RSA-AES256-GCM-SHA384",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305": "ECDHE-RSA-CHACHA20-POLY1305",
    "TLS_ECDHE_RSA_WITH_CHACHA20_POLY1305_SHA256": "ECDHE-RSA-CHACHA20-POLY1305",
    # The suites that Go calls insecure.
    "TLS_ECDHE_ECDSA_WITH_AES_128_CBC_SHA256": "ECDHE-ECDSA-AES128-SHA256",
    "TLS_ECDHE_ECDSA_WITH_RC4_128_SHA": "ECDHE-ECDSA-RC4-SHA",
    "TLS_ECDHE_RSA_WITH_3DES_EDE_CBC_SHA": "ECDHE-RSA-DES-CBC3-SHA",
    "TLS_ECDHE_RSA_WITH_AES_128_CBC_SHA256": "ECDHE-RSA-AES128-SHA256",
    "TLS_ECDHE_RSA_WITH_RC4_128_SHA": "ECDHE-RSA-RC4-SHA",
    "TLS_RSA_WITH_3DES_EDE_CBC_SHA": "DES-CBC3-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA": "AES128-SHA",
    "TLS_RSA_WITH_AES_128_CBC_SHA256": "AES128-SHA256",
    "TLS_RSA_WITH_AES_128_GCM_SHA256": "AES128-GCM-SHA256",
    "TLS_RSA_WITH_AES_256_CBC_SHA": "AES256-SHA",
    "TLS_RSA_WITH_AES_256_GCM_SHA384": "AES256-GCM-SHA384",
    "TLS_RSA_WITH_RC4_128_SHA": "RC4-SHA",
}


_Contexts = list[tuple[tuple[str, ...], ssl.SSLContext]]


class ServingTls:
    """The TLS contexts to serve with, renewed when files or authorities change.

    `ask` means that clients are asked for a certificate; `authorities` are the trusted ones, as PEM
    text. Files that cannot be used, such as a new certificate whose key has not been written yet,
    leave the previous content in effect, for each pair separately.
    """

    def __init__(self, settings: SecureServing, *, ask: bool, authorities: bytes) -> None:
        self._ask = ask
        self._authorities = authorities
        self._version = VERSIONS.get(settings.min_version)
        if self._version is None:
            raise ConfigError(f'unknown tls version "{settings.min_version}"')
        self._ciphers = _ciphers(settings.cipher_suites)
        self._pairs: list[_Pair] = []
        if settings.certificate_file or settings.key_file:
            if not (settings.certificate_file and settings.key_file):
                raise ConfigError(MISSING_FILE)
            self._pairs.append(_Pair(CertKey(settings.certificate_file, settings.key_file)))
        else:
            self._pairs.append(self._find_or_make(settings))
        self._pairs += [_Pair(files) for files in settings.sni]
        #: By the names they are for; the default is first.
        self._contexts = self._make(authorities)
        self._problems = ReloadProblems("Cannot reload serving certificates, keeping the old ones")

    @property
    def context(self) -> ssl.SSLContext:
        """Return the context for a new connection."""
        return self._contexts[0][1]

    @property
    def certificate_sha256(self) -> str:
        """Return the SHA-256 of the certificate shown to clients that ask for no other name."""
        return fingerprint_of(self._pairs[0].pem.certificate)

    def renew(self, authorities: bytes) -> bool:
        """Use changed files and authorities for new connections; return whether any changed.

        May be called on any thread, one call at a time.
        """
        changed = authorities != self._authorities
        for pair in self._pairs:
            where = pair.files and pair.files.certificate
            try:
                changed = pair.renew() or changed
            except ConfigError as error:
                self._problems.report(where, error)
            else:
                self._problems.solved(where)
        if not changed:
            return False
        try:
            self._contexts = self._make(authorities)
        except ConfigError as error:
            self._problems.report("", error)
            return False
        self._problems.solved("")
        self._authorities = authorities
        return True

    def _find_or_make(self, settings: SecureServing) -> _Pair:
        names: list[str] = []
        addresses = [LOCALHOST]
        if ipaddress.ip_address(settings.bind_address).is_unspecified:
            names.append("localhost")
        else:
            addresses.append(settings.bind_address)
        for host in settings.hosts:
            (addresses if _is_address(host) else names).append(host)
        if settings.cert_dir:
            found = find_or_make_pair(settings.cert_dir, settings.pair_name, names, addresses)
            return _Pair(CertKey(*found))
        made = self_signed_pair("localhost", names, addresses)
        log.info("Generated self-signed cert in-memory")
        return _Pair(None, made)

    def _make(self, authorities: bytes) -> _Contexts:
        default, *others = self._pairs
        contexts: _Contexts = [((), self._context(default.pem, authorities))]
        contexts += [(one.names, self._context(one.pem, authorities)) for one in others]
        contexts[0][1].sni_callback = self._hand_over
        return contexts

    def _context(self, pair: PemPair, authorities: bytes) -> ssl.SSLContext:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        assert self._version is not None
        context.minimum_version = self._version
        context.set_alpn_protocols(["http/1.1"])
        if self._ciphers:
            try:
                context.set_ciphers(self._ciphers)
            except ssl.SSLError:
                raise ConfigError(
                    f"--tls-cipher-suites: OpenSSL offers none of {self._ciphers}"
                ) from None
        if self._ask:
            context.verify_mode = ssl.CERT_OPTIONAL
            # As in Go, an intermediate authority may be trusted directly.
            context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
            if authorities:
                try:
                    context.load_verify_locations(cadata=authorities.decode("ascii", "ignore"))
                except ssl.SSLError as error:
                    raise ConfigError(f"cannot use client authorities: {error}") from None
        _load(context, pair)
        return context

    def _hand_over(self, connection: Any, name: str | None, _: ssl.SSLContext) -> None:
        chosen = self._contexts[0][1]
        if name:
            best = 0
            for names, context in self._contexts[1:]:
                fit = max((_fit(pattern, name) for pattern in names), default=0)
                if fit > best:
                    best, chosen = fit, context
        connection.context = chosen


class _Pair:
    """A certificate and its key, with its names, as last read completely.

    Without files it never changes.
    """

    def __init__(self, files: CertKey | None, made: PemPair | None = None) -> None:
        self.files = files
        self.names: tuple[str, ...] = ()
        if made is not None:
            self.pem = made
        else:
            assert files is not None
            self.pem = PemPair(b"", b"")
            self.renew()

    def renew(self) -> bool:
        """Read the files and return whether they changed; raise ConfigError if they are invalid."""
        files = self.files
        if files is None:
            return False
        pem = PemPair(_read(files.certificate), _read(files.key))
        if pem == self.pem:
            return False
        # Load it into a temporary context, which refuses a key that does not match.
        _load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), pem)
        self.names = files.names or _names(pem, files)
        self.pem = pem
        return True


def _is_address(host: str) -> bool:
    try:
        ipaddress.ip_address(host)
    except ValueError:
        return False
    return True


def _fit(pattern: str, name: str) -> int:
    """Return how well a pattern fits a name: 2 if equal, 1 by a wildcard, 0 not at all."""
    if pattern.lower() == name.lower():
        return 2
    rest = name.lower().partition(".")[2]
    return 1 if pattern.startswith("*.") and rest and pattern[2:].lower() == rest else 0


def _ciphers(names: tuple[str, ...]) -> str:
    for name in names:
        if name not in CIPHER_SUITES:
            raise ConfigError(f"Cipher suite {name} not supported or doesn't exist")
    return ":".join(dict.fromkeys(filter(None, (CIPHER_SUITES[name] for name in names))))


def _read(file: str) -> bytes:
    try:
        return read_file(file)
    except OSError as error:
        raise ConfigError(f"open {file}: {(error.strerror or str(error)).lower()}") from None


def _names(pair: PemPair, files: CertKey) -> tuple[str, ...]:
    try:
        certificate = x509.load_pem_x509_certificate(pair.certificate)
    except ValueError:
        raise ConfigError(f"failed to load SNI cert and key: {files.certificate}: no PEM") from None
    try:
        found = certificate.extensions.get_extension_for_class(x509.SubjectAlternativeName)
        names = found.value.get_values_for_type(x509.DNSName)
    except (x509.ExtensionNotFound, ValueError):
        names = [common_name(certificate)]
    return tuple(names)


def _load(context: ssl.SSLContext, pair: PemPair) -> None:
    # Python's ssl loads a key pair only from files.
    with tempfile.TemporaryDirectory(prefix="mooring-") as folder:
        certificate, key = Path(folder) / "certificate", Path(folder) / "key"
        for file, data in ((certificate, pair.certificate), (key, pair.key)):
            file.touch(mode=0o600)
            file.write_bytes(data)
        try:
            context.load_cert_chain(certificate, key, password=_no_password)
        except ssl.SSLError as error:
            if error.reason == "KEY_VALUES_MISMATCH":
                raise ConfigError("tls: private key does not match public key") from None
            raise ConfigError(
                "tls: failed to find any PEM data in certificate or key input"
            ) from None


def _no_password() -> str:
    raise ConfigError("tls: the serving key is encrypted, and there is nobody to ask for its word")
