"""ExecPlugin: credentials that a program prints."""

# client-go: plugin/pkg/client/auth/exec/exec.go

from __future__ import annotations

import asyncio
import math
import os
import sys
from typing import Any

import msgspec

from mooring.api.timestamps import parse_time
from mooring.client.program import ProgramError, run_program
from mooring.client.tls_settings import KeyPair, Pem, check_key_pair
from mooring.errors import ConfigError, ObjectError
from mooring.observe.clock import Clock

V1 = "client.authentication.k8s.io/v1"
V1BETA1 = "client.authentication.k8s.io/v1beta1"
#: How long the program may run, and how long if it may talk to the user. client-go waits
#: forever.
RUN_SECONDS = 60.0
INTERACTIVE_SECONDS = 600.0
#: How many bytes it may print: a token, or a certificate and a key.
MAX_OUTPUT = 2**20
#: How long a failure, or credentials that were expired already, are kept before the next run.
RETRY_SECONDS = 1.0
#: A moment that is not recent.
_NEVER = math.inf
_INFO = "KUBERNETES_EXEC_INFO"
#: How many characters of the program's output an error shows.
_SHOWN = 100


class ExecEnvVar(msgspec.Struct, frozen=True):
    """An environment variable of the program."""

    name: str = ""
    value: str = ""


