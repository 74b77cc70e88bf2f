"""Credentials: how the client authenticates to the server."""

from __future__ import annotations

import base64
import logging
from typing import Protocol

from mooring.client.tls_settings import KeyPair
from mooring.errors import ConfigError
from mooring.observe.clock import Clock
from mooring.observe.files import read_file
from mooring.observe.logs import log_error

log = logging.getLogger(__name__)

# client-go: transport/token_source.go: half of the time between the kubelet's renewal of a
# projected token and the expiry of the old one.
TOKEN_FILE_SECONDS = 60.0


class Credentials(Protocol):
    """A means of authentication. Belongs to one event loop."""

    #: The client certificate, if the credentials include one.
    key_pair: KeyPair | None

    def known(self) -> str | None:
        """Return the Authorization header if it is known already; None if it must be awaited."""
        ...

    async def authorization(self) -> str:
        """Return the Authorization header, empty if there is none."""
        ...

    async def renew(self, refused: str) -> bool:
        """Get new credentials after the server refused the old ones; False if there are none."""
        ...

    async def close(self) -> None:
        """Stop what was started to get credentials."""
        ...


class Static:
    """Credentials that never change; an empty header means none."""

    key_pair: KeyPair | None = None

    def __init__(self, header: str = "") -> None:
        self._header = header

    def known(self) -> str:
        """Return the header."""
        return self._header

    async def authorization(self) -> str:
        """Return the header."""
        return self._header

    async def renew(self, refused: str) -> bool:
        """Return False: there are no other credentials."""
        return False

    async def close(self) -> None:
        """Do nothing: there is nothing to stop."""


def bearer(token: str) -> Static:
    """Return credentials with a token."""
    return Static(f"Bearer {token}")


def basic(username: str, password: str) -> Static:
    """Return credentials with a user name and password."""
    return Static("Basic " + base64.b64encode(f"{username}:{password}".encode()).decode())


class TokenFile:
    """A token in a file, read again after a minute at the earliest: tokens are renewed on disk."""

    key_pair: KeyPair | None = None

    def __init__(self, path: str, clock: Clock) -> None:
        self._path = path
        self._clock = clock
        self._read()

    def _read(self) -> None:
        self._read_at = self._clock.now()
        try:
            token = read_file(self._path).decode().strip()
        except (OSError, UnicodeError) as error:
            reason = error.strerror if isinstance(error, OSError) else "it is not text"
            raise ConfigError(f"failed to read token file {self._path}: {reason}") from None
        if not token:
            raise ConfigError(f"read empty token from file {self._path}")
        self._header = f"Bearer {token}"

    def _read_again(self) -> None:
        try:
            self._read()
        except ConfigError as error:
            log_error(log, error, "Unable to rotate token")

    def known(self) -> str:
        """Return the token's header."""
        if abs(self._clock.now() - self._read_at) >= TOKEN_FILE_SECONDS:
            self._read_again()
        return self._header

    async def authorization(self) -> str:
        """Return the token's header."""
        return self.known()

    async def renew(self, refused: str) -> bool:
        """Read the file again; return whether another token is in it."""
        self._read_again()
        return self._header != refused

    async def close(self) -> None:
        """Do nothing: there is nothing to stop."""
