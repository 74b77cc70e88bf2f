"""TLS to the API server: trusted authorities and client certificate, reloaded from disk."""

from __future__ import annotations

import datetime
import logging
import ssl
import tempfile
from pathlib import Path

import msgspec

from mooring.errors import ConfigError
from mooring.observe.clock import Clock
from mooring.observe.files import read_file
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

#: How often the files are checked for changes, in seconds.
REFRESH_SECONDS = 60.0


class Pem(msgspec.Struct, frozen=True):
    """The source of certificates or a key: a file, or embedded text."""

    file: str = ""
    data: bytes = b""

    def __bool__(self) -> bool:
        return bool(self.file or self.data)

    @property
    def where(self) -> str:
        """Return the source for messages."""
        return self.file or "the embedded data"

    def read(self) -> bytes:
        """Return the content; embedded data takes precedence over a file."""
        if self.data:
            return self.data
        try:
            return read_file(self.file)
        except OSError as error:
            raise ConfigError(f"cannot read {self.file}: {error.strerror}") from None


class KeyPair(msgspec.Struct, frozen=True):
    """A client certificate and its key."""

    certificate: Pem
    key: Pem


class TlsSettings(msgspec.Struct, frozen=True, kw_only=True):
    """How to secure the connection. Without an authority, the system's roots are trusted."""

    authority: Pem = Pem()
    key_pair: KeyPair | None = None
    server_name: str = ""
    insecure: bool = False
    #: The SHA-256, in hexadecimal, of the only certificate that the server may show; then neither
    #: its name nor who signed it matters.
    pin: str = ""


class TlsContexts:
    """The SSLContext for new connections, created again when the files behind it change.

    Connections made with an older context stay open until they are closed.
    """

    #: What the context was made from, and when its files were last checked.
    _shown: KeyPair | None
    _read: tuple[bytes, ...]
    _looked: float

    def __init__(self, settings: TlsSettings, clock: Clock) -> None:
        self._settings = settings
        self._clock = clock
        self._context: ssl.SSLContext | None = None

    def context(self, key_pair: KeyPair | None = None) -> ssl.SSLContext:
        """Return the context; a key pair given here is used instead of the one in the settings."""
        shown = key_pair or self._settings.key_pair
        context, now = self._context, self._clock.now()
        # Nearly always the same object: comparing keys is slow.
        if context is not None and (shown is self._shown or shown == self._shown):
            if abs(now - self._looked) < REFRESH_SECONDS:
                return context
            self._looked = now
            try:
                return self._renew(shown)
            except ConfigError as error:
                # A file may be half-written; the next check will find it complete.
                log_error(log, error, "Cannot reload certificates, keeping the old ones")
                return context
        self._looked = now
        return self._renew(shown)

    def _renew(self, shown: KeyPair | None) -> ssl.SSLContext:
        settings = self._settings
        authority = settings.authority.read() if settings.authority else b""
        pair = (shown.certificate.read(), shown.key.read()) if shown else ()
        if self._context is not None and shown == self._shown and self._read == (authority, *pair):
            return self._context
        context = _context(settings, authority)
        if shown is not None:
            _show(context, shown, *pair)
        self._context, self._shown, self._read = context, shown, (authority, *pair)
        return context


def check_key_pair(pair: KeyPair) -> None:
    """Raise ConfigError if a certificate and its key cannot be used."""
    _show(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT), pair, pair.certificate.read(), pair.key.read())


def expiry(certificate: Pem) -> datetime.datetime | None:
    """Return when a certificate expires; None if it cannot be read."""
    # Imported late: it is slow to import, and needed only after a failure.
    from cryptography import x509

    try:
        return x509.load_pem_x509_certificate(certificate.read()).not_valid_after_utc
    except (ValueError, ConfigError):
        return None


def _context(settings: TlsSettings, authority: bytes) -> ssl.SSLContext:
    # Verify as Go does: no requirements on a certificate's extensions, and an intermediate
    # authority may be trusted directly; ssl.create_default_context is stricter since Python 3.13.
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.minimum_version = ssl.TLSVersion.TLSv1_2
    context.verify_flags |= ssl.VERIFY_X509_PARTIAL_CHAIN
    context.hostname_checks_common_name = False
    context.set_alpn_protocols(["http/1.1"])
    if settings.insecure or settings.pin:
        # A pin is compared by the dialer, before anything is sent.
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    elif not authority:
        context.load_default_certs()
    else:
        where = settings.authority.where
        try:
            context.load_verify_locations(cadata=authority.decode("ascii"))
        except (ssl.SSLError, ValueError):
            raise ConfigError(
                f"unable to load root certificates from {where}: expected certificates in PEM form"
            ) from None
    return context


def _show(context: ssl.SSLContext, pair: KeyPair, certificate: bytes, key: bytes) -> None:
    where = f"client certificate {pair.certificate.where} and key {pair.key.where}"
    if b"ENCRYPTED" in key:
        raise ConfigError(f"{where}: the key is encrypted, and there is nobody to ask for its word")
    # Python's ssl loads a key pair only from files.
    with tempfile.TemporaryDirectory(prefix="mooring-") as folder:
        files = Path(folder) / "certificate", Path(folder) / "key"
        for file, data in zip(files, (certificate, key), strict=True):
            file.touch(mode=0o600)
            file.write_bytes(data)
        try:
            context.load_cert_chain(*files)
        except ssl.SSLError as error:
            mismatch = error.reason == "KEY_VALUES_MISMATCH"
            problem = (
                "the key is not the certificate's" if mismatch else "expected both in PEM form"
            )
            raise ConfigError(f"cannot use {where}: {problem}") from None