class ExecConfig(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """The program to run, as `exec` in a kubeconfig names it."""

    command: str = ""
    args: tuple[str, ...] = ()
    env: tuple[ExecEnvVar, ...] = ()
    api_version: str = ""
    install_hint: str = ""
    provide_cluster_info: bool = False
    interactive_mode: str = ""


class _Status(msgspec.Struct, rename="camel"):
    token: str = ""
    client_certificate_data: str = ""
    client_key_data: str = ""
    expiration_timestamp: str | None = None


class _ExecCredential(msgspec.Struct, rename="camel"):
    api_version: str = ""
    kind: str = ""
    status: _Status | None = None


class ExecPlugin:
    """Credentials that a program prints; it runs again when they expire or are refused.

    Requests that need credentials at the same time share one run of the program, which continues
    even if one of them gives up. A program that fails, or prints credentials that are expired
    already, runs again when a request needs it, at most once in `RETRY_SECONDS`.
    """

    def __init__(
        self,
        config: ExecConfig,
        cluster: dict[str, Any],
        clock: Clock,
        *,
        seconds: float = RUN_SECONDS,
    ) -> None:
        self.key_pair: KeyPair | None = None
        self._config = config
        self._cluster = cluster
        self._clock = clock
        self._seconds = seconds
        self._header: str | None = None
        self._expires: float | None = None
        #: The run in progress.
        self._running: asyncio.Task[None] | None = None
        #: When the program last finished, and what was wrong with its credentials, if anything.
        self._ran_at = _NEVER
        self._failure: ConfigError | None = None
        #: When it last ran because credentials were refused.
        self._renewed_at = _NEVER

    def known(self) -> str | None:
        """Return the token's header if it is still valid; None if the program must run."""
        if self._has_expired() and not self._is_recent(self._ran_at):
            return None
        return self._header

    async def authorization(self) -> str:
        """Return the token's header; run the program if there is no valid one."""
        header = self.known()
        if header is None:
            if self._failure is not None and self._is_recent(self._ran_at):
                raise self._failure
            await self._run_once()
            header = self._header
        assert header is not None
        return header

    async def renew(self, refused: str) -> bool:
        """Run the program, unless another request has already renewed the credentials."""
        before = self.key_pair
        if self._header == refused and (
            self._running is not None or not self._is_recent(self._renewed_at)
        ):
            try:
                await self._run_once()
            finally:
                self._renewed_at = self._clock.now()
        return self._header != refused or self.key_pair != before

    async def close(self) -> None:
        """End the program if it is running."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.wait([self._running])

    def _has_expired(self) -> bool:
        return self._expires is not None and self._clock.wall_time() > self._expires

    def _is_recent(self, moment: float) -> bool:
        return abs(self._clock.now() - moment) < RETRY_SECONDS

    async def _run_once(self) -> None:
        """Run the program, or wait for the run in progress."""
        task = self._running
        if task is None:
            task = self._running = asyncio.create_task(self._run())
            task.add_done_callback(self._note_end)
        try:
            await asyncio.shield(task)
        except asyncio.CancelledError:
            if task.cancelled():
                raise self._error("the client was closed") from None
            raise

    def _note_end(self, task: asyncio.Task[None]) -> None:
        self._running = None
        self._ran_at = self._clock.now()
        failure = None if task.cancelled() else task.exception()
        self._failure = failure if isinstance(failure, ConfigError) else None

    async def _run(self) -> None:
        config = self._config
        interactive = self._is_interactive()
        environment = {**os.environ, **{var.name: var.value for var in config.env}}
        environment[_INFO] = self._info(interactive)
        try:
            code, output = await run_program(
                (config.command, *config.args),
                environment,
                seconds=INTERACTIVE_SECONDS if interactive else self._seconds,
                max_bytes=MAX_OUTPUT,
                terminal=interactive,
            )
        except ProgramError as error:
            raise self._error(f"executable {config.command} {error}") from None
        except (OSError, ValueError) as error:
            reason = error.strerror if isinstance(error, OSError) else str(error)
            problem = f"exec: executable {config.command} cannot be run: {reason}"
            if isinstance(error, FileNotFoundError):
                problem = f"exec: executable {config.command} not found"
            hint = " ".join(config.install_hint.split())
            raise ConfigError(f"getting credentials: {problem}{hint and f'; {hint}'}") from None
        if code:
            # Its standard error was passed through, not captured: it may contain secrets.
            raise self._error(f"executable {config.command} failed with exit code {code}")
        self._take(self._decode(output))

    def _info(self, interactive: bool) -> str:
        spec: dict[str, Any] = {"interactive": interactive}
        if self._config.provide_cluster_info:
            spec["cluster"] = self._cluster
        body = {"kind": "ExecCredential", "apiVersion": self._config.api_version, "spec": spec}
        return msgspec.json.encode(body).decode()

    def _is_interactive(self) -> bool:
        mode = self._config.interactive_mode
        if mode == "Never":
            return False
        terminal = sys.stdin is not None and sys.stdin.isatty()
        if mode == "Always" and not terminal:
            raise self._error("cannot support interactive mode: standard input is not a terminal")
        return terminal

    def _decode(self, output: bytes) -> _Status:
        try:
            credential = msgspec.json.decode(output, type=_ExecCredential)
        except (msgspec.MsgspecError, UnicodeError) as error:
            raise self._error(f"decoding stdout: {error}") from None
        version = self._config.api_version
        if credential.kind != "ExecCredential" or credential.api_version != version:
            raise self._error(
                f"plugin is configured to use API version {version}, "
                f"plugin returned version {credential.api_version[:_SHOWN] or 'none'}"
            )
        status = credential.status
        if status is None:
            raise self._error("plugin didn't return a status field")
        if not (status.token or status.client_certificate_data or status.client_key_data):
            raise self._error("plugin didn't return a token or cert/key pair")
        if bool(status.client_certificate_data) != bool(status.client_key_data):
            raise self._error("plugin returned only certificate or key, not both")
        return status

    def _take(self, status: _Status) -> None:
        expires = None
        if status.expiration_timestamp is not None:
            try:
                expires = parse_time(status.expiration_timestamp)
            except ObjectError as error:
                problem = str(error)[:_SHOWN]
                raise self._error(f"plugin returned an expirationTimestamp: {problem}") from None
        pair = None
        if status.client_certificate_data:
            pair = KeyPair(
                Pem(data=status.client_certificate_data.encode()),
                Pem(data=status.client_key_data.encode()),
            )
            try:
                check_key_pair(pair)
            except ConfigError as error:
                raise self._error(f"failed parsing client key/certificate: {error}") from None
        if not status.token.isprintable():
            raise self._error("plugin returned a token with control characters")
        self._expires = expires
        self._header = f"Bearer {status.token}" if status.token else ""
        self.key_pair = pair

    def _error(self, problem: str) -> ConfigError:
        return ConfigError(f"getting credentials: exec: {problem}")
